#include "scheduler/stack/grants.h"

#include "scheduler/stack/mailbox.h"

namespace sluice {

void deliver_grants(RequestList& granted, const Mailbox* self, RequestList& own) {
  while (!granted.empty()) {
    // A run of requests of one owner is one delivery.
    Mailbox* const owner = granted.front().owner;
    RequestList run;
    while (!granted.empty() && granted.front().owner == owner) {
      Request& request = granted.front();
      granted.pop_front();
      run.push_back(request);
    }
    if (owner == self) {
      own.splice_after(own.last(), run);
    } else {
      owner->deliver_grants(run);
    }
  }
}

}  // namespace sluice
