// Mailbox: what other threads have for one session: grants for its waiting requests, seats of its
// that were given permissions, and requests that the courier carried to the device and back.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "scheduler/base/units.h"
#include "scheduler/io/device.h"
#include "scheduler/queue/leaf_queue.h"

namespace sluice {

class Courier;

/// Threads: deliver_*() and notify() any; collect(), next_seat(), forget(), fall_asleep() and
/// awake() the owner; take_grants() and reclaim() the courier. The wake-up happens under the mutex,
/// so the owner, who empties the mailbox under it before it closes, can't vanish in between.
class alignas(kFalseSharingBytes) Mailbox {
 public:
  Mailbox(Channel& channel, Courier& courier) : channel_(channel), courier_(courier) {}

  /// Moves `granted` in and wakes the owner. If it was not asleep, it will look when it next reaps,
  /// which may be a while (thinktime, rate), so the courier is asked to watch.
  void deliver_grants(RequestList& granted);
  void deliver_found(RequestList& found);
  /// The seat has permissions for what waits there.
  void notify(Seat& seat);

  /// Makes the owner look, though nothing is delivered. Threads: any; also a signal handler, hence
  /// without the mutex: the caller sees to it that the owner stays until this returns.
  void poke() noexcept { wake_owner(); }

  /// One load: is there anything?
  bool pending() const noexcept { return pending_.load(std::memory_order_acquire); }

  /// Moves all grants, and at most `max` found requests, out.
  void collect(RequestList& granted, RequestList& found, unsigned max);
  /// Takes out one seat that was notified; null when there is none. After collect().
  Seat* next_seat();
  /// The seat goes; nobody may notify it any more.
  void forget(Seat& seat);
  /// Moves the grants out, for somebody who issues them in the owner's stead.
  void take_grants(RequestList& granted);
  /// Offers what notified seats have not collected to others; they stay notified.
  void reclaim(Grants& out);

  /// Announces that the owner is about to block in wait(…, true). False: it must not, since there
  /// is something already. awake() follows in either case, and a look at pending() follows that.
  bool fall_asleep() noexcept {
    asleep_.store(true, std::memory_order_seq_cst);
    return !pending_.load(std::memory_order_seq_cst);
  }
  /// An exchange: whoever found us asleep, and so told no courier, has set `pending` before, and we
  /// see it. After a plain store the look at pending() could come first.
  void awake() noexcept { asleep_.exchange(false, std::memory_order_seq_cst); }

  /// Set while the courier has the mailbox on its list.
  std::atomic<bool> watched{false};

 private:
  bool wake_owner() noexcept;  // takes no lock: with mutex_ held, or by poke()

  Channel& channel_;
  Courier& courier_;
  std::mutex mutex_;
  RequestList granted_;
  RequestList found_;
  SeatMail seats_;
  std::atomic<bool> pending_{false};
  std::atomic<bool> asleep_{false};
};

}  // namespace sluice
