// ShortMutex keeps threads apart and loses no wake-up.
#include "scheduler/base/short_mutex.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

#include "scheduler/base/clock.h"

namespace sluice {
namespace {

/// `threads` add to a plain counter `rounds` times each; `inside(n)` runs under the mutex.
template <typename Inside>
void expect_exact_count(unsigned threads, unsigned rounds, Inside inside) {
  ShortMutex mutex;
  std::uint64_t count = 0;  // guarded by mutex; a data race here is what TSan would see
  bool busy = false;        // guarded by mutex
  unsigned intrusions = 0;  // guarded by mutex
  std::vector<std::thread> pool;
  for (unsigned t = 0; t < threads; ++t) {
    pool.emplace_back([&] {
      for (unsigned i = 0; i < rounds; ++i) {
        const std::lock_guard lock(mutex);
        if (busy) ++intrusions;
        busy = true;
        ++count;
        inside(count);
        busy = false;
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  EXPECT_EQ(count, std::uint64_t{threads} * rounds);
  EXPECT_EQ(intrusions, 0U);
}

TEST(ShortMutex, ExcludesThreadsInShortSections) {
  expect_exact_count(6, 30'000, [](std::uint64_t) {});
}

TEST(ShortMutex, WakesThoseWhoHadToSleep) {
  // Sections far longer than the spinning, so that the others do sleep.
  expect_exact_count(6, 60, [](std::uint64_t count) {
    if (count % 4 == 0) sleep_ns(200'000);
  });
}

TEST(ShortMutex, YieldingHoldersLoseNoWakeUp) {
  expect_exact_count(4, 4'000, [](std::uint64_t count) {
    if (count % 8 == 0) std::this_thread::yield();
  });
}

}  // namespace
}  // namespace sluice
