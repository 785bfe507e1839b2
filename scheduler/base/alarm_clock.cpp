#include "scheduler/base/alarm_clock.h"

#include <chrono>

namespace sluice {

bool AlarmClock::sleep(std::uint64_t duration_ns) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, std::chrono::nanoseconds(duration_ns),
                            [this] { return stopped_; });
}

void AlarmClock::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace sluice
