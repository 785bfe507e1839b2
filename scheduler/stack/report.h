// The statistics file of stats_json=.
#pragma once

#include <boost/json.hpp>

#include <string>

#include "scheduler/base/result.h"
#include "scheduler/config/json.h"
#include "scheduler/stack/leaf.h"
#include "scheduler/stack/session.h"

namespace sluice {

boost::json::object job_report(const SessionConfig& config, const JobStats& stats);
boost::json::object leaf_report(const Leaf& leaf);

/// Replaces the file in one step, so a reader never sees half of it.
Status write_whole_file(const std::string& path, const std::string& text);

/// Whether write_whole_file() would succeed; leaves nothing behind.
Status check_writable(const std::string& path);

}  // namespace sluice
