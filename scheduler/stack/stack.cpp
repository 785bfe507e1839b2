#include "scheduler/stack/stack.h"

#include <algorithm>
#include <cerrno>
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

Stack::~Stack() = default;

Stack::FinishedJob::FinishedJob(std::string path, const SessionConfig& used,
                                std::unique_ptr<JobStats> collected)
    : stats_json(std::move(path)), config(used), stats(std::move(collected)) {
  config.buffers = nullptr;
  config.tunables.stats_json = stats_json.data();
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
  ++use.sessions;
  sessions_.push_back(session.value().get());
  return std::move(session.value());
}

Status Stack::close_session(std::unique_ptr<Session> session) {
  session->drain();
  session->refresh_stats();
  const std::string kind = devices_.channel_kind(session->config().tunables);
  const char* const path = session->config().tunables.stats_json;
  std::unique_ptr<Courier> last;
  Status status = Done{};
  {
    const std::lock_guard lock(mutex_);
    std::erase(sessions_, session.get());
    if (path != nullptr) {
      finished_.emplace_back(path, session->config(), session->take_stats());
      status = write_whole_file(path, report_locked(path));
    }
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
    for (unsigned i = 0; i < session->config().depth; ++i) {
      const std::uint64_t issued = session->slot(i).issued_ns.load(std::memory_order_relaxed);
      if (issued == 0) continue;
      ++sum.count;
      sum.oldest_age_ns = std::max(sum.oldest_age_ns, now > issued ? now - issued : 0);
    }
  }
  return sum;
}

std::string Stack::report_locked(const std::string& stats_json) const {
  boost::json::array jobs;
  for (const FinishedJob& job : finished_) {
    if (stats_json == job.stats_json) jobs.push_back(job_report(job.config, *job.stats));
  }
  boost::json::array leaves;
  for (const auto& [key, leaf] : leaves_) leaves.push_back(leaf_report(*leaf));
  return pretty(boost::json::object{
      {"schema", kJsonSchema}, {"jobs", std::move(jobs)}, {"leaves", std::move(leaves)}});
}

}  // namespace sluice
