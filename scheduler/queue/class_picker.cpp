#include "scheduler/queue/class_picker.h"

#include <bit>

namespace sluice {

namespace {

constexpr unsigned kScrub = static_cast<unsigned>(IoClass::scrub);
constexpr unsigned kRebuild = static_cast<unsigned>(IoClass::rebuild);
constexpr unsigned kAsyncWrite = static_cast<unsigned>(IoClass::async_write);

bool yields(unsigned c) noexcept { return is_background(static_cast<IoClass>(c)); }

/// The first class of `classes` for which `may` holds, or kIoClasses.
template <typename May>
unsigned first_of(ClassMask classes, May may) noexcept {
  for (; classes != 0; classes &= classes - 1) {
    const auto c = static_cast<unsigned>(std::countr_zero(classes));
    if (may(c)) return c;
  }
  return kIoClasses;
}

}  // namespace

unsigned ClassPicker::pick(ClassMask waiting) const noexcept {
  if (waiting == 0 || active_total_ >= max_active_) return kIoClasses;
  const auto below_min = [this](unsigned c) { return active_[c] < now_[c].min_active; };
  const auto below_max = [this](unsigned c) { return active_[c] < now_[c].max_active; };
  const ClassMask up_to_last = class_bit(last_ + 1) - 1;
  unsigned c = first_of(waiting & ~up_to_last, below_min);
  if (c == kIoClasses) c = first_of(waiting & up_to_last, below_min);
  if (c == kIoClasses) c = first_of(waiting, below_max);
  return c;
}

std::uint32_t ClassPicker::interactive() const noexcept {
  return active_total_ - active_[kScrub] - active_[kRebuild];
}

SLUICE_NOINLINE bool ClassPicker::pass_watched(unsigned c) noexcept {
  if (active_total_ >= max_active_ || active_[c] >= now_[c].max_active) return false;
  take(c);
  return true;
}

SLUICE_NOINLINE void ClassPicker::note_issue(unsigned c) noexcept {
  background_.issued(yields(c), interactive());
  refresh_background();
}

SLUICE_NOINLINE void ClassPicker::note_end(unsigned c) noexcept {
  background_.ended(yields(c), interactive());
  refresh_background();
}

bool ClassPicker::above_limits() const noexcept {
  if (active_total_ > limits_.max_active) return true;
  for (unsigned c = 0; c < kIoClasses; ++c) {
    if (active_[c] > limits_.classes[c].max_active) return true;
  }
  return false;
}

void ClassPicker::set_limits(const QueueLimits& limits) noexcept {
  limits_ = limits;
  max_active_ = limits.max_active;
  background_.configure(limits.background);
  refresh();
}

void ClassPicker::watch(bool on) noexcept {
  watched_ = on;
  refresh();
}

void ClassPicker::set_dirty(const DirtyData& dirty) noexcept {
  dirty_ = dirty;
  refresh();
}

void ClassPicker::refresh() noexcept {
  now_ = limits_.classes;
  now_[kAsyncWrite].max_active = scaled_write_max(now_[kAsyncWrite], limits_.dirty, dirty_);
  for (unsigned c = 0; c < kIoClasses; ++c) {
    pass_below_[c] = watched_ || background_.on() ? 0 : now_[c].max_active;
  }
  if (background_.on()) refresh_background();
}

void ClassPicker::refresh_background() noexcept {
  now_[kScrub] = background_.now(limits_.classes[kScrub], interactive());
  now_[kRebuild] = background_.now(limits_.classes[kRebuild], interactive());
}

}  // namespace sluice
