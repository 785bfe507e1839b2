#include "scheduler/base/clock.h"

#include <sys/resource.h>
#include <time.h>

#include "scheduler/base/units.h"

namespace sluice {

std::uint64_t MonotonicClock::now_ns() const noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(now.tv_nsec);
}

namespace {
std::uint64_t to_ns(const timeval& time) noexcept {
  return static_cast<std::uint64_t>(time.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(time.tv_usec) * kNsPerUs;
}
}  // namespace

ThreadCpu thread_cpu() noexcept {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return {to_ns(usage.ru_utime), to_ns(usage.ru_stime)};
}

void sleep_ns(std::uint64_t duration_ns) noexcept {
  const timespec duration{static_cast<time_t>(duration_ns / kNsPerSecond),
                          static_cast<long>(duration_ns % kNsPerSecond)};
  nanosleep(&duration, nullptr);
}

}  // namespace sluice
