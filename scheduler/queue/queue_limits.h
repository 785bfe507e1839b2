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

/// How background classes yield (background.h).
struct BackgroundLimits {
  std::uint32_t delay = 0;   ///< background I/Os that end undisturbed before the full maximum
  std::uint32_t credit = 0;  ///< background I/Os per interactive completion; 0: they don't yield
};

/// Shares of the bound on dirty data, in percent, between which the async-write maximum grows
/// (write_scaling.h). min < max.
struct DirtyRange {
  unsigned min_percent = 30;
  unsigned max_percent = 60;
};

/// What is merged (aggregate.h).
struct AggregationLimits {
  std::uint32_t size_bytes = 0;      ///< largest span; less than two bytes: nothing is merged
  std::uint32_t read_gap_bytes = 0;  ///< largest gap between two reads
};

struct QueueLimits {
  /// No limit. Chosen so that sums of limits don't overflow.
  static constexpr std::uint32_t kUnlimited = 1U << 30;

  std::array<ClassLimits, kIoClasses> classes{};
  std::uint32_t max_active = kUnlimited;  ///< all classes together
  BackgroundLimits background;
  DirtyRange dirty;
  bool by_offset = false;     ///< the order of the classes that may_sort() (waiting_line.h)
  unsigned bucket_bits = 29;  ///< log2 of the nanoseconds of a bucket of arrival time
  AggregationLimits aggregation;

  ClassLimits& operator[](IoClass c) { return classes[static_cast<unsigned>(c)]; }
  const ClassLimits& operator[](IoClass c) const { return classes[static_cast<unsigned>(c)]; }
};

/// The profile's limits, overridden by what the user set. The error names the tunables that
/// contradict each other: a minimum above its maximum, minimums that the user set above the cap. (A
/// profile's minimums may add up to more than the cap: the classes then take turns.)
/// `rotational`: what the device says of itself.
Result<QueueLimits> queue_limits(const Tunables& tunables, bool rotational = false);

}  // namespace sluice
