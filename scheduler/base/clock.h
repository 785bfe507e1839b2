// The one source of time. Policy and devices never ask the operating system themselves, so that
// tests step a clock by hand (scheduler/testing/sim_clock.h).
#pragma once

#include <cstdint>

namespace sluice {

/// Nanoseconds from an arbitrary start; never runs backwards. Threads: any.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::uint64_t now_ns() const noexcept = 0;
};

/// CLOCK_MONOTONIC. Inside fio the plugin supplies fio's own clock instead, so that our times and
/// fio's latencies come from one source.
class MonotonicClock final : public Clock {
 public:
  std::uint64_t now_ns() const noexcept override;
};

/// User and system CPU time of the calling thread, in nanoseconds (getrusage, RUSAGE_THREAD).
struct ThreadCpu {
  std::uint64_t user_ns = 0;
  std::uint64_t system_ns = 0;
};
ThreadCpu thread_cpu() noexcept;

/// Blocks the calling thread for about `duration_ns`.
void sleep_ns(std::uint64_t duration_ns) noexcept;

}  // namespace sluice
