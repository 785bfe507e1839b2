// Overseer: the service thread that looks at every job's I/O in flight while the job goes on, says
// what hangs, and has given up what is lost (deadman.h says when).
//
// It reads the slots and orders; the thread that issued an I/O carries the order out. A job that
// blocks in the kernel is nudged until it has.
#pragma once

#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "scheduler/base/alarm_clock.h"
#include "scheduler/base/clock.h"
#include "scheduler/stack/deadman.h"

namespace sluice {

class Session;

/// Threads: any. The thread lives from the first add() to the last remove().
class Overseer {
 public:
  using Say = std::function<void(const std::string&)>;
  /// How often it looks for interrupts; and how often while an order isn't carried out yet.
  static constexpr std::uint64_t kTickNs = 250'000'000;
  static constexpr std::uint64_t kOrderTickNs = 10'000'000;
  /// Of one job in one look; the rest is counted.
  static constexpr unsigned kLinesMax = 4;

  Overseer(const Clock& clock, Say say) : clock_(clock), say_(std::move(say)) {}
  ~Overseer();
  Overseer(const Overseer&) = delete;
  Overseer& operator=(const Overseer&) = delete;

  /// From now on until remove() the session is looked at. May throw.
  void add(Session& session);
  void remove(Session& session);

  /// One look at those whose time has come; how long until the next. Called by the thread; by tests
  /// that step it themselves, with add_quietly() in place of add().
  std::uint64_t step();
  void add_quietly(Session& session);

 private:
  struct Watched {
    Session* session;
    Deadman deadman;
    std::uint64_t next_ns = 0;
  };

  /// True: look again soon.
  bool look(Watched& watched, std::uint64_t now_ns);
  void tell(const Watched& watched, const Deadman::Findings& found, std::uint64_t now_ns);

  const Clock& clock_;
  const Say say_;
  std::mutex mutex_;
  std::list<Watched> watched_;  // guarded by mutex_
  std::mutex life_mutex_;       // of the next two: never held by the thread
  std::thread thread_;
  std::unique_ptr<AlarmClock> alarm_;
};

}  // namespace sluice
