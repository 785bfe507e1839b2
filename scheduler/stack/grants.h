// Where grants go that a completion freed: to their owners.
#pragma once

#include "scheduler/queue/leaf_queue.h"

namespace sluice {

/// Tells the owners of what a queue let go, `own` excepted: that is the caller's.
void deliver_grants(Grants& grants);

}  // namespace sluice
