// Pressure: who waits at a leaf, in a form that is read at every I/O and seldom written.
//
// Written under the queue's mutex when somebody begins or ceases to wait, never per I/O; so the
// readers share the line until then.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "scheduler/base/units.h"
#include "scheduler/queue/class_picker.h"

namespace sluice {

struct alignas(kFalseSharingBytes) Pressure {
  /// Classes in which something waits; other bits are the queue's own.
  std::atomic<ClassMask> waiting{0};
  /// Classes whose waiting may decide who gets the permission that an I/O of class c gives back.
  std::array<std::atomic<ClassMask>, kIoClasses> concerns{};
  bool waits(unsigned c) const noexcept {
    return (waiting.load(std::memory_order_relaxed) & class_bit(c)) != 0;
  }
  /// Seats that wait, by class. FastQueue only.
  std::array<std::atomic<std::uint16_t>, kIoClasses> claims{};
};

}  // namespace sluice
