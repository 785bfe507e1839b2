#include "scheduler/queue/class_policy.h"

namespace sluice {

unsigned ClassPolicy::pick() const noexcept {
  if (waiting_total_ == 0 || active_total_ >= limits_.max_active) return kIoClasses;
  for (unsigned step = 1; step <= kIoClasses; ++step) {
    const unsigned c = (last_ + step) % kIoClasses;
    if (!waiting_[c].empty() && active_[c] < limits_.classes[c].min_active) return c;
  }
  for (unsigned c = 0; c < kIoClasses; ++c) {
    if (!waiting_[c].empty() && active_[c] < limits_.classes[c].max_active) return c;
  }
  return kIoClasses;
}

Request* ClassPolicy::next() {
  const unsigned c = pick();
  if (c == kIoClasses) return nullptr;
  last_ = c;
  Request& request = waiting_[c].front();
  waiting_[c].pop_front();
  --waiting_total_;
  ++active_[c];
  ++active_total_;
  return &request;
}

void ClassPolicy::withdraw(const Mailbox& owner, RequestList& out) {
  for (RequestList& list : waiting_) {
    RequestList others;
    while (!list.empty()) {
      Request& request = list.front();
      list.pop_front();
      (request.owner == &owner ? out : others).push_back(request);
    }
    list.swap(others);
  }
  waiting_total_ -= static_cast<std::uint32_t>(out.size());
}

}  // namespace sluice
