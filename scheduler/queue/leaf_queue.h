// LeafQueue: the queue of one file or device, shared by every job that uses it. One mutex around a
// ClassPolicy: the classic design, and the baseline for what comes later.
//
// It hands out permission only. Each I/O is issued and reaped on its owner's channel, since a ring
// with SINGLE_ISSUER completes only when its owner enters it; a grant to somebody else's request is
// returned to the caller, who delivers it to that owner's mailbox.
#pragma once

#include <cstdint>

#include "scheduler/base/short_mutex.h"
#include "scheduler/base/units.h"
#include "scheduler/config/stats.h"
#include "scheduler/queue/class_policy.h"

namespace sluice {

/// Threads: any. Never blocks but on its mutex, which is never held during I/O.
class alignas(kFalseSharingBytes) LeafQueue {
 public:
  explicit LeafQueue(const QueueLimits& limits) : policy_(limits) {}

  /// Asks leave for `count` requests of one owner in order. Those that may go now are moved to
  /// the front of `requests` (state granted), in order; their number is returned. The others wait
  /// (state waiting): they belong to the queue until some leave() returns them.
  unsigned enter(Request** requests, unsigned count);

  /// Gives back the permissions of `count` requests; appends to `granted` the requests, of any
  /// owner, that may go now.
  void leave(Request* const* requests, unsigned count, RequestList& granted);

  /// Takes back what waits for `owner`: it will not be granted any more.
  void withdraw(const Mailbox& owner, RequestList& out);

  /// A copy of the counters, consistent.
  void read_stats(LeafStats& out) const;
  QueueLimits limits() const;
  std::uint32_t active() const;
  std::uint32_t waiting() const;

 private:
  unsigned grant_entered(Request** requests, unsigned granted, unsigned count);
  void grant_waiting(RequestList& granted);

  mutable ShortMutex mutex_;
  ClassPolicy policy_;
  LeafStats stats_;
};

}  // namespace sluice
