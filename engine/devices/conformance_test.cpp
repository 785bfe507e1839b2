// A request's life, on every device: conformance.h.
#include "engine/devices/conformance.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

namespace sluice::conformance {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

TEST_P(Conformance, EachRequestEndsOnceWithItsLength) {
  const std::uint64_t block = rig().block_bytes();
  for (unsigned slot = 0; slot < kDepth; ++slot) {
    ASSERT_TRUE(rig().submit(slot, Op::read, slot * block, block));
  }
  rig().drain();
  for (unsigned slot = 0; slot < kDepth; ++slot) {
    EXPECT_EQ(rig().request(slot).result, static_cast<std::int32_t>(block));
  }
  EXPECT_TRUE(rig().collect(kDepth).empty());
}

TEST_P(Conformance, NothingEndsBeforePoll) {
  for (unsigned slot = 0; slot < kDepth; ++slot) {
    ASSERT_TRUE(rig().submit(slot, Op::read, 0, rig().block_bytes()));
  }
  ASSERT_EQ(rig().channel().commit(), 0);
  EXPECT_EQ(rig().channel().in_flight(), kDepth);
  for (unsigned slot = 0; slot < kDepth; ++slot) {
    EXPECT_EQ(rig().request(slot).result, Rig::kUntouched);
  }
}

TEST_P(Conformance, TakesItsDepthAndNoMore) {
  Rig wide(bed(), kDepth);
  const std::uint64_t block = wide.block_bytes();
  Request extra;
  extra.buffer = wide.buffer(0);
  extra.length = static_cast<std::uint32_t>(block);
  extra.target = &wide.target(0);
  for (int round = 0; round < 3; ++round) {
    while (const auto slot = wide.free_slot()) {
      ASSERT_TRUE(wide.submit(*slot, Op::write, *slot * block, block)) << *slot;
    }
    EXPECT_FALSE(wide.channel().submit(extra));
    ASSERT_EQ(wide.channel().commit(), 0);
    EXPECT_FALSE(wide.channel().submit(extra)) << "committed requests are still in flight";
    EXPECT_EQ(wide.channel().in_flight(), kDepth);
    while (wide.collect(1).empty()) std::this_thread::yield();
    const unsigned freed = *wide.free_slot();
    EXPECT_TRUE(wide.submit(freed, Op::read, 0, block)) << "one ended, so there is room for one";
    wide.drain();
  }
}

TEST_P(Conformance, LosesNothingInARandomMix) {
  const std::uint64_t seed = test_seed(20240601);
  SCOPED_TRACE("SLUICE_TEST_SEED=" + std::to_string(seed));
  Prng prng(seed);
  constexpr unsigned kRequests = 100'000;
  unsigned submitted = 0;
  unsigned ended = 0;
  std::vector<RandomIo> wanted(kDepth);
  const auto check = [&](const std::vector<unsigned>& slots) {
    for (const unsigned slot : slots) {
      const bool transfers = wanted[slot].op == Op::read || wanted[slot].op == Op::write;
      ASSERT_EQ(rig().request(slot).result,
                transfers ? static_cast<std::int32_t>(wanted[slot].length) : 0);
    }
    ended += static_cast<unsigned>(slots.size());
  };
  while (ended < kRequests && !HasFailure()) {
    for (std::uint64_t burst = prng.below(kDepth + 4); burst > 0; --burst) {
      const auto slot = rig().free_slot();
      if (!slot || submitted == kRequests) break;
      wanted[*slot] = random_io(prng, rig(), 16 * kKiB);
      const unsigned store = static_cast<unsigned>(prng.below(Testbed::kStores));
      ASSERT_TRUE(
          rig().submit(*slot, wanted[*slot].op, wanted[*slot].offset, wanted[*slot].length, store));
      ++submitted;
    }
    if (prng.chance(0.7)) {
      ASSERT_EQ(rig().channel().commit(), 0);
    }
    if (prng.chance(0.4) && rig().in_flight() > 0) {
      const auto want = static_cast<unsigned>(1 + prng.below(rig().in_flight()));
      const bool wakeable = prng.chance(0.2);
      ASSERT_EQ(rig().wait(want, wakeable), 0);
      const std::vector<unsigned> slots = rig().collect(kDepth);
      ASSERT_GE(slots.size(), wakeable ? 1U : want);
      check(slots);
    }
    if (prng.chance(0.5)) check(rig().collect(static_cast<unsigned>(prng.below(kDepth + 1))));
    if (submitted == kRequests) {
      ASSERT_EQ(rig().channel().commit(), 0);
    }
  }
  EXPECT_GT(rig().channel().counters().commits.load(), 0U);
}

TEST_P(Conformance, PollGivesNoMoreThanAsked) {
  for (unsigned slot = 0; slot < kDepth; ++slot) {
    ASSERT_TRUE(rig().submit(slot, Op::read, 0, rig().block_bytes()));
  }
  ASSERT_EQ(rig().wait(kDepth, false), 0);
  EXPECT_TRUE(rig().collect(0).empty());
  EXPECT_EQ(rig().collect(1).size(), 1U);
  EXPECT_EQ(rig().collect(3).size(), 3U);
  EXPECT_EQ(rig().collect(kDepth).size(), kDepth - 4);
  EXPECT_TRUE(rig().collect(kDepth).empty());
}

TEST_P(Conformance, WaitGivesAsManyAsWanted) {
  Prng prng(7);
  for (int round = 0; round < 500; ++round) {
    const auto count = static_cast<unsigned>(1 + prng.below(kDepth));
    for (unsigned i = 0; i < count; ++i) {
      ASSERT_TRUE(rig().submit(*rig().free_slot(), Op::read, 0, rig().block_bytes()));
    }
    if (prng.chance(0.5)) {  // wait() has to do it too
      ASSERT_EQ(rig().channel().commit(), 0);
    }
    const auto want = static_cast<unsigned>(1 + prng.below(count));
    ASSERT_EQ(rig().wait(want, false), 0);
    ASSERT_GE(rig().collect(kDepth).size(), want);
    rig().drain();
  }
}

TEST_P(Conformance, NothingToDoIsNoError) {
  EXPECT_EQ(rig().channel().commit(), 0);
  EXPECT_EQ(rig().channel().in_flight(), 0U);
  EXPECT_TRUE(rig().collect(kDepth).empty());
}

TEST_P(Conformance, WakeEndsTheNextWait) {
  rig().channel().wake();
  EXPECT_EQ(rig().wait(1, true), 0);  // a lost wake() hangs here
  rig().channel().wake();
  rig().channel().wake();
  EXPECT_EQ(rig().wait(1, true), 0);
}

TEST_P(Conformance, WakeEndsTheWaitUnderWay) {
  Rig& mine = rig();
  std::atomic<bool> woken{false};
  std::thread waker([&] {
    std::this_thread::sleep_for(milliseconds(30));
    woken = true;
    mine.channel().wake();
  });
  unsigned returns = 0;
  while (!woken) {
    EXPECT_EQ(mine.wait(1, true), 0);
    ++returns;
  }
  waker.join();
  EXPECT_LE(returns, 2U) << "wait() does not sleep";
}

TEST_P(Conformance, NoWakeIsLost) {
  Rig& mine = rig();
  constexpr int kRounds = 5000;
  std::atomic<int> sent{0};
  std::atomic<int> received{0};
  // Both sides dawdle, so that wake() meets every moment on the other's way into its sleep.
  const auto dawdle = [&](Prng& prng) {
    for (std::uint64_t spin = prng.below(200); spin > 0; --spin) sent.load();
  };
  std::thread waker([&] {
    Prng prng(3);
    for (int round = 1; round <= kRounds; ++round) {
      dawdle(prng);
      sent = round;
      mine.channel().wake();
      const auto deadline = steady_clock::now() + std::chrono::seconds(10);
      for (unsigned spin = 0; received.load() != round; ++spin) {
        if (spin > 1000) std::this_thread::yield();
        if (steady_clock::now() < deadline) continue;
        ADD_FAILURE() << "lost in round " << round;
        sent = kRounds;
        mine.channel().wake();
        return;
      }
    }
  });
  Prng prng(4);
  for (int round = 1; round <= kRounds; ++round) {
    dawdle(prng);
    while (sent.load() < round) ASSERT_EQ(mine.wait(1, true), 0);
    received = round;
  }
  waker.join();
}

TEST_P(Conformance, WakesMixWithRequests) {
  Rig& mine = rig();
  std::atomic<bool> stop{false};
  std::thread waker([&] {
    while (!stop) {
      mine.channel().wake();
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });
  for (int round = 0; round < 2000 && !HasFailure(); ++round) {
    ASSERT_TRUE(mine.submit(*mine.free_slot(), Op::read, 0, mine.block_bytes()));
    if (mine.in_flight() < kDepth / 2) continue;
    ASSERT_EQ(mine.wait(1, true), 0);
    mine.collect(kDepth);
    if (mine.in_flight() == kDepth) mine.drain();
  }
  stop = true;
  waker.join();
  mine.drain();
}

TEST_P(Conformance, AChannelMayGoWithRequestsInFlight) {
  constexpr auto kOurs = std::byte{0xC3};
  const std::uint64_t block = rig().block_bytes();
  for (int round = 0; round < 20; ++round) {
    Rig doomed(bed(), kDepth);
    for (unsigned slot = 0; slot < kDepth; ++slot) {
      if (slot == kDepth / 2) {  // the rest stays staged
        ASSERT_EQ(doomed.channel().commit(), 0);
      }
      const Op op = round % 2 == 0 ? Op::read : Op::write;
      ASSERT_TRUE(doomed.submit(slot, op, slot * block, block));
    }
    const auto start = steady_clock::now();
    doomed.drop_channel();
    EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(5));
    // From here on the memory is somebody else's.
    for (unsigned slot = 0; slot < kDepth; ++slot) {
      std::memset(doomed.buffer(slot), static_cast<int>(kOurs), block);
    }
    std::this_thread::sleep_for(milliseconds(2));
    for (unsigned slot = 0; slot < kDepth; ++slot) {
      EXPECT_TRUE(std::all_of(doomed.buffer(slot), doomed.buffer(slot) + block,
                              [](std::byte byte) { return byte == kOurs; }));
    }
    for (unsigned slot = 0; slot < kDepth; ++slot) {
      EXPECT_EQ(doomed.request(slot).result, Rig::kUntouched);
    }
  }
  EXPECT_EQ(rig().run(Op::read, 0, block), static_cast<std::int32_t>(block));
}

INSTANTIATE_TEST_SUITE_P(Devices, Conformance, testing::ValuesIn(devices_under_test()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace sluice::conformance
