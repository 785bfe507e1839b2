// LeafQueue: the queue of one file or device, shared by every job that uses it.
//
// It hands out permission only. Each I/O is issued and reaped on its owner's channel, since a ring
// with SINGLE_ISSUER completes only when its owner enters it; what others are granted is returned
// to the caller, who tells them (stack/grants.h).
//
// Two kinds. classic: one mutex, taken on the way in and on the way out, and a list of active I/O:
// what OpenZFS does, and the baseline. fast: permissions are leased to seats (seat.h); nothing
// shared is written per I/O while no limit binds.
#pragma once

#include <cstdint>
#include <memory>

#include "scheduler/config/stats.h"
#include "scheduler/config/tunables.h"
#include "scheduler/queue/queue_limits.h"
#include "scheduler/queue/seat.h"

namespace sluice {

/// What a call let go. The caller issues `own`, and tells the owners of the rest.
struct Grants {
  RequestList own;     ///< of the seat's owner, in order
  RequestList others;  ///< of other owners (classic)
  SeatNotices seats;   ///< that got permissions for what they have waiting (fast)
};

/// Threads: any; calls that take a Seat from its owner's thread, but reclaim(). Blocks on nothing
/// but a mutex that is never held during I/O.
class LeafQueue {
 public:
  virtual ~LeafQueue() = default;

  /// Before the seat's first use, and after its last: nothing of it in flight or waiting.
  virtual void join(Seat& seat) = 0;
  virtual void quit(Seat& seat, Grants& out) = 0;

  /// Asks leave for `count` requests of the seat's owner, in order. What may go now is in out.own
  /// (state granted); the others wait (state waiting).
  virtual void enter(Seat& seat, Request* const* requests, unsigned count, Grants& out) = 0;

  /// Gives back the permissions of `count` requests whose path is Path::queued.
  virtual void leave(Seat& seat, Request* const* requests, unsigned count, Grants& out) = 0;

  /// After Seat::put(c) said that somebody waits.
  virtual void left(Seat& seat, unsigned c, Grants& out) = 0;

  /// The owner was told of a grant: what may go now.
  virtual void collect(Seat& seat, Grants& out) = 0;

  /// Takes back all that waits at the seat: it will not be granted any more.
  virtual void withdraw(Seat& seat, Grants& out) = 0;

  /// The seat has not collected a grant for long: others may have it. Threads: any.
  virtual void reclaim(Seat& seat, Grants& out) = 0;

  /// New limits, at once for what is to come. What is active above them runs out.
  virtual void set_limits(const QueueLimits& limits, Grants& out) = 0;

  virtual enum sluice_queue kind() const noexcept = 0;
  virtual void read_stats(LeafStats& out) const = 0;
  virtual QueueLimits limits() const = 0;
  /// Permissions in use.
  virtual std::uint32_t active() const = 0;
  /// Requests that wait. fast: as many as their seats claimed permissions for.
  virtual std::uint32_t waiting() const = 0;

  const Pressure& pressure() const noexcept { return pressure_; }

 protected:
  Pressure pressure_;
};

/// Sorting and merging need to see all that waits in one place.
inline bool needs_one_place(const QueueLimits& limits) noexcept {
  return limits.by_offset || limits.aggregation.size_bytes > 1;
}

/// Classic, too, where the limits need one place.
std::unique_ptr<LeafQueue> make_leaf_queue(enum sluice_queue kind, const QueueLimits& limits);

}  // namespace sluice
