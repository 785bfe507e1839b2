// TscClock: the processor's time-stamp counter as a Clock, for paths where each instruction counts
// (about 10 against about 110 for fio's own clock).
#pragma once

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <memory>

#include "scheduler/base/clock.h"

namespace sluice {

/// Threads: any; sockets: the counter is taken as synchronous, which is what the kernel's own
/// clocksource "tsc" vouches for.
class TscClock final : public Clock {
 public:
  /// Measures the counter against CLOCK_MONOTONIC_RAW for about 4 ms (error below 50 ppm). Null
  /// where the counter is not invariant or the kernel doesn't trust it as a clocksource.
  static std::unique_ptr<TscClock> calibrate();

  std::uint64_t now_ns() const noexcept override { return read(); }

  std::uint64_t read() const noexcept {
#if defined(__x86_64__)
    const std::uint64_t ticks = __rdtsc() - start_;
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(ticks) * ns_per_tick_q32_) >>
                                      32U);
#else
    return 0;  // calibrate() makes none
#endif
  }

 private:
  TscClock(std::uint64_t start, std::uint64_t ns_per_tick_q32)
      : start_(start), ns_per_tick_q32_(ns_per_tick_q32) {}

  std::uint64_t start_;
  std::uint64_t ns_per_tick_q32_;  ///< fixed point, 32 fractional bits
};

}  // namespace sluice
