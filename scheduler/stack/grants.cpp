#include "scheduler/stack/grants.h"

#include "scheduler/stack/mailbox.h"

namespace sluice {

void deliver_grants(Grants& grants) {
  while (!grants.others.empty()) {
    // A run of requests of one owner is one delivery.
    Mailbox* const owner = grants.others.front().owner;
    RequestList run;
    while (!grants.others.empty() && grants.others.front().owner == owner) {
      Request& request = grants.others.front();
      grants.others.pop_front();
      run.push_back(request);
    }
    owner->deliver_grants(run);
  }
  while (!grants.seats.empty()) {
    Seat& seat = grants.seats.front();
    grants.seats.pop_front();
    seat.unlist();
    seat.owner()->notify(seat);
    seat.end_notice();
  }
}

}  // namespace sluice
