#include "scheduler/base/tsc_clock.h"

#include <gtest/gtest.h>

#include "scheduler/base/units.h"

namespace sluice {
namespace {

TEST(TscClock, NeverRunsBackwards) {
  const auto clock = TscClock::calibrate();
  if (clock == nullptr) GTEST_SKIP() << "no invariant time-stamp counter here";
  std::uint64_t last = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t now = clock->now_ns();
    EXPECT_GE(now, last);
    EXPECT_NE(now, 0U);
    last = now;
  }
}

TEST(TscClock, AgreesWithTheMonotonicClockOverASleep) {
  const auto clock = TscClock::calibrate();
  if (clock == nullptr) GTEST_SKIP() << "no invariant time-stamp counter here";
  const MonotonicClock reference;
  // The reads around the sleep can be preempted; the best of a few tries can't all be.
  double best = 1.0;
  for (int i = 0; i < 10; ++i) {
    const std::uint64_t r0 = reference.now_ns();
    const std::uint64_t t0 = clock->now_ns();
    sleep_ns(20 * kNsPerMs);
    const std::uint64_t r1 = reference.now_ns();
    const std::uint64_t t1 = clock->now_ns();
    const double ratio = static_cast<double>(t1 - t0) / static_cast<double>(r1 - r0);
    best = std::min(best, std::abs(ratio - 1.0));
  }
  EXPECT_LT(best, 0.001);
}

}  // namespace
}  // namespace sluice
