// AlarmClock: a sleep that another thread can end for good.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace sluice {

/// Threads: any.
class AlarmClock {
 public:
  /// False: it was stopped, maybe before.
  bool sleep(std::uint64_t duration_ns);
  void stop();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
};

}  // namespace sluice
