// Seat: one session's place at one leaf's queue, and the permissions that it holds there.
//
// A permission is leased: the session uses it for one I/O after the other without asking anybody,
// until somebody else waits. In use or not it counts as active, and what is not in use can be taken
// away. So the sum of all leases never exceeds a limit, and an idle holder starves nobody.
//
// A word a class holds how many permissions the seat has (quota) and how many are in use. The owner
// changes the use, with one atomic instruction on a line of its own; holders of the queue's mutex
// change the quota: grant() raises it, cut() lowers it to the use.
#pragma once

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/slist.hpp>

#include <array>
#include <atomic>
#include <cstdint>

#include "scheduler/base/check.h"
#include "scheduler/base/counter.h"
#include "scheduler/base/units.h"
#include "scheduler/io/request.h"
#include "scheduler/queue/pressure.h"

namespace sluice {

class LeafQueue;
class Seat;

/// What a seat asks for in one class. Guarded by the queue's mutex.
struct Claim {
  Seat* seat = nullptr;
  std::uint32_t wanted = 0;
  boost::intrusive::list_member_hook<> link;
};

/// Threads: as the groups below say. Ownership: the session's; joined to one queue from join() to
/// quit().
class alignas(kFalseSharingBytes) Seat {
 public:
  Seat(Mailbox* owner, LeafQueue& queue) : owner_(owner), queue_(queue) {
    for (Claim& claim : claims) claim.seat = this;
  }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;

  Mailbox* owner() const noexcept { return owner_; }
  LeafQueue& queue() const noexcept { return queue_; }

  // ---- the owner's thread ----

  /// Uses a spare permission. False when there is none: ask the queue.
  bool take(unsigned c) noexcept {
    std::uint64_t word = words_[c].load(std::memory_order_relaxed);
    if (in_use(word) >= quota(word)) return false;
    // Fails only if the quota is being changed: then the queue's mutex is the place to ask.
    return words_[c].compare_exchange_strong(word, word + 1, std::memory_order_seq_cst,
                                             std::memory_order_relaxed);
  }

  /// An I/O is done; its permission is spare. True when nobody waits who could have it: it stays
  /// here. False: the queue must be told (LeafQueue::left()).
  ///
  /// The read-modify-write comes first, the look at who waits second. Who begins to wait does it
  /// the other way round: says so, then looks for spare permissions. So one sees the other.
  bool put(unsigned c) noexcept {
    words_[c].fetch_sub(1, std::memory_order_seq_cst);
    return (pressure_->waiting.load(std::memory_order_seq_cst) &
            pressure_->concerns[c].load(std::memory_order_relaxed)) == 0;
  }

  /// The owner's requests that have no permission yet, in order of arrival.
  std::array<RequestList, kIoClasses> waiting;
  std::array<std::uint16_t, kIoClasses> reuses{};  ///< since the seat last gave anything back
  Counter granted;                                 ///< I/Os that got a permission; read by anyone
  Counter waited;                                  ///< that had to wait for it; read by anyone

  /// True while the queue knows that the seat waits in this class. Written under the queue's
  /// mutex; when it turns false without the owner's doing, a grant is on its way.
  bool claimed(unsigned c) const noexcept {
    return (claimed_.load(std::memory_order_acquire) & class_bit(c)) != 0;
  }
  void collected() noexcept { uncollected_.store(false, std::memory_order_relaxed); }

  // ---- under the queue's mutex ----

  void grant(unsigned c) noexcept { words_[c].fetch_add(kOneQuota, std::memory_order_seq_cst); }
  /// Takes away what is not in use; returns how many.
  std::uint32_t cut(unsigned c) noexcept {
    std::uint64_t word = words_[c].load(std::memory_order_seq_cst);
    while (quota(word) > in_use(word)) {
      const std::uint64_t less = std::uint64_t{in_use(word)} << 32 | in_use(word);
      if (words_[c].compare_exchange_weak(word, less, std::memory_order_seq_cst)) {
        return quota(word) - in_use(word);
      }
    }
    return 0;
  }
  void set_claimed(unsigned c, bool yes) noexcept {
    const ClassMask now = claimed_.load(std::memory_order_relaxed);
    claimed_.store(yes ? now | class_bit(c) : now & ~class_bit(c), std::memory_order_release);
  }
  std::array<Claim, kIoClasses> claims{};
  boost::intrusive::list_member_hook<> member;  ///< of the queue's seats
  bool overdue = false;  ///< has had a grant for so long that others may take it
  const Pressure* pressure() const noexcept { return pressure_; }
  void set_pressure(const Pressure* pressure) noexcept { pressure_ = pressure; }

  // ---- any thread ----

  std::uint32_t in_use(unsigned c) const noexcept { return in_use(load(c)); }
  std::uint32_t spare(unsigned c) const noexcept {
    const std::uint64_t word = load(c);
    return quota(word) - in_use(word);
  }
  std::uint32_t spare() const noexcept {
    std::uint32_t sum = 0;
    for (unsigned c = 0; c < kIoClasses; ++c) sum += spare(c);
    return sum;
  }
  std::uint32_t quota(unsigned c) const noexcept { return quota(load(c)); }

  // ---- on the way to the owner ----
  // Granted something by another thread, which tells the owner's mailbox after the mutex is
  // released. The seat must stay until it has.

  /// Under the queue's mutex. False: it is on somebody's list already, who will tell.
  bool begin_notice() noexcept {
    uncollected_.store(true, std::memory_order_relaxed);
    overdue = false;
    return !noticed_.exchange(true, std::memory_order_acq_rel);
  }
  /// The teller, having taken the seat off its list, before it tells.
  void unlist() noexcept {
    notices_.fetch_add(1, std::memory_order_relaxed);
    noticed_.store(false, std::memory_order_release);
  }
  /// The teller, having told.
  void end_notice() noexcept { notices_.fetch_sub(1, std::memory_order_release); }
  bool being_noticed() const noexcept {
    return noticed_.load(std::memory_order_acquire) || notices_.load(std::memory_order_acquire) > 0;
  }
  bool uncollected() const noexcept { return uncollected_.load(std::memory_order_relaxed); }
  boost::intrusive::slist_member_hook<> notice;  ///< of the teller's list
  boost::intrusive::slist_member_hook<> mail;    ///< of the owner's mailbox, under its mutex

 private:
  static constexpr std::uint64_t kOneQuota = std::uint64_t{1} << 32;
  static std::uint32_t in_use(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word);
  }
  static std::uint32_t quota(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> 32);
  }
  std::uint64_t load(unsigned c) const noexcept {
    return words_[c].load(std::memory_order_relaxed);
  }

  std::array<std::atomic<std::uint64_t>, kIoClasses> words_{};
  const Pressure* pressure_ = nullptr;
  Mailbox* const owner_;
  LeafQueue& queue_;
  std::atomic<ClassMask> claimed_{0};
  std::atomic<bool> uncollected_{false};
  std::atomic<bool> noticed_{false};
  std::atomic<unsigned> notices_{0};
};

using SeatNotices = boost::intrusive::slist<
    Seat, boost::intrusive::member_hook<Seat, boost::intrusive::slist_member_hook<>, &Seat::notice>,
    boost::intrusive::cache_last<true>, boost::intrusive::constant_time_size<false>>;

using SeatMail = boost::intrusive::slist<
    Seat, boost::intrusive::member_hook<Seat, boost::intrusive::slist_member_hook<>, &Seat::mail>,
    boost::intrusive::constant_time_size<false>>;

}  // namespace sluice
