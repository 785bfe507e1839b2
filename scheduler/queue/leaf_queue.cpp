#include "scheduler/queue/leaf_queue.h"

#include <mutex>

#include "scheduler/base/attributes.h"

namespace sluice {

namespace {
void raise(Counter& counter, std::uint64_t value) noexcept {
  if (value > counter.load()) counter.set(value);
}
}  // namespace

unsigned LeafQueue::enter(Request** requests, unsigned count) {
  const std::lock_guard lock(mutex_);
  unsigned granted = 0;
  for (unsigned i = 0; i < count; ++i) {
    Request& request = *requests[i];
    request.path = Path::queued;
    if (policy_.pass(request)) [[likely]] {
      request.state = RequestState::granted;
      requests[granted++] = &request;
    } else {
      request.state = RequestState::waiting;
      policy_.enqueue(request);
    }
  }
  if (granted < count) [[unlikely]]
    granted = grant_entered(requests, granted, count);
  stats_.granted.add(granted);
  raise(stats_.active_max, policy_.active());
  return granted;
}

SLUICE_NOINLINE unsigned LeafQueue::grant_entered(Request** requests, unsigned granted,
                                                  unsigned count) {
  // Something waits. What may go of it is the owner's own: whatever waited before could not go.
  while (Request* request = policy_.next()) {
    request->state = RequestState::granted;
    requests[granted++] = request;
  }
  stats_.waited.add(count - granted);
  raise(stats_.waiting_max, policy_.waiting());
  return granted;
}

void LeafQueue::leave(Request* const* requests, unsigned count, RequestList& granted) {
  const std::lock_guard lock(mutex_);
  for (unsigned i = 0; i < count; ++i) policy_.done(requests[i]->io_class);
  if (policy_.waiting() > 0) grant_waiting(granted);
}

SLUICE_NOINLINE void LeafQueue::grant_waiting(RequestList& granted) {
  std::uint64_t count = 0;
  while (Request* request = policy_.next()) {
    request->state = RequestState::granted;
    granted.push_back(*request);
    ++count;
  }
  stats_.granted.add(count);
  raise(stats_.active_max, policy_.active());
}

void LeafQueue::withdraw(const Mailbox& owner, RequestList& out) {
  const std::lock_guard lock(mutex_);
  policy_.withdraw(owner, out);
}

void LeafQueue::read_stats(LeafStats& out) const {
  const std::lock_guard lock(mutex_);
#define LEAF_COUNTER(name, unit, help) out.name.set(stats_.name.load());
#include "scheduler/config/stats.def"
}

QueueLimits LeafQueue::limits() const {
  const std::lock_guard lock(mutex_);
  return policy_.limits();
}

std::uint32_t LeafQueue::active() const {
  const std::lock_guard lock(mutex_);
  return policy_.active();
}

std::uint32_t LeafQueue::waiting() const {
  const std::lock_guard lock(mutex_);
  return policy_.waiting();
}

}  // namespace sluice
