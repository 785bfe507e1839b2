#include "scheduler/queue/write_scaling.h"

namespace sluice {

std::uint32_t scaled_write_max(const ClassLimits& limits, const DirtyRange& range,
                               const DirtyData& dirty) noexcept {
  __extension__ using Wide = unsigned __int128;  // bytes times I/Os
  if (dirty.max_bytes == 0) return limits.max_active;
  const auto percent = [&](unsigned share) {
    return static_cast<std::uint64_t>(Wide{dirty.max_bytes} * share / 100);
  };
  const std::uint64_t from = percent(range.min_percent);
  const std::uint64_t to = percent(range.max_percent);
  if (dirty.bytes < from) return limits.min_active;
  // As well where the bound is so small that both ends are one byte count.
  if (dirty.bytes >= to) return limits.max_active;
  const std::uint32_t room = limits.max_active - limits.min_active;
  return limits.min_active +
         static_cast<std::uint32_t>(Wide{dirty.bytes - from} * room / (to - from));
}

}  // namespace sluice
