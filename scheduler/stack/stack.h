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
#include "scheduler/config/owned_tunables.h"
#include "scheduler/io/device_source.h"
#include "scheduler/stack/courier.h"
#include "scheduler/stack/leaf.h"
#include "scheduler/stack/overseer.h"
#include "scheduler/stack/report.h"
#include "scheduler/stack/session.h"

namespace sluice {

/// Threads: any. Lives as long as the process: leaves and their queues outlast single jobs, so that
/// a job after a stonewall finds the model device with the data that the one before wrote.
class Stack {
 public:
  /// `say` gets lines for the user while jobs run, from any thread.
  Stack(const Clock& clock, DeviceSource& devices, Overseer::Say say = say_on_stderr);
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

  static void say_on_stderr(const std::string& line);

 private:
  std::string report_locked(const std::string& stats_json) const;
  std::string trace_locked(const std::string& path) const;
  Status write_files(Session& session);

  /// For the report.
  struct FinishedJob {
    explicit FinishedJob(Session& session);
    FinishedJob(const FinishedJob&) = delete;
    FinishedJob& operator=(const FinishedJob&) = delete;

    OwnedTunables tunables;
    SessionConfig config;
    JobResults results;
    TracedJob trace;
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
  std::list<std::unique_ptr<Session>> buried_;  ///< with I/O that a device may still do
  Overseer overseer_;                           ///< last: its thread ends before all else goes
  std::list<FinishedJob> finished_;             ///< those with stats_json= or trace=
};

}  // namespace sluice
