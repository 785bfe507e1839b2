// FastQueue: permissions leased to seats. The policy is ClassPicker's; what is active, to it, is
// what is leased.
//
// A seat without a permission asks under the mutex and gets one if a limit allows. It keeps it: so
// each seat soon holds what it needs, and while the limits suffice nobody takes the mutex again.
//
// When they don't, whoever must wait makes a claim, once, for all that it has waiting; takes what
// others hold and don't use; and sleeps. From then on who finishes an I/O looks at who waits
// (Pressure). If a class that matters waits, the permission goes back, and ClassPicker says to
// whom. If only others of the same class wait, it is used again up to kReuses times: with each
// permission crossing threads at each I/O, all time would go into waking them. Seats of one class
// are served in turn.
//
// Bound: an I/O of the highest waiting class waits for at most kReuses I/Os of each other seat
// before its seat's turn comes, whatever they do.
#pragma once

#include <boost/intrusive/list.hpp>

#include <array>

#include "scheduler/base/short_mutex.h"
#include "scheduler/queue/class_picker.h"
#include "scheduler/queue/leaf_queue.h"

namespace sluice {

class FastQueue final : public LeafQueue {
 public:
  static constexpr std::uint16_t kReuses = 16;

  explicit FastQueue(const QueueLimits& limits);

  void join(Seat& seat) override;
  void quit(Seat& seat, Grants& out) override;
  void enter(Seat& seat, Request* const* requests, unsigned count, Grants& out) override;
  void left(Seat& seat, unsigned c, Grants& out) override;
  void collect(Seat& seat, Grants& out) override;
  void withdraw(Seat& seat, Grants& out) override;
  void reclaim(Seat& seat, Grants& out) override;
  void set_limits(const QueueLimits& limits, Grants& out) override;
  enum sluice_queue kind() const noexcept override { return SLUICE_queue_fast; }
  void read_stats(LeafStats& out) const override;
  QueueLimits limits() const override;
  std::uint32_t active() const override;
  std::uint32_t waiting() const override;

  // Nothing enters but by a seat.
  void leave(Seat&, Request* const*, unsigned, Grants&) override {}

 private:
  // The owner's, without the mutex.
  void use_spare(Seat& seat, unsigned c, RequestList& own);
  void use_spares(Seat& seat, RequestList& own);
  bool wants(const Seat& seat) const;
  void visit(Seat& seat, Grants& out);

  // Under the mutex.
  void claim_waiting(Seat& seat, unsigned c);
  bool others_wait(const Seat& seat) const;
  void claim(Seat& seat, unsigned c, std::uint32_t wanted);
  void unclaim(Seat& seat, unsigned c);
  void give_up_spare(Seat& seat, unsigned c);
  void give_up_spare(Seat& seat);
  void reclaim_spare(const Seat& needy);
  void distribute(const Seat* self, Grants& out);
  void concern();
  void publish();

  using Claims = boost::intrusive::list<
      Claim,
      boost::intrusive::member_hook<Claim, boost::intrusive::list_member_hook<>, &Claim::link>>;
  using Seats = boost::intrusive::list<
      Seat,
      boost::intrusive::member_hook<Seat, boost::intrusive::list_member_hook<>, &Seat::member>>;

  mutable ShortMutex mutex_;
  ClassPicker picker_;
  Seats seats_;
  std::array<Claims, kIoClasses> claims_;
  ClassMask waiting_ = 0;      ///< classes with claims
  bool shrinking_ = false;     ///< limits were lowered, and more than they allow is leased
  bool any_overdue_ = false;   ///< some seat has a grant that others may take
  std::uint32_t wanted_ = 0;   ///< all claims together
  std::uint64_t granted_ = 0;  ///< of seats that quit
  std::uint64_t waited_ = 0;   ///< of seats that quit
  std::uint64_t active_max_ = 0;
  std::uint64_t waiting_max_ = 0;
  std::uint64_t locked_ = 0;
};

}  // namespace sluice
