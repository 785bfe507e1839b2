// SimClock: time that passes only when a test says so.
#pragma once

#include <atomic>
#include <cstdint>

#include "scheduler/base/clock.h"

namespace sluice {

/// Threads: any. Never runs backwards.
class SimClock final : public Clock {
 public:
  explicit SimClock(std::uint64_t start_ns = 0) noexcept : now_ns_(start_ns) {}

  std::uint64_t now_ns() const noexcept override { return now_ns_.load(std::memory_order_acquire); }

  void advance(std::uint64_t step_ns) noexcept {
    now_ns_.fetch_add(step_ns, std::memory_order_acq_rel);
  }

  /// Moves to `time_ns`, or stays where it is when that is past.
  void advance_to(std::uint64_t time_ns) noexcept {
    std::uint64_t now = now_ns_.load(std::memory_order_acquire);
    while (now < time_ns &&
           !now_ns_.compare_exchange_weak(now, time_ns, std::memory_order_acq_rel)) {
    }
  }

 private:
  std::atomic<std::uint64_t> now_ns_;
};

}  // namespace sluice
