// ClassPolicy: which waiting I/O goes next. Pure: no lock, no clock, no I/O; tests step it.
//
// The rule is OpenZFS's (vdev_queue_class_to_issue): nothing while the leaf's cap is reached; then
// the classes below their minimum, round-robin, so that each always progresses; then the classes
// below their maximum by rank, sync reads first. Within a class: first come, first served.
//
// Invariants: no class above its maximum, the sum not above the cap, each request leaves once.
#pragma once

#include <array>
#include <cstdint>

#include "scheduler/base/check.h"
#include "scheduler/io/request.h"
#include "scheduler/queue/queue_limits.h"

namespace sluice {

class ClassPolicy {
 public:
  explicit ClassPolicy(const QueueLimits& limits) : limits_(limits) {}

  /// Adds a request to the tail of its class.
  void enqueue(Request& request) {
    waiting_[index(request)].push_back(request);
    ++waiting_total_;
  }

  /// Takes the request that may go now and counts it active; null when none may.
  Request* next();

  /// True, and counts the request active, if it may go at once without overtaking anybody: nothing
  /// waits at all and no limit is reached. What next() would decide, without the list.
  bool pass(const Request& request) {
    const unsigned c = index(request);
    if (waiting_total_ != 0 || active_total_ >= limits_.max_active ||
        active_[c] >= limits_.classes[c].max_active) {
      return false;
    }
    ++active_[c];
    ++active_total_;
    return true;
  }

  /// A request of the class has left the device. Requires one active.
  void done(IoClass io_class) {
    const auto c = static_cast<unsigned>(io_class);
    SLUICE_CHECK(active_[c] > 0);
    --active_[c];
    --active_total_;
  }

  /// Takes out all that wait for `owner`, in order of class and arrival.
  void withdraw(const Mailbox& owner, RequestList& out);

  std::uint32_t active() const noexcept { return active_total_; }
  std::uint32_t active(IoClass c) const noexcept { return active_[static_cast<unsigned>(c)]; }
  std::uint32_t waiting() const noexcept { return waiting_total_; }
  const QueueLimits& limits() const noexcept { return limits_; }

 private:
  static unsigned index(const Request& request) noexcept {
    return static_cast<unsigned>(request.io_class);
  }
  /// Class to issue from, or kIoClasses for none.
  unsigned pick() const noexcept;

  QueueLimits limits_;
  std::array<RequestList, kIoClasses> waiting_;
  std::array<std::uint32_t, kIoClasses> active_{};
  std::uint32_t active_total_ = 0;
  std::uint32_t waiting_total_ = 0;
  unsigned last_ = kIoClasses - 1;  ///< class last issued from, where the min pass resumes
};

}  // namespace sluice
