// ClassicQueue: one mutex around a ClassPolicy and a list of what is active, taken on the way in
// and on the way out of every queued I/O: OpenZFS's vq_lock and vq_active_list. The baseline.
#pragma once

#include "scheduler/base/short_mutex.h"
#include "scheduler/queue/class_policy.h"
#include "scheduler/queue/leaf_queue.h"

namespace sluice {

class ClassicQueue final : public LeafQueue {
 public:
  explicit ClassicQueue(const QueueLimits& limits) : policy_(limits) {}

  void join(Seat& seat) override { seat.set_pressure(&pressure_); }
  void quit(Seat&, Grants&) override {}
  void enter(Seat& seat, Request* const* requests, unsigned count, Grants& out) override;
  void leave(Seat& seat, Request* const* requests, unsigned count, Grants& out) override;
  void withdraw(Seat& seat, Grants& out) override;
  void set_limits(const QueueLimits& limits, Grants& out) override;
  enum sluice_queue kind() const noexcept override { return SLUICE_queue_classic; }
  void read_stats(LeafStats& out) const override;
  QueueLimits limits() const override;
  std::uint32_t active() const override;
  std::uint32_t waiting() const override;

  // Nothing is leased.
  void left(Seat&, unsigned, Grants&) override {}
  void collect(Seat&, Grants&) override {}
  void reclaim(Seat&, Grants&) override {}

 private:
  void start(Request& request);
  void count_aggregate(const Request& head);
  void grant_waiting(const Mailbox* owner, Grants& out);
  void note_waiting();

  using ActiveList = boost::intrusive::list<
      Request, boost::intrusive::member_hook<Request, boost::intrusive::list_member_hook<>,
                                             &Request::active>>;

  mutable ShortMutex mutex_;
  ClassPolicy policy_;
  ActiveList active_;  ///< in order of issue
  LeafStats stats_;
};

}  // namespace sluice
