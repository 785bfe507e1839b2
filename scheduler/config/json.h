// The two tables and the statistics as JSON: what the harness learns of the C++ side.
#pragma once

#include <boost/json.hpp>

#include "scheduler/config/describe.h"
#include "scheduler/config/stats.h"

namespace sluice {

/// Version of the documents below; raised when a key changes its meaning or goes.
inline constexpr int kJsonSchema = 1;

/// {"schema", "release", "tunables": […], "stats": […]}: sluice-describe's document.
boost::json::object describe_json(std::string_view release);

boost::json::object to_json(const Histogram& histogram);
boost::json::object to_json(const JobStats& stats);
boost::json::object to_json(const LeafStats& stats);
/// Every tunable by name, as fio would print it.
boost::json::object to_json(const Tunables& tunables);

/// With two-space indentation, for files that people read.
std::string pretty(const boost::json::value& value);

}  // namespace sluice
