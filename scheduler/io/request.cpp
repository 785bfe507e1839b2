#include "scheduler/io/request.h"

#include <cstddef>

namespace sluice {

// What every I/O touches is in two cache lines: of a slot array of depth 256 that stays in L1.
static_assert(offsetof(Request, order_key) <= 128);
static_assert(sizeof(Request) <= 192);

}  // namespace sluice
