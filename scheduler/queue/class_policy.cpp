#include "scheduler/queue/class_policy.h"

namespace sluice {

void ClassPolicy::configure() {
  const QueueLimits& limits = picker_.limits();
  aggregator_.configure(limits.aggregation);
  picker_.watch(limits.by_offset);
  for (unsigned c = 0; c < kIoClasses; ++c) {
    lines_[c].configure({.by_offset = limits.by_offset && may_sort(static_cast<IoClass>(c)),
                         .bucket_bits = limits.bucket_bits,
                         .any_may_leave = aggregator_.on()});
  }
}

SLUICE_NOINLINE bool ClassPolicy::pass_watched(const Request& request) {
  if (!picker_.pass_watched(index(request))) return false;
  position_ = request.offset + request.length;
  return true;
}

void ClassPolicy::leave_line(Request& request) {
  const unsigned c = index(request);
  lines_[c].remove(request);
  --waiting_total_;
  note_emptied(c);
}

Request* ClassPolicy::next() {
  const unsigned c = picker_.pick(waiting_mask_);
  if (c == kIoClasses) return nullptr;
  picker_.take(c);
  Request& request = lines_[c].next(position_);
  leave_line(request);
  std::uint64_t end = request.offset + request.length;
  if (aggregator_.on()) {
    aggregator_.merge(request);
    for (Request* part = request.first_part; part != nullptr; part = part->next_part) {
      if (part != &request) leave_line(*part);
      end = part->offset + part->length;
    }
  }
  position_ = end;
  return &request;
}

void ClassPolicy::withdraw_all(const Mailbox* owner, RequestList& out) {
  for (unsigned c = 0; c < kIoClasses; ++c) {
    lines_[c].withdraw(owner, out, [this](Request& request) {
      --waiting_total_;
      if (aggregator_.on()) aggregator_.remove(request);
    });
    note_emptied(c);
  }
}

void ClassPolicy::withdraw(const Mailbox& owner, RequestList& out) { withdraw_all(&owner, out); }

void ClassPolicy::set_limits(const QueueLimits& limits) {
  RequestList moved;
  withdraw_all(nullptr, moved);
  // The old order may have been that of offsets.
  moved.sort([](const Request& a, const Request& b) { return a.arrived_ns < b.arrived_ns; });
  picker_.set_limits(limits);
  configure();
  while (!moved.empty()) {
    Request& request = moved.front();
    moved.pop_front();
    enqueue(request);
  }
}

}  // namespace sluice
