#include "scheduler/stack/leaf.h"

#include "scheduler/base/attributes.h"

namespace sluice {

SLUICE_NOINLINE bool Leaf::bypasses_now(unsigned mode, const Request& request) const noexcept {
  if (is_flush(request)) return true;
  if (mode == SLUICE_bypass_direct) return request.direct && request.op <= Op::write;
  if (request.important) return false;
  switch (hybrid_rule()) {
    case SLUICE_hybrid_rule_no_important:
      return important_waiting_.load(std::memory_order_relaxed) == 0;
    case SLUICE_hybrid_rule_class_empty:
      return !queue_->pressure().waits(static_cast<unsigned>(request.io_class));
    case SLUICE_hybrid_rule_idle: return busy_.load(std::memory_order_relaxed) == 0;
  }
  return false;
}

}  // namespace sluice
