#include "scheduler/stack/overseer.h"

#include <algorithm>
#include <cstdio>

#include "scheduler/base/units.h"
#include "scheduler/stack/nudge.h"
#include "scheduler/stack/session.h"

namespace sluice {

namespace {

std::string seconds(std::uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", static_cast<double>(ns) / kNsPerSecond);
  return text;
}

std::string line(const Session& session, const Sighting& seen, const Deadman::Findings& found,
                 std::uint64_t now_ns, const char* what) {
  std::string out = "deadman: job " + session.config().job + ": " + word(seen.op);
  if (seen.length > 0) {
    out += " of " + std::to_string(seen.length) + " bytes at " + std::to_string(seen.offset);
  }
  const std::string path = session.path_of(seen);
  return out + " of " + (path.empty() ? "a closed file" : path) + " (" + name(seen.io_class) +
         (seen.path == Path::bypassed ? ", bypassed" : ", queued") + ") " + what + " " +
         seconds(now_ns - seen.issued_ns) + "; " + std::to_string(found.in_flight - 1) +
         " others in flight";
}

}  // namespace

Overseer::~Overseer() {
  if (alarm_ != nullptr) alarm_->stop();
  if (thread_.joinable()) thread_.join();
}

void Overseer::add_quietly(Session& session) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t now_ns = clock_.now_ns();
  watched_.push_back({&session, Deadman(session.deadman_limits(), session.slots().size()),
                      now_ns + session.deadman_limits().check_ns});
}

void Overseer::add(Session& session) {
  add_quietly(session);
  const std::lock_guard life(life_mutex_);
  if (thread_.joinable()) return;
  allow_nudges();
  alarm_ = std::make_unique<AlarmClock>();
  // In one step: a session that comes finds the thread either here or gone.
  thread_ = std::thread([this, alarm = alarm_.get()] {
    while (alarm->sleep(step())) {
    }
  });
}

void Overseer::remove(Session& session) {
  const std::lock_guard life(life_mutex_);
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(watched_, [&](const Watched& w) { return w.session == &session; });
    last = watched_.empty();
  }
  if (!last || !thread_.joinable()) return;
  alarm_->stop();
  thread_.join();
  thread_ = std::thread();
}

std::uint64_t Overseer::step() {
  const std::lock_guard lock(mutex_);
  const std::uint64_t now_ns = clock_.now_ns();
  std::uint64_t wait_ns = kTickNs;
  for (Watched& watched : watched_) {
    Session& session = *watched.session;
    const std::uint64_t check_ns = watched.deadman.limits().check_ns;
    if (now_ns >= watched.next_ns || session.hurried()) {
      const bool again = look(watched, now_ns);
      watched.next_ns = now_ns + (again ? std::min(kOrderTickNs, check_ns) : check_ns);
    }
    if (session.prod()) wait_ns = std::min(wait_ns, kOrderTickNs);
    if (watched.deadman.limits().deadman_ns != 0) {
      wait_ns = std::min(wait_ns, watched.next_ns - now_ns);
    }
  }
  return wait_ns;
}

bool Overseer::look(Watched& watched, std::uint64_t now_ns) {
  Session& session = *watched.session;
  const auto found = watched.deadman.look(session.slots(), now_ns, session.hurried());
  session.count_overdue(found.news.size());
  tell(watched, found, now_ns);
  for (const Sighting& seen : found.give_up) session.condemn(seen);
  if (found.prod) session.hasten();
  const std::uint64_t patience_ns = watched.deadman.limits().deadman_ns;
  if (patience_ns != 0 && now_ns - found.stuck_since_ns >= patience_ns) session.unblock();
  return found.look_again;
}

void Overseer::tell(const Watched& watched, const Deadman::Findings& found, std::uint64_t now_ns) {
  const Session& session = *watched.session;
  const std::size_t lines = std::min<std::size_t>(found.news.size(), kLinesMax);
  for (std::size_t i = 0; i < lines; ++i) {
    say_(line(session, found.news[i], found, now_ns, "has been at the device for"));
  }
  if (found.news.size() > lines) {
    say_("deadman: job " + session.config().job + ": and " +
         std::to_string(found.news.size() - lines) + " more I/Os");
  }
  if (found.still) say_(line(session, *found.still, found, now_ns, "is still at the device after"));
  unsigned given_up = 0;
  for (const Sighting& seen : found.give_up) {
    if (session.is_condemned(seen) || ++given_up > kLinesMax) continue;
    say_(line(session, seen, found, now_ns, "is given up with ETIMEDOUT, at the device for"));
  }
  if (given_up > kLinesMax) {
    say_("deadman: job " + session.config().job + ": and " + std::to_string(given_up - kLinesMax) +
         " more are given up");
  }
}

}  // namespace sluice
