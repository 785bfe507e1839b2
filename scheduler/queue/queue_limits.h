// How many I/Os of each class a leaf may have at its device, and where the numbers come from.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "scheduler/base/result.h"
#include "scheduler/config/describe.h"
#include "scheduler/config/io_class.h"

namespace sluice {

/// min: served before others while below it. max: never more than this at once.
struct ClassLimits {
  std::uint32_t min_active = 1;
  std::uint32_t max_active = 1;
};

struct QueueLimits {
  /// No limit. Chosen so that sums of limits don't overflow.
  static constexpr std::uint32_t kUnlimited = 1U << 30;

  std::array<ClassLimits, kIoClasses> classes{};
  std::uint32_t max_active = kUnlimited;  ///< all classes together

  ClassLimits& operator[](IoClass c) { return classes[static_cast<unsigned>(c)]; }
  const ClassLimits& operator[](IoClass c) const { return classes[static_cast<unsigned>(c)]; }
};

/// The profile's limits, overridden by what the user set. The error names the tunables: a minimum
/// above its maximum. Minimums may add up to more than the cap: the classes then take turns.
Result<QueueLimits> queue_limits(const Tunables& tunables);

}  // namespace sluice
