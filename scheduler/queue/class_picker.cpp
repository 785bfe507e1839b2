#include "scheduler/queue/class_picker.h"

namespace sluice {

unsigned ClassPicker::pick(ClassMask waiting) const noexcept {
  if (waiting == 0 || active_total_ >= limits_.max_active) return kIoClasses;
  for (unsigned step = 1; step <= kIoClasses; ++step) {
    const unsigned c = (last_ + step) % kIoClasses;
    if ((waiting & class_bit(c)) != 0 && active_[c] < limits_.classes[c].min_active) return c;
  }
  for (unsigned c = 0; c < kIoClasses; ++c) {
    if ((waiting & class_bit(c)) != 0 && active_[c] < limits_.classes[c].max_active) return c;
  }
  return kIoClasses;
}

}  // namespace sluice
