// The files that the stack writes: stats_json= and trace=.
#pragma once

#include <boost/json.hpp>

#include <string>

#include "scheduler/base/result.h"
#include "scheduler/config/json.h"
#include "scheduler/stack/leaf.h"
#include "scheduler/stack/session.h"

namespace sluice {

/// What a job leaves behind, but for what it was asked to do.
struct JobResults {
  std::unique_ptr<JobStats> stats;
  std::vector<IoRecord> tail;
  std::uint64_t first_ns = 0;
};

boost::json::object job_report(const SessionConfig& config, const JobResults& results);
boost::json::object leaf_report(const Leaf& leaf);

/// Replaces the file in one step, so a reader never sees half of it.
/// `option` is the tunable that named the file, for the error.
Status write_whole_file(const std::string& option, const std::string& path,
                        const std::string& text);

/// Whether write_whole_file() would succeed; leaves nothing behind.
Status check_writable(const std::string& option, const std::string& path);

}  // namespace sluice
