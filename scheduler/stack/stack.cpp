#include "scheduler/stack/stack.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "scheduler/queue/queue_limits.h"
#include "scheduler/stack/report.h"

namespace sluice {

namespace {

// Absolute first: of a relative path whose file is yet to be laid out nothing could be resolved.
std::string resolved(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  if (error) return path;
  const auto canonical = std::filesystem::weakly_canonical(absolute, error);
  return error ? path : canonical.string();
}

std::string list(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ", ") + item;
  return out;
}

}  // namespace

Stack::Stack(const Clock& clock, DeviceSource& devices, Overseer::Say say)
    : clock_(clock), devices_(devices), overseer_(clock, std::move(say)) {}

Stack::~Stack() = default;

void Stack::say_on_stderr(const std::string& line) {
  std::fprintf(stderr, "sluice: %s\n", line.c_str());
}

Stack::FinishedJob::FinishedJob(Session& session)
    : tunables(session.config().tunables),
      config(session.config()),
      results{nullptr, session.tail(), session.first_ns()},
      trace{session.config().job, session.take_trace()} {
  results.stats = session.take_stats();
  config.buffers = nullptr;
  config.tunables = tunables.get();
}

Result<Leaf*> Stack::join(const std::string& path, const Tunables& tunables,
                          const std::string& job) {
  const std::lock_guard lock(mutex_);
  const std::string key = resolved(path);
  if (const auto found = leaves_.find(key); found != leaves_.end()) {
    Leaf& leaf = *found->second;
    const auto unlike = differences(leaf.tunables(), tunables, TunableScope::leaf);
    if (!unlike.empty()) {
      return Error{EINVAL, "jobs " + leaf.first_job() + " and " + job + " share " + key +
                               " but differ in " + list(unlike) +
                               "; give both the same value, or each a file of its own"};
    }
    return &leaf;
  }
  auto handle = devices_.open(tunables, key);
  if (!handle) return Error{handle.error().code, "job " + job + ": " + handle.error().message};
  auto limits = queue_limits(tunables, handle.value().device->capabilities().rotational);
  if (!limits) return Error{limits.error().code, "job " + job + ": " + limits.error().message};
  // One way to open channels for all leaves of a kind, so that a job can have many files.
  auto& channels = channels_[devices_.channel_kind(tunables)];
  if (channels == nullptr) channels = handle.value().channels;
  handle.value().channels = channels;
  auto leaf = std::make_unique<Leaf>(key, job, tunables, limits.value(), std::move(handle.value()));
  return leaves_.emplace(key, std::move(leaf)).first->second.get();
}

Result<std::unique_ptr<Session>> Stack::open_session(const SessionConfig& config,
                                                     std::string& note) {
  const std::lock_guard lock(mutex_);
  const std::string kind = devices_.channel_kind(config.tunables);
  auto& channels = channels_[kind];
  if (channels == nullptr) {
    // No leaf yet: the files come later (read_iolog).
    auto handle = devices_.open(config.tunables, "");
    if (!handle) return handle.error();
    channels = handle.value().channels;
  }
  CourierUse& use = couriers_[kind];
  if (use.courier == nullptr) use.courier = std::make_unique<Courier>(channels, clock_);
  use.courier->prepare(use.sessions + 1);
  auto session = Session::open(config, clock_, {nullptr, channels}, *use.courier, note);
  if (!session) {
    if (use.sessions == 0) use.courier.reset();
    return session.error();
  }
  overseer_.add(*session.value());
  ++use.sessions;
  sessions_.push_back(session.value().get());
  return std::move(session.value());
}

Status Stack::close_session(std::unique_ptr<Session> session) {
  session->drain();
  overseer_.remove(*session);
  session->refresh_stats();
  const std::string kind = devices_.channel_kind(session->config().tunables);
  std::unique_ptr<Courier> last;
  Status status = Done{};
  {
    const std::lock_guard lock(mutex_);
    std::erase(sessions_, session.get());
    status = write_files(*session);
  }
  if (session->abandoned() > 0) {
    session->bury();
    const std::lock_guard lock(mutex_);
    buried_.push_back(std::move(session));
  }
  session.reset();
  // Only now: whoever counts down to nothing destroys the courier, which our session still used.
  const std::lock_guard lock(mutex_);
  CourierUse& use = couriers_[kind];
  if (--use.sessions == 0) last = std::move(use.courier);
  return status;
}

Stack::InFlight Stack::in_flight() const {
  const std::lock_guard lock(mutex_);
  InFlight sum;
  const std::uint64_t now = clock_.now_ns();
  for (const Session* session : sessions_) {
    for (const Request& slot : session->slots()) {
      const std::uint64_t issued = slot.issued_ns.load(std::memory_order_relaxed);
      if (issued == 0) continue;
      ++sum.count;
      sum.oldest_age_ns = std::max(sum.oldest_age_ns, now > issued ? now - issued : 0);
    }
  }
  return sum;
}

Status Stack::write_files(Session& session) {
  const Tunables& wanted = session.config().tunables;
  if (wanted.stats_json == nullptr && wanted.trace == nullptr) return Done{};
  finished_.emplace_back(session);
  if (wanted.stats_json != nullptr) {
    Status status =
        write_whole_file("stats_json", wanted.stats_json, report_locked(wanted.stats_json));
    if (!status) return status;
  }
  if (wanted.trace == nullptr) return Done{};
  return write_whole_file("trace", wanted.trace, trace_locked(wanted.trace));
}

std::string Stack::trace_locked(const std::string& path) const {
  std::vector<const TracedJob*> jobs;
  for (const FinishedJob& job : finished_) {
    const char* const named = job.config.tunables.trace;
    if (named != nullptr && path == named) jobs.push_back(&job.trace);
  }
  return trace_text(jobs);
}

std::string Stack::report_locked(const std::string& stats_json) const {
  boost::json::array jobs;
  for (const FinishedJob& job : finished_) {
    const char* const named = job.config.tunables.stats_json;
    if (named != nullptr && stats_json == named) {
      jobs.push_back(job_report(job.config, job.results));
    }
  }
  boost::json::array leaves;
  for (const auto& [key, leaf] : leaves_) leaves.push_back(leaf_report(*leaf));
  return pretty(boost::json::object{
      {"schema", kJsonSchema}, {"jobs", std::move(jobs)}, {"leaves", std::move(leaves)}});
}

}  // namespace sluice
