#include "scheduler/queue/fast_queue.h"

#include <algorithm>
#include <mutex>
#include <thread>

#include "scheduler/base/attributes.h"

namespace sluice {

namespace {

constexpr ClassMask kBackground = class_bit(static_cast<unsigned>(IoClass::scrub)) |
                                  class_bit(static_cast<unsigned>(IoClass::rebuild));
constexpr ClassMask kAllClasses = (ClassMask{1} << kIoClasses) - 1;
// In Pressure::waiting beside the classes. Limits were lowered: give back what you can.
constexpr ClassMask kShrinking = ClassMask{1} << 31;
// Always set: for those who must ask each time.
constexpr ClassMask kAlways = ClassMask{1} << 30;

bool background(unsigned c) { return is_background(static_cast<IoClass>(c)); }

}  // namespace

FastQueue::FastQueue(const QueueLimits& limits) : picker_(limits) {
  concern();
  publish();
}

// Whose waiting matters to whom. Classes whose maxima fit under the cap together don't compete:
// then a class cares for itself. Where background classes yield (background.h), they are told of
// every I/O that ends, and ask for each of their own, since what they may do depends on it.
void FastQueue::concern() {
  const QueueLimits& limits = picker_.limits();
  std::uint64_t sum = 0;
  for (const ClassLimits& c : limits.classes) sum += c.max_active;
  const bool compete = sum > limits.max_active;
  const bool yield = limits.background.credit > 0;
  for (unsigned c = 0; c < kIoClasses; ++c) {
    ClassMask mask = compete ? kAllClasses : class_bit(c);
    if (yield) mask |= background(c) ? kAllClasses | kAlways : kBackground;
    pressure_.concerns[c].store(mask | kShrinking, std::memory_order_relaxed);
  }
}

// Before a look at what others hold: see Seat::put().
inline void FastQueue::publish() {
  pressure_.waiting.store(waiting_ | kAlways | (shrinking_ ? kShrinking : 0),
                          std::memory_order_seq_cst);
}

void FastQueue::join(Seat& seat) {
  seat.set_pressure(&pressure_);
  const std::lock_guard lock(mutex_);
  seats_.push_back(seat);
}

void FastQueue::quit(Seat& seat, Grants& out) {
  {
    const std::lock_guard lock(mutex_);
    for (unsigned c = 0; c < kIoClasses; ++c) {
      SLUICE_CHECK(seat.in_use(c) == 0 && seat.waiting[c].empty());
      if (seat.claimed(c)) unclaim(seat, c);
    }
    give_up_spare(seat);
    seats_.erase(seats_.iterator_to(seat));
    granted_ += seat.granted.load();
    waited_ += seat.waited.load();
    distribute(&seat, out);
  }
  while (seat.being_noticed()) std::this_thread::yield();
}

void FastQueue::enter(Seat& seat, Request* const* requests, unsigned count, Grants& out) {
  bool asks = false;
  for (unsigned i = 0; i < count; ++i) {
    Request& request = *requests[i];
    const auto c = static_cast<unsigned>(request.io_class);
    request.path = Path::leased;
    request.state = RequestState::waiting;
    seat.waiting[c].push_back(request);
    asks |= !seat.claimed(c);
  }
  const std::size_t before = out.own.size();
  if (asks) {
    const std::lock_guard lock(mutex_);
    ++locked_;
    const bool first = waiting_ == 0;
    // Of all classes: a claim from before asks for what waited then.
    for (unsigned c = 0; c < kIoClasses; ++c) claim_waiting(seat, c);
    distribute(&seat, out);
    if (waiting_ != 0) {
      // Its own of other classes may be in its way.
      for (unsigned c = 0; c < kIoClasses; ++c) {
        if (seat.waiting[c].empty()) give_up_spare(seat, c);
      }
      // Spare permissions are kept only while nobody waits, so only the first who does finds any.
      if (first || any_overdue_) reclaim_spare(seat);
      distribute(&seat, out);
    }
    waiting_max_ = std::max<std::uint64_t>(waiting_max_, wanted_);
    // Before others can take away again what was just given.
    use_spares(seat, out.own);
  } else {
    // A claim is no sign that nothing is spare: it may be of yesterday.
    use_spares(seat, out.own);
  }
  const std::size_t granted = out.own.size() - before;
  if (granted < count) seat.waited.add(count - granted);
}

void FastQueue::use_spare(Seat& seat, unsigned c, RequestList& own) {
  RequestList& waiting = seat.waiting[c];
  std::uint64_t used = 0;
  while (!waiting.empty() && seat.take(c)) {
    Request& request = waiting.front();
    waiting.pop_front();
    request.state = RequestState::granted;
    own.push_back(request);
    ++used;
  }
  seat.granted.add(used);
}

void FastQueue::use_spares(Seat& seat, RequestList& own) {
  for (unsigned c = 0; c < kIoClasses; ++c) {
    if (!seat.waiting[c].empty()) use_spare(seat, c, own);
  }
}

// Whether something of the seat waits that the queue knows nothing of.
bool FastQueue::wants(const Seat& seat) const {
  for (unsigned c = 0; c < kIoClasses; ++c) {
    if (!seat.waiting[c].empty() && !seat.claimed(c)) return true;
  }
  return false;
}

void FastQueue::left(Seat& seat, unsigned c, Grants& out) {
  const ClassMask interested = pressure_.waiting.load(std::memory_order_relaxed) &
                               pressure_.concerns[c].load(std::memory_order_relaxed);
  if (interested == class_bit(c)) {
    const unsigned own_claim = seat.claimed(c) ? 1 : 0;
    const bool alone = pressure_.claims[c].load(std::memory_order_relaxed) == own_claim;
    const bool idle = seat.waiting[c].empty();
    // A claim that is not needed any more makes others look. It is kept for a while, since a job at
    // its limit needs it again at once, but not beyond the job's last I/O.
    const bool stale = idle && (seat.in_use(c) == 0 || seat.reuses[c] >= kReuses);
    if (!stale && (alone || seat.reuses[c] < kReuses)) {
      use_spare(seat, c, out.own);
      if (!alone || idle) {
        ++seat.reuses[c];
      } else {
        seat.reuses[c] = 0;
      }
      // Nothing spare is kept from others, and nothing of ours waits unknown.
      if ((alone || seat.spare(c) == 0) && !wants(seat)) return;
    }
  }
  visit(seat, out);
}

SLUICE_NOINLINE void FastQueue::visit(Seat& seat, Grants& out) {
  {
    const std::lock_guard lock(mutex_);
    ++locked_;
    give_up_spare(seat);
    for (unsigned c = 0; c < kIoClasses; ++c) {
      if (seat.claimed(c)) unclaim(seat, c);  // to the end of the line
      claim_waiting(seat, c);
    }
    if (shrinking_ && !picker_.above_limits()) {
      shrinking_ = false;
      publish();
    }
    distribute(&seat, out);
    if (waiting_ != 0 && any_overdue_) {
      reclaim_spare(seat);
      distribute(&seat, out);
    }
    // Before others can take away again what was just given.
    use_spares(seat, out.own);
  }
  seat.reuses.fill(0);
}

void FastQueue::collect(Seat& seat, Grants& out) {
  seat.collected();
  use_spares(seat, out.own);
  if (wants(seat) ||
      (seat.spare() > 0 && (pressure_.waiting.load(std::memory_order_seq_cst) & ~kAlways) != 0)) {
    visit(seat, out);
  }
}

void FastQueue::withdraw(Seat& seat, Grants& out) {
  for (RequestList& list : seat.waiting) out.own.splice_after(out.own.last(), list);
  const std::lock_guard lock(mutex_);
  for (unsigned c = 0; c < kIoClasses; ++c) {
    if (seat.claimed(c)) unclaim(seat, c);
  }
  give_up_spare(seat);
  distribute(&seat, out);
}

void FastQueue::reclaim(Seat& seat, Grants& out) {
  const std::lock_guard lock(mutex_);
  if (!seat.uncollected()) return;
  seat.overdue = true;  // whoever needs it next may take it
  any_overdue_ = true;
  if (!others_wait(seat)) return;
  give_up_spare(seat);
  // Its own waiting I/O is claimed anew when the owner comes to collect.
  distribute(nullptr, out);
}

void FastQueue::set_limits(const QueueLimits& limits, Grants& out) {
  const std::lock_guard lock(mutex_);
  picker_.set_limits(limits);
  for (Seat& seat : seats_) give_up_spare(seat);
  concern();
  shrinking_ = picker_.above_limits();
  publish();
  distribute(nullptr, out);
}

// ---- under the mutex ----

// Brings the seat's claim in line with what waits there. It keeps its place.
void FastQueue::claim_waiting(Seat& seat, unsigned c) {
  const auto count = static_cast<std::uint32_t>(seat.waiting[c].size());
  const std::uint32_t spare = seat.spare(c);
  const std::uint32_t wanted = count > spare ? count - spare : 0;
  if (!seat.claimed(c)) {
    if (wanted > 0) claim(seat, c, wanted);
  } else if (wanted == 0) {
    unclaim(seat, c);
  } else {
    wanted_ += wanted - seat.claims[c].wanted;
    seat.claims[c].wanted = wanted;
  }
}

bool FastQueue::others_wait(const Seat& seat) const {
  for (unsigned c = 0; c < kIoClasses; ++c) {
    if (claims_[c].size() > (seat.claimed(c) ? 1U : 0U)) return true;
  }
  return false;
}

void FastQueue::claim(Seat& seat, unsigned c, std::uint32_t wanted) {
  Claim& claim = seat.claims[c];
  claim.wanted = wanted;
  wanted_ += wanted;
  claims_[c].push_back(claim);
  seat.set_claimed(c, true);
  pressure_.claims[c].fetch_add(1, std::memory_order_relaxed);
  if ((waiting_ & class_bit(c)) == 0) {
    waiting_ |= class_bit(c);
    publish();
  }
}

void FastQueue::unclaim(Seat& seat, unsigned c) {
  Claim& claim = seat.claims[c];
  wanted_ -= claim.wanted;
  claim.wanted = 0;
  claims_[c].erase(claims_[c].iterator_to(claim));
  seat.set_claimed(c, false);
  pressure_.claims[c].fetch_sub(1, std::memory_order_relaxed);
  if (claims_[c].empty()) {
    waiting_ &= ~class_bit(c);
    publish();
  }
}

void FastQueue::give_up_spare(Seat& seat, unsigned c) {
  for (std::uint32_t n = seat.cut(c); n > 0; --n) picker_.done(c);
}

void FastQueue::give_up_spare(Seat& seat) {
  for (unsigned c = 0; c < kIoClasses; ++c) give_up_spare(seat, c);
}

// A seat that was just granted something has not had the time to use it, unless it is overdue.
void FastQueue::reclaim_spare(const Seat& needy) {
  any_overdue_ = false;
  for (Seat& seat : seats_) {
    if (&seat != &needy && (!seat.uncollected() || seat.overdue)) give_up_spare(seat);
  }
}

void FastQueue::distribute(const Seat* self, Grants& out) {
  while (true) {
    const unsigned c = picker_.pick(waiting_);
    if (c == kIoClasses) break;
    picker_.take(c);
    Claim& claim = claims_[c].front();
    Seat& seat = *claim.seat;
    seat.grant(c);
    --wanted_;
    if (--claim.wanted == 0) {
      unclaim(seat, c);
    } else {
      claims_[c].splice(claims_[c].end(), claims_[c], claims_[c].begin());
    }
    if (&seat != self && seat.begin_notice()) out.seats.push_back(seat);
  }
  active_max_ = std::max<std::uint64_t>(active_max_, picker_.active());
}

void FastQueue::read_stats(LeafStats& out) const {
  const std::lock_guard lock(mutex_);
  std::uint64_t granted = granted_;
  std::uint64_t waited = waited_;
  for (const Seat& seat : seats_) {
    granted += seat.granted.load();
    waited += seat.waited.load();
  }
  out.granted.set(granted);
  out.waited.set(waited);
  out.active_max.set(active_max_);
  out.waiting_max.set(waiting_max_);
  out.locked.set(locked_);
}

QueueLimits FastQueue::limits() const {
  const std::lock_guard lock(mutex_);
  return picker_.limits();
}

std::uint32_t FastQueue::active() const {
  const std::lock_guard lock(mutex_);
  std::uint32_t sum = 0;
  for (const Seat& seat : seats_) {
    for (unsigned c = 0; c < kIoClasses; ++c) sum += seat.in_use(c);
  }
  return sum;
}

std::uint32_t FastQueue::waiting() const {
  const std::lock_guard lock(mutex_);
  return wanted_;
}

}  // namespace sluice
