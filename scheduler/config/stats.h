// The statistics of the stack as structs, generated from stats.def.
//
// Threads: written by one thread, the job's (leaf counters: under the leaf's lock); counters may be
// read by anyone, histograms only once the job has ended.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "scheduler/base/counter.h"
#include "scheduler/base/histogram.h"
#include "scheduler/base/result.h"
#include "scheduler/config/io_class.h"

namespace sluice {

struct ClassStats {
#define CLASS_COUNTER(name, unit, help) Counter name;
#define CLASS_HISTOGRAM(name, unit, help) Histogram name;
#include "scheduler/config/stats.def"
};

struct JobStats {
  std::array<ClassStats, kIoClasses> classes;
#define JOB_COUNTER(name, unit, help) Counter name;
#include "scheduler/config/stats.def"
};

struct LeafStats {
#define LEAF_COUNTER(name, unit, help) Counter name;
#include "scheduler/config/stats.def"
};

/// One row of the table, for sluice-describe.
struct StatRow {
  std::string_view name;
  std::string_view layer;  ///< "class", "job" or "leaf"
  std::string_view kind;   ///< "counter" or "histogram"
  std::string_view unit;
  std::string_view help;
};
std::span<const StatRow> stat_rows();

}  // namespace sluice
