// Where grants go that a completion freed: to their owners.
#pragma once

#include "scheduler/io/request.h"

namespace sluice {

/// Moves each request of `granted` to its owner's mailbox, except those of `self` (may be null),
/// which are moved to `own` in order.
void deliver_grants(RequestList& granted, const Mailbox* self, RequestList& own);

}  // namespace sluice
