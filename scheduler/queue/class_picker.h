// ClassPicker: which class goes next, by counts alone. Pure: no lock, no clock, no I/O, no
// requests; tests step it. ClassPolicy puts lists of requests on it; FastQueue, permissions leased
// to jobs.
//
// The rule is OpenZFS's (vdev_queue_class_to_issue): nothing while the leaf's cap is reached; then
// the classes below their minimum, round-robin from the one after the last, so that each always
// progresses; then the classes below their maximum by rank, sync reads first. Two things move a
// class's limits: dirty data (write_scaling.h) and, for background classes, I/O in the foreground
// (background.h).
//
// Invariants: no class above its maximum, the sum not above the cap (but after set_limits() lowered
// them, until enough is done). Bound: a class that waits and is below its minimum of the moment is
// overtaken by at most one I/O of each other class.
#pragma once

#include <array>
#include <cstdint>

#include "scheduler/base/attributes.h"
#include "scheduler/base/check.h"
#include "scheduler/queue/background.h"
#include "scheduler/queue/queue_limits.h"
#include "scheduler/queue/write_scaling.h"

namespace sluice {

/// A set of classes: bit c is class c.
using ClassMask = std::uint32_t;

constexpr ClassMask class_bit(unsigned c) noexcept { return ClassMask{1} << c; }

class ClassPicker {
 public:
  explicit ClassPicker(const QueueLimits& limits) { set_limits(limits); }

  /// Class to issue from among those in `waiting`, or kIoClasses for none.
  unsigned pick(ClassMask waiting) const noexcept;

  /// One I/O of class `c`, chosen by pick(), is active from now on.
  void take(unsigned c) noexcept {
    count(c);
    if (background_.on()) [[unlikely]]
      note_issue(c);
  }

  /// True, and counts one of class `c` active, if no limit is reached. For when nothing waits.
  bool pass(unsigned c) noexcept {
    if (active_total_ >= max_active_ || active_[c] >= pass_below_[c]) return pass_watched(c);
    count(c);
    return true;
  }
  /// As pass(), but false where more is to be done for it than to count: then ask pass_watched().
  bool pass_unwatched(unsigned c) noexcept {
    if (active_total_ >= max_active_ || active_[c] >= pass_below_[c]) return false;
    count(c);
    return true;
  }
  bool pass_watched(unsigned c) noexcept;

  /// One of class `c` is active no more. Requires one active.
  void done(unsigned c) {
    SLUICE_CHECK(active_[c] > 0);
    --active_[c];
    --active_total_;
    if (background_.on()) [[unlikely]]
      note_end(c);
  }

  /// May be called with I/O active, and then lets what was refused go: ask pick() again.
  void set_limits(const QueueLimits& limits) noexcept;
  /// From now on pass_unwatched() is always false.
  void watch(bool on) noexcept;
  /// Dirty data has grown or shrunk. As set_limits().
  void set_dirty(const DirtyData& dirty) noexcept;

  std::uint32_t active() const noexcept { return active_total_; }
  std::uint32_t active(unsigned c) const noexcept { return active_[c]; }
  /// As configured.
  const QueueLimits& limits() const noexcept { return limits_; }
  /// True while more is active than the limits, as configured, allow.
  bool above_limits() const noexcept;
  /// As they stand now.
  ClassLimits limits_now(unsigned c) const noexcept { return now_[c]; }

 private:
  void count(unsigned c) noexcept {
    last_ = c;
    ++active_[c];
    ++active_total_;
  }
  /// Kept by nobody, so that it costs nothing while no class yields.
  std::uint32_t interactive() const noexcept;
  void note_issue(unsigned c) noexcept;
  void note_end(unsigned c) noexcept;
  void refresh() noexcept;
  void refresh_background() noexcept;

  std::uint32_t active_total_ = 0;
  std::uint32_t max_active_ = 0;    ///< of limits_, where the hot path looks
  unsigned last_ = kIoClasses - 1;  ///< class last issued from, where the min pass resumes
  std::array<std::uint32_t, kIoClasses> active_{};
  /// The maximum of the moment; or 0, to send those who pass to pass_watched().
  std::array<std::uint32_t, kIoClasses> pass_below_{};
  Background background_;
  bool watched_ = false;
  std::array<ClassLimits, kIoClasses> now_{};
  QueueLimits limits_;
  DirtyData dirty_;
};

}  // namespace sluice
