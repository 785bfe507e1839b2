#include "scheduler/stack/merged.h"

#include <algorithm>
#include <cerrno>

#include "scheduler/stack/leaf.h"
#include "scheduler/stack/mailbox.h"

namespace sluice {

void issue_parts(const Request& head, std::uint64_t now_ns, unsigned ahead) {
  for (Request* part = head.first_part; part != nullptr; part = part->next_part) {
    if (part == &head) continue;
    if (part->important) part->target->leaf->important_goes();
    part->path = Path::merged;
    part->state = RequestState::at_device;
    // Not on its owner's channel, who therefore doesn't give it up alone.
    part->by_courier = true;
    part->ahead = static_cast<std::uint16_t>(ahead);
    // Whoever issues it may have read the clock before another job handed this in.
    part->issued_ns.store(std::max(now_ns, part->arrived_ns), std::memory_order_release);
  }
}

namespace {

void deliver(Request& request, std::uint64_t issued_ns, std::uint64_t found_ns) {
  request.state = RequestState::found;
  request.carried_ns = issued_ns;
  request.found_ns = found_ns;
  RequestList found;
  found.push_back(request);
  request.owner->deliver_found(found);
}

void enter_again(Request& part, Grants& out) {
  Leaf& leaf = *part.target->leaf;
  if (part.important) leaf.important_waits();
  Request* const one = &part;
  Grants grants;
  leaf.queue().enter(*part.target->seat, &one, 1, grants);
  out.others.splice_after(out.others.last(), grants.own);
  out.others.splice_after(out.others.last(), grants.others);
}

}  // namespace

void tell_owner(Request& request, std::uint64_t found_ns) {
  deliver(request, request.issued_ns.exchange(0, std::memory_order_relaxed), found_ns);
}

void end_aggregate(Request& head, std::uint64_t found_ns, Grants& out) {
  RequestList again;
  settle_parts(
      head,
      [&](Request& part) {
        const std::uint64_t issued = part.issued_ns.exchange(0, std::memory_order_relaxed);
        part.path = Path::merged;  // also the head's: its permission was given back
        deliver(part, issued, found_ns);
      },
      [&](Request& part) {
        part.issued_ns.store(0, std::memory_order_relaxed);
        part.by_courier = false;
        again.push_back(part);
      });
  while (!again.empty()) {
    Request& part = again.front();
    again.pop_front();
    enter_again(part, out);
  }
}

void abandon(Request& head, std::uint64_t now_ns) {
  Request* part = is_aggregate(head) ? head.first_part : &head;
  while (part != nullptr) {
    Request& request = *part;
    part = request.next_part;
    request.result = -ETIMEDOUT;
    request.abandoned = true;
    deliver(request, request.issued_ns.load(std::memory_order_relaxed), now_ns);
  }
}

bool is_condemned(const Request& head) noexcept {
  bool found = false;
  for_each_part(head, [&](const Request& part) {
    const std::uint64_t condemned = part.condemned_ns.load(std::memory_order_relaxed);
    found =
        found || (condemned != 0 && condemned == part.issued_ns.load(std::memory_order_relaxed));
  });
  return found;
}

void forget_parts(const Request& head) noexcept {
  for (Request* part = head.first_part; part != nullptr; part = part->next_part) {
    part->issued_ns.store(0, std::memory_order_relaxed);
  }
}

}  // namespace sluice
