#include "scheduler/queue/class_policy.h"

namespace sluice {

Request* ClassPolicy::next() {
  const unsigned c = picker_.pick(waiting_mask_);
  if (c == kIoClasses) return nullptr;
  picker_.take(c);
  Request& request = waiting_[c].front();
  waiting_[c].pop_front();
  --waiting_total_;
  note_emptied(c);
  return &request;
}

void ClassPolicy::withdraw(const Mailbox& owner, RequestList& out) {
  for (unsigned c = 0; c < kIoClasses; ++c) {
    RequestList others;
    while (!waiting_[c].empty()) {
      Request& request = waiting_[c].front();
      waiting_[c].pop_front();
      (request.owner == &owner ? out : others).push_back(request);
    }
    waiting_[c].swap(others);
    note_emptied(c);
  }
  waiting_total_ -= static_cast<std::uint32_t>(out.size());
}

}  // namespace sluice
