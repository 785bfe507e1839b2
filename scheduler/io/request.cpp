#include "scheduler/io/request.h"

namespace sluice {

// Two cache lines: a slot array of depth 256 stays in L1.
static_assert(sizeof(Request) <= 128);

}  // namespace sluice
