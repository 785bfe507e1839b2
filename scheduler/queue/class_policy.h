// ClassPolicy: which waiting I/O goes next. Pure: no lock, no clock, no I/O; tests step it.
//
// The class is chosen by ClassPicker, the request within it by its WaitingLine, and Aggregator may
// let its neighbours go with it. Each request leaves once. Nothing is allocated: links live in the
// requests.
//
// Bound on waiting: of a class below its minimum of the moment, at most one I/O of each other class
// goes first (ClassPicker); within a class nobody goes first who came a bucket's time later
// (WaitingLine); and what goes is at most one aggregate (Aggregator).
#pragma once

#include <array>
#include <cstdint>

#include "scheduler/io/request.h"
#include "scheduler/queue/aggregate.h"
#include "scheduler/queue/class_picker.h"
#include "scheduler/queue/waiting_line.h"

namespace sluice {

class ClassPolicy {
 public:
  explicit ClassPolicy(const QueueLimits& limits) : picker_(limits) { configure(); }

  /// Adds a request to the line of its class.
  void enqueue(Request& request) {
    const unsigned c = index(request);
    lines_[c].push(request);
    waiting_mask_ |= class_bit(c);
    ++waiting_total_;
    if (aggregator_.on()) [[unlikely]]
      aggregator_.add(request);
  }

  /// Takes the request that may go now and counts it active; null when none may. If it is an
  /// aggregate (io/parts.h), its parts, of any owner and class, wait no more either.
  Request* next();

  /// True, and counts the request active, if it may go at once without overtaking anybody: nothing
  /// waits at all and no limit is reached. What next() would decide, without the list.
  bool pass(const Request& request) {
    if (waiting_mask_ != 0) return false;
    return picker_.pass_unwatched(index(request)) || pass_watched(request);
  }

  /// A request of the class has left the device (an aggregate: once, in its head's class). Requires
  /// one active.
  void done(IoClass io_class) { picker_.done(static_cast<unsigned>(io_class)); }

  /// Takes out all that wait for `owner`, in order of class and then of the line.
  void withdraw(const Mailbox& owner, RequestList& out);

  /// From now on other limits hold, also for what waits: call next() until null.
  void set_limits(const QueueLimits& limits);
  /// The share of dirty data has changed: call next() until null.
  void set_dirty(const DirtyData& dirty) noexcept { picker_.set_dirty(dirty); }

  std::uint32_t active() const noexcept { return picker_.active(); }
  std::uint32_t active(IoClass c) const noexcept {
    return picker_.active(static_cast<unsigned>(c));
  }
  std::uint32_t waiting() const noexcept { return waiting_total_; }
  /// The classes in which something waits.
  ClassMask waiting_mask() const noexcept { return waiting_mask_; }
  const QueueLimits& limits() const noexcept { return picker_.limits(); }

 private:
  static unsigned index(const Request& request) noexcept {
    return static_cast<unsigned>(request.io_class);
  }
  void configure();
  bool pass_watched(const Request& request);
  void leave_line(Request& request);
  void note_emptied(unsigned c) noexcept {
    if (lines_[c].empty()) waiting_mask_ &= ~class_bit(c);
  }
  void withdraw_all(const Mailbox* owner, RequestList& out);

  ClassMask waiting_mask_ = 0;
  std::uint32_t waiting_total_ = 0;
  ClassPicker picker_;
  std::uint64_t position_ = 0;  ///< end of what was issued last; kept if some line is by offset
  std::array<WaitingLine, kIoClasses> lines_;
  Aggregator aggregator_;
};

}  // namespace sluice
