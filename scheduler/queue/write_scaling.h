// How many async writes may be at the device, by the share of dirty data: few while there is
// little, so that reads stay quick; all that the class may have before writers have to be
// throttled. After OpenZFS (vdev_queue_max_async_writes). Pure.
#pragma once

#include <cstdint>

#include "scheduler/queue/queue_limits.h"

namespace sluice {

/// Dirty data and its bound, in bytes. max_bytes 0: not known, and then nothing is held back.
struct DirtyData {
  std::uint64_t bytes = 0;
  std::uint64_t max_bytes = 0;
};

/// The maximum of the class: its min_active up to range.min_percent, its max_active from
/// range.max_percent on, and linear in between.
std::uint32_t scaled_write_max(const ClassLimits& limits, const DirtyRange& range,
                               const DirtyData& dirty) noexcept;

}  // namespace sluice
