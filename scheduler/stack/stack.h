// Stack: what the jobs of one process share. The only header of the scheduler that engine/fio uses
// beside the tunables.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "scheduler/base/clock.h"
#include "scheduler/io/device_source.h"
#include "scheduler/stack/courier.h"
#include "scheduler/stack/leaf.h"
#include "scheduler/stack/session.h"

namespace sluice {

/// Threads: any. Lives as long as the process: leaves and their queues outlast single jobs, so that
/// a job after a stonewall finds the model device with the data that the one before wrote.
class Stack {
 public:
  Stack(const Clock& clock, DeviceSource& devices) : clock_(clock), devices_(devices) {}
  ~Stack();

  /// The leaf of `path` (resolved: two names of one file are one leaf), made at the first call.
  /// Errors name both jobs when their leaf tunables differ, or the tunable that can't be.
  Result<Leaf*> join(const std::string& path, const Tunables& tunables, const std::string& job);

  Result<std::unique_ptr<Session>> open_session(const SessionConfig& config, std::string& note);
  /// Ends the session, keeps its statistics, and writes the file of its stats_json= if it has one.
  Status close_session(std::unique_ptr<Session> session);

  /// I/O at devices right now, from the in-flight tables of all sessions.
  struct InFlight {
    unsigned count = 0;
    std::uint64_t oldest_age_ns = 0;
  };
  InFlight in_flight() const;

 private:
  std::string report_locked(const std::string& stats_json) const;

  /// For the report. Owns the only text among the tunables: fio frees its own with the job.
  struct FinishedJob {
    FinishedJob(std::string path, const SessionConfig& used, std::unique_ptr<JobStats> collected);
    FinishedJob(const FinishedJob&) = delete;
    FinishedJob& operator=(const FinishedJob&) = delete;

    std::string stats_json;
    SessionConfig config;
    std::unique_ptr<JobStats> stats;
  };

  const Clock& clock_;
  DeviceSource& devices_;
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Leaf>> leaves_;
  std::map<std::string, std::shared_ptr<ChannelFactory>> channels_;  ///< by kind of channel
  struct CourierUse {
    std::unique_ptr<Courier> courier;
    unsigned sessions = 0;
  };
  std::map<std::string, CourierUse> couriers_;  ///< by kind of channel
  std::vector<Session*> sessions_;
  std::list<FinishedJob> finished_;  ///< those with stats_json=
};

}  // namespace sluice
