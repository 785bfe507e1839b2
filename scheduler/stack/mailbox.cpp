#include "scheduler/stack/mailbox.h"

#include "scheduler/stack/courier.h"

namespace sluice {

bool Mailbox::wake_owner() noexcept {
  // Pairs with fall_asleep(): either the owner sees `pending`, or we see that it sleeps.
  pending_.store(true, std::memory_order_seq_cst);
  if (!asleep_.exchange(false, std::memory_order_seq_cst)) return false;
  channel_.wake();
  return true;
}

void Mailbox::deliver_grants(RequestList& granted) {
  const std::lock_guard lock(mutex_);
  granted_.splice_after(granted_.last(), granted);
  // Under the mutex, or the owner could collect, finish and be gone before the courier hears.
  if (!wake_owner()) courier_.watch(*this);
}

void Mailbox::deliver_found(RequestList& found) {
  const std::lock_guard lock(mutex_);
  found_.splice_after(found_.last(), found);
  wake_owner();
}

void Mailbox::notify(Seat& seat) {
  const std::lock_guard lock(mutex_);
  if (!seat.mail.is_linked()) seats_.push_front(seat);
  if (!wake_owner()) courier_.watch(*this);
}

Seat* Mailbox::next_seat() {
  const std::lock_guard lock(mutex_);
  if (seats_.empty()) return nullptr;
  Seat* const seat = &seats_.front();
  seats_.pop_front();
  return seat;
}

void Mailbox::forget(Seat& seat) {
  const std::lock_guard lock(mutex_);
  if (seat.mail.is_linked()) seats_.erase(seats_.iterator_to(seat));
}

void Mailbox::reclaim(Grants& out) {
  const std::lock_guard lock(mutex_);
  for (Seat& seat : seats_) seat.queue().reclaim(seat, out);
}

void Mailbox::collect(RequestList& granted, RequestList& found, unsigned max) {
  const std::lock_guard lock(mutex_);
  granted.splice_after(granted.last(), granted_);
  while (max > 0 && !found_.empty()) {
    Request& request = found_.front();
    found_.pop_front();
    found.push_back(request);
    --max;
  }
  if (found_.empty()) pending_.store(false, std::memory_order_relaxed);
}

void Mailbox::take_grants(RequestList& granted) {
  const std::lock_guard lock(mutex_);
  granted.splice_after(granted.last(), granted_);
}

}  // namespace sluice
