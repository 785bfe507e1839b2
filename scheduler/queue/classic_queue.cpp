#include "scheduler/queue/classic_queue.h"

#include <mutex>

#include "scheduler/base/attributes.h"
#include "scheduler/io/parts.h"

namespace sluice {

inline void ClassicQueue::start(Request& request) {
  request.state = RequestState::granted;
  active_.push_back(request);
}

SLUICE_COLD void ClassicQueue::count_aggregate(const Request& head) {
  const Span whole = span(head);
  stats_.aggregates.add(1);
  stats_.merged.add(whole.parts);
  stats_.gap_bytes.add(whole.gap_bytes);
}

void ClassicQueue::enter(Seat& /*seat*/, Request* const* requests, unsigned count, Grants& out) {
  const std::lock_guard lock(mutex_);
  stats_.locked.add(1);
  unsigned granted = 0;
  for (unsigned i = 0; i < count; ++i) {
    Request& request = *requests[i];
    request.path = Path::queued;
    if (policy_.pass(request)) [[likely]] {
      start(request);
      out.own.push_back(request);
      ++granted;
    } else {
      request.state = RequestState::waiting;
      policy_.enqueue(request);
    }
  }
  stats_.granted.add(granted);
  stats_.active_max.raise(policy_.active());
  if (granted == count) [[likely]]
    return;
  // Something waits. What may go of it is of the classes that just came, so the owner's own:
  // whatever waited before could not go.
  grant_waiting(requests[0]->owner, out);
  stats_.waited.add(count - out.own.size());
  stats_.waiting_max.raise(policy_.waiting());
}

void ClassicQueue::leave(Seat& seat, Request* const* requests, unsigned count, Grants& out) {
  const std::lock_guard lock(mutex_);
  stats_.locked.add(1);
  for (unsigned i = 0; i < count; ++i) {
    active_.erase(active_.iterator_to(*requests[i]));
    policy_.done(requests[i]->io_class);
  }
  if (policy_.waiting() > 0) grant_waiting(seat.owner(), out);
}

SLUICE_NOINLINE void ClassicQueue::grant_waiting(const Mailbox* owner, Grants& out) {
  std::uint64_t count = 0;
  while (Request* request = policy_.next()) {
    start(*request);
    if (is_aggregate(*request)) [[unlikely]]
      count_aggregate(*request);
    (request->owner == owner ? out.own : out.others).push_back(*request);
    ++count;
  }
  stats_.granted.add(count);
  stats_.active_max.raise(policy_.active());
  note_waiting();
}

inline void ClassicQueue::note_waiting() {
  if (pressure_.waiting.load(std::memory_order_relaxed) != policy_.waiting_mask()) {
    pressure_.waiting.store(policy_.waiting_mask(), std::memory_order_relaxed);
  }
}

void ClassicQueue::withdraw(Seat& seat, Grants& out) {
  const std::lock_guard lock(mutex_);
  policy_.withdraw(*seat.owner(), out.own);
  note_waiting();
}

void ClassicQueue::set_limits(const QueueLimits& limits, Grants& out) {
  const std::lock_guard lock(mutex_);
  policy_.set_limits(limits);
  grant_waiting(nullptr, out);
}

void ClassicQueue::read_stats(LeafStats& out) const {
  const std::lock_guard lock(mutex_);
#define LEAF_COUNTER(name, unit, help) out.name.set(stats_.name.load());
#include "scheduler/config/stats.def"
}

QueueLimits ClassicQueue::limits() const {
  const std::lock_guard lock(mutex_);
  return policy_.limits();
}

std::uint32_t ClassicQueue::active() const {
  const std::lock_guard lock(mutex_);
  return policy_.active();
}

std::uint32_t ClassicQueue::waiting() const {
  const std::lock_guard lock(mutex_);
  return policy_.waiting();
}

}  // namespace sluice
