// ClassPicker: which class goes next, by counts alone. Pure: no lock, no clock, no I/O, no requests;
// tests step it. ClassPolicy puts lists of requests on it; FastQueue, permissions leased to jobs.
//
// The rule is OpenZFS's (vdev_queue_class_to_issue): nothing while the leaf's cap is reached; then
// the classes below their minimum, round-robin, so that each always progresses; then the classes
// below their maximum by rank, sync reads first.
//
// Invariants: no class above its maximum, the sum not above the cap.
#pragma once

#include <array>
#include <cstdint>

#include "scheduler/base/check.h"
#include "scheduler/queue/queue_limits.h"

namespace sluice {

/// A set of classes: bit c is class c.
using ClassMask = std::uint32_t;

constexpr ClassMask class_bit(unsigned c) noexcept { return ClassMask{1} << c; }

class ClassPicker {
 public:
  explicit ClassPicker(const QueueLimits& limits) : limits_(limits) {}

  /// Class to issue from among those in `waiting`, or kIoClasses for none.
  unsigned pick(ClassMask waiting) const noexcept;

  /// One I/O of class `c`, chosen by pick(), is active from now on.
  void take(unsigned c) noexcept {
    last_ = c;
    count(c);
  }

  /// True, and counts one of class `c` active, if no limit is reached. For when nothing waits.
  bool pass(unsigned c) noexcept {
    if (active_total_ >= limits_.max_active || active_[c] >= limits_.classes[c].max_active) {
      return false;
    }
    count(c);
    return true;
  }

  /// One of class `c` is active no more. Requires one active.
  void done(unsigned c) {
    SLUICE_CHECK(active_[c] > 0);
    --active_[c];
    --active_total_;
  }

  std::uint32_t active() const noexcept { return active_total_; }
  std::uint32_t active(unsigned c) const noexcept { return active_[c]; }
  const QueueLimits& limits() const noexcept { return limits_; }

 private:
  void count(unsigned c) noexcept {
    ++active_[c];
    ++active_total_;
  }

  QueueLimits limits_;
  std::array<std::uint32_t, kIoClasses> active_{};
  std::uint32_t active_total_ = 0;
  unsigned last_ = kIoClasses - 1;  ///< class last issued from, where the min pass resumes
};

}  // namespace sluice
