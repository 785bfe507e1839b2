// ShortMutex: a mutex for sections of a few dozen instructions. About 8 instructions for a lock and
// an unlock that nobody contends, against about 57 for pthread's, which counts twice per queued
// I/O.
//
// The three states are those of U. Drepper, "Futexes are tricky" (2011), mutex3; sleeping is
// std::atomic's.
#pragma once

#include <atomic>

#include "scheduler/base/attributes.h"

namespace sluice {

/// Meets Lockable's needs of std::lock_guard. Not fair, not recursive.
class ShortMutex {
 public:
  void lock() noexcept {
    int expected = kFree;
    if (!state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire,
                                        std::memory_order_relaxed)) [[unlikely]] {
      lock_contended();
    }
  }

  void unlock() noexcept {
    if (state_.exchange(kFree, std::memory_order_release) == kWanted) [[unlikely]]
      wake_one();
  }

 private:
  static constexpr int kFree = 0;
  static constexpr int kHeld = 1;
  static constexpr int kWanted = 2;   ///< held, and somebody may sleep
  static constexpr int kSpins = 100;  ///< about as long as a section lasts

  SLUICE_COLD void lock_contended() noexcept {
    for (int i = 0; i < kSpins; ++i) {
      int expected = kFree;
      if (state_.load(std::memory_order_relaxed) == kFree &&
          state_.compare_exchange_weak(expected, kHeld, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
        return;
      }
    }
    while (state_.exchange(kWanted, std::memory_order_acquire) != kFree) {
      state_.wait(kWanted, std::memory_order_relaxed);
    }
  }

  SLUICE_COLD void wake_one() noexcept { state_.notify_one(); }

  std::atomic<int> state_{kFree};
};

}  // namespace sluice
