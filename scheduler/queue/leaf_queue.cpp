#include "scheduler/queue/leaf_queue.h"

#include "scheduler/queue/classic_queue.h"
#include "scheduler/queue/fast_queue.h"

namespace sluice {

std::unique_ptr<LeafQueue> make_leaf_queue(enum sluice_queue kind, const QueueLimits& limits) {
  if (kind == SLUICE_queue_classic || needs_one_place(limits)) {
    return std::make_unique<ClassicQueue>(limits);
  }
  return std::make_unique<FastQueue>(limits);
}

}  // namespace sluice
