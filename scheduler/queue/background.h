// Background: interactive first. How far I/O that nobody waits for (scrub, rebuild) is held back
// while I/O that somebody waits for is at the device. Pure: by counts, no clock.
//
// The rule is OpenZFS's (vdev_queue.c, "nia": non-interactive; its pull request 11166): while
// interactive I/O is at the device, background I/O lives on a credit that each interactive
// completion renews, so it slips in between and never crowds; and it gets its full maximum only
// after `delay` background I/Os ended with no interactive one at the device. Trims count as
// interactive, as there: they delay what comes after them.
//
// Bound: the minimum of a background class is 0 only while interactive I/O is at the device and the
// credit is used up; the next interactive completion ends that. So background I/O always progresses
// as long as the foreground's I/O ends.
#pragma once

#include <algorithm>
#include <cstdint>

#include "scheduler/queue/queue_limits.h"

namespace sluice {

/// `interactive` is always the number of interactive I/Os at the device *after* the event.
class Background {
 public:
  void configure(const BackgroundLimits& limits) noexcept { limits_ = limits; }

  /// False: background classes are treated as all others, and nothing here need be called.
  bool on() const noexcept { return limits_.credit > 0; }

  void issued(bool background, std::uint32_t interactive) noexcept {
    if (!background) {
      if (interactive == 1) credit_ = 1;
    } else if (interactive > 0 && credit_ > 0) {
      --credit_;
    }
  }

  void ended(bool background, std::uint32_t interactive) noexcept {
    if (!background) {
      credit_ = interactive == 0 ? 0 : limits_.credit;
    } else if (interactive == 0 && credit_ < limits_.delay) {
      ++credit_;  // a count of completions now; more than `delay` would make no difference
    }
  }

  /// What a background class may have at the device now.
  ClassLimits now(const ClassLimits& c, std::uint32_t interactive) const noexcept {
    const std::uint32_t min = std::min(credit_, c.min_active);
    if (interactive > 0) return {min, min};
    if (credit_ < limits_.delay) return {c.min_active, std::max(1U, c.min_active)};
    return c;
  }

 private:
  BackgroundLimits limits_;
  std::uint32_t credit_ = 0;
};

}  // namespace sluice
