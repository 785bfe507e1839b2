// ClassPolicy: which waiting I/O goes next. Pure: no lock, no clock, no I/O; tests step it.
//
// The class is chosen by ClassPicker; within a class: first come, first served. Each request leaves
// once.
#pragma once

#include <array>
#include <cstdint>

#include "scheduler/io/request.h"
#include "scheduler/queue/class_picker.h"

namespace sluice {

class ClassPolicy {
 public:
  explicit ClassPolicy(const QueueLimits& limits) : picker_(limits) {}

  /// Adds a request to the tail of its class.
  void enqueue(Request& request) {
    const unsigned c = index(request);
    waiting_[c].push_back(request);
    waiting_mask_ |= class_bit(c);
    ++waiting_total_;
  }

  /// Takes the request that may go now and counts it active; null when none may.
  Request* next();

  /// True, and counts the request active, if it may go at once without overtaking anybody: nothing
  /// waits at all and no limit is reached. What next() would decide, without the list.
  bool pass(const Request& request) {
    return waiting_mask_ == 0 && picker_.pass(index(request));
  }

  /// A request of the class has left the device. Requires one active.
  void done(IoClass io_class) { picker_.done(static_cast<unsigned>(io_class)); }

  /// Takes out all that wait for `owner`, in order of class and arrival.
  void withdraw(const Mailbox& owner, RequestList& out);

  std::uint32_t active() const noexcept { return picker_.active(); }
  std::uint32_t active(IoClass c) const noexcept {
    return picker_.active(static_cast<unsigned>(c));
  }
  std::uint32_t waiting() const noexcept { return waiting_total_; }
  const QueueLimits& limits() const noexcept { return picker_.limits(); }

 private:
  static unsigned index(const Request& request) noexcept {
    return static_cast<unsigned>(request.io_class);
  }
  void note_emptied(unsigned c) noexcept {
    if (waiting_[c].empty()) waiting_mask_ &= ~class_bit(c);
  }

  ClassPicker picker_;
  std::array<RequestList, kIoClasses> waiting_;
  ClassMask waiting_mask_ = 0;
  std::uint32_t waiting_total_ = 0;
};

}  // namespace sluice
