// What a power cut does to a model device: the fault model of model_crash.h.
#include "engine/devices/model_crash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "engine/devices/crash_oracle.h"
#include "engine/devices/model_rig.h"

namespace sluice {
namespace {

constexpr std::uint64_t kSector = 512;
constexpr std::uint64_t kSectors = 64;
using Stamp = CrashOracle::Stamp;

ModelConfig crashable_model() {
  ModelConfig config = exact_model();
  config.size_bytes = kSectors * kSector;
  config.channels = 4;
  config.jitter = 1.0;  // completions overtake each other
  config.crashable = true;
  return config;
}

void start_write(ModelRig& rig, unsigned slot, std::uint64_t from, std::uint64_t count,
                 Stamp stamp) {
  std::vector<std::byte>& buffer = rig.buffer(slot);
  buffer.resize(std::max<std::size_t>(buffer.size(), count * kSector));
  for (std::uint64_t at = 0; at < count * kSector; at += sizeof stamp) {
    std::memcpy(buffer.data() + at, &stamp, sizeof stamp);
  }
  rig.start(slot, Op::write, from * kSector, count * kSector);
}

void write(ModelRig& rig, std::uint64_t from, std::uint64_t count, Stamp stamp) {
  start_write(rig, 0, from, count, stamp);
  rig.finish();
  ASSERT_EQ(rig.result(), static_cast<std::int32_t>(count * kSector));
}

/// The stamp of every sector; a failure when a sector is a mixture.
std::vector<Stamp> read_all(ModelRig& rig) {
  rig.run(Op::read, 0, kSectors * kSector);
  EXPECT_EQ(rig.result(), static_cast<std::int32_t>(kSectors * kSector));
  std::vector<Stamp> stamps(kSectors);
  for (std::uint64_t i = 0; i < kSectors; ++i) {
    const std::byte* const sector = rig.buffer(0).data() + i * kSector;
    std::memcpy(&stamps[i], sector, sizeof(Stamp));
    for (std::uint64_t at = 0; at < kSector; at += sizeof(Stamp)) {
      EXPECT_EQ(std::memcmp(sector, sector + at, sizeof(Stamp)), 0) << "sector " << i;
    }
  }
  return stamps;
}

void crash(ModelRig& rig, std::uint64_t seed) {
  Prng prng(seed);
  rig.device().crash(prng);
}

/// In how many of 200 crashes, each after `before`, sector 0 held `stamp`.
template <typename Before>
unsigned crashes_that_leave(Stamp stamp, const ModelConfig& config, Before before) {
  unsigned count = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    ModelRig rig(config);
    before(rig);
    crash(rig, seed);
    rig.restart();
    count += read_all(rig)[0] == stamp ? 1 : 0;
  }
  return count;
}

TEST(ModelCrash, WhatAFlushCoversSurvives) {
  EXPECT_EQ(crashes_that_leave(7, crashable_model(),
                               [](ModelRig& rig) {
                                 write(rig, 0, 8, 6);
                                 write(rig, 0, 8, 7);
                                 rig.run(Op::flush, 0, 0);
                               }),
            200U);
  EXPECT_EQ(crashes_that_leave(0, crashable_model(),
                               [](ModelRig& rig) {
                                 write(rig, 0, 8, 7);
                                 rig.run(Op::trim, 0, 8 * kSector);
                                 rig.run(Op::data_sync, 0, 0);
                               }),
            200U);
}

/// Neither always nor never.
void expect_sometimes(unsigned count) {
  EXPECT_GT(count, 20U);
  EXPECT_LT(count, 180U);
}

TEST(ModelCrash, WhatNoFlushCoversMayBeLost) {
  expect_sometimes(
      crashes_that_leave(7, crashable_model(), [](ModelRig& rig) { write(rig, 0, 8, 7); }));
  expect_sometimes(crashes_that_leave(7, crashable_model(), [](ModelRig& rig) {
    write(rig, 0, 8, 7);
    rig.run(Op::flush, 0, 0);
    rig.run(Op::trim, 0, 8 * kSector);
  }));
}

TEST(ModelCrash, AFlushInFlightPromisesNothing) {
  expect_sometimes(crashes_that_leave(7, crashable_model(), [](ModelRig& rig) {
    write(rig, 0, 8, 7);
    rig.start(1, Op::flush, 0, 0);
    rig.clock().advance(kNsPerSecond);  // due, but nobody was told
  }));
}

TEST(ModelCrash, AFlushDoesNotCoverWhatEndsAfterItsCommit) {
  expect_sometimes(crashes_that_leave(7, crashable_model(), [](ModelRig& rig) {
    start_write(rig, 0, 0, 8, 7);
    rig.start(1, Op::flush, 0, 0);
    EXPECT_EQ(rig.finish().size(), 2U);
  }));
}

TEST(ModelCrash, AWriteInFlightMayReachTheMediaOrNot) {
  expect_sometimes(crashes_that_leave(7, crashable_model(),
                                      [](ModelRig& rig) { start_write(rig, 1, 0, 8, 7); }));
  // Also when its channel is gone, and only then is it seen.
  expect_sometimes(crashes_that_leave(7, crashable_model(), [](ModelRig& rig) {
    start_write(rig, 1, 0, 8, 7);
    rig.restart();
    EXPECT_EQ(read_all(rig)[0], 0U);
    rig.run(Op::flush, 0, 0);
  }));
}

TEST(ModelCrash, WithoutAVolatileCacheAWriteSurvivesItsCompletion) {
  ModelConfig config = crashable_model();
  config.write_cache = false;
  EXPECT_EQ(crashes_that_leave(7, config, [](ModelRig& rig) { write(rig, 0, 8, 7); }), 200U);
  expect_sometimes(
      crashes_that_leave(7, config, [](ModelRig& rig) { start_write(rig, 0, 0, 8, 7); }));
}

TEST(ModelCrash, RequestsInFlightEndWithAnErrorAndTheDeviceGoesOn) {
  ModelRig rig(crashable_model());
  start_write(rig, 0, 0, 8, 7);
  rig.start(1, Op::read, 0, kSector);
  rig.start(2, Op::flush, 0, 0);
  crash(rig, 1);
  EXPECT_EQ(rig.finish().size(), 3U);
  for (unsigned slot = 0; slot < 3; ++slot) EXPECT_EQ(rig.result(slot), -EIO);
  const std::vector<Stamp> after = read_all(rig);
  write(rig, 8, 8, 9);
  rig.run(Op::flush, 0, 0);
  crash(rig, 2);
  EXPECT_EQ(read_all(rig)[8], 9U);
  EXPECT_EQ(read_all(rig)[0], after[0]);
}

/// One life between two crashes: random writes, trims and flushes, several in flight.
void live(ModelRig& rig, CrashOracle& oracle, Prng& prng, Stamp& last_stamp) {
  constexpr unsigned kDepth = 6;
  std::vector<bool> busy(kDepth, false);
  const std::uint64_t steps = 5 + prng.below(60);
  for (std::uint64_t step = 0; step < steps; ++step) {
    const auto slot = static_cast<unsigned>(prng.below(kDepth));
    if (!busy[slot]) {
      busy[slot] = true;
      const std::uint64_t count = 1 + prng.below(12);
      const std::uint64_t from = prng.below(kSectors - count + 1);
      if (prng.chance(0.1)) {
        oracle.begin_flush(slot);
        rig.start(slot, Op::flush, 0, 0);
      } else if (prng.chance(0.1)) {
        oracle.begin_change(slot, from, count, 0);
        rig.start(slot, Op::trim, from * kSector, count * kSector);
      } else {
        oracle.begin_change(slot, from, count, ++last_stamp);
        start_write(rig, slot, from, count, last_stamp);
      }
    }
    rig.clock().advance(prng.below(60) * prng.below(20));
    for (const unsigned ended : rig.ended(static_cast<unsigned>(1 + prng.below(kDepth)))) {
      busy[ended] = false;
      if (rig.request(ended).op == Op::flush) {
        oracle.end_flush(ended);
      } else {
        oracle.end_change(ended);
      }
    }
  }
}

TEST(ModelCrash, EachSectorHoldsAVersionThatIsAllowed) {
  CrashOracle::Seen seen;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng prng(seed);
    ModelConfig config = crashable_model();
    config.seed = seed;
    ModelRig rig(config);
    CrashOracle oracle(kSectors);
    Stamp last_stamp = 0;
    for (int round = 0; round < 4; ++round) {
      live(rig, oracle, prng, last_stamp);
      rig.device().crash(prng);
      rig.restart();
      const std::vector<Stamp> found = read_all(rig);
      for (std::uint64_t i = 0; i < kSectors; ++i) {
        ASSERT_TRUE(oracle.may_hold(i, found[i])) << "sector " << i << " holds " << found[i];
      }
      oracle.crashed(found);
    }
    seen.lost += oracle.seen().lost;
    seen.newest += oracle.seen().newest;
    seen.older += oracle.seen().older;
    seen.in_flight += oracle.seen().in_flight;
    seen.torn += oracle.seen().torn;
    seen.clean += oracle.seen().clean;
  }
  // A gentle device would teach nothing.
  EXPECT_GT(seen.lost, 1000U);
  EXPECT_GT(seen.newest, 1000U);
  EXPECT_GT(seen.older, 1000U);
  EXPECT_GT(seen.in_flight, 1000U);
  EXPECT_GT(seen.torn, 500U);
  EXPECT_GT(seen.clean, 50U);
}

TEST(ModelCrash, ASeedGivesTheSameOutcomeAgain) {
  const auto outcome = [](std::uint64_t seed) {
    ModelRig rig(crashable_model());
    for (unsigned slot = 0; slot < 12; ++slot)
      start_write(rig, slot, std::uint64_t{slot} * 4, 8, slot + 1);
    rig.clock().advance(20);
    rig.ended(5);
    crash(rig, seed);
    rig.restart();
    return read_all(rig);
  };
  EXPECT_EQ(outcome(3), outcome(3));
  unsigned different = 0;
  for (std::uint64_t seed = 4; seed < 14; ++seed) different += outcome(seed) != outcome(3) ? 1 : 0;
  EXPECT_GT(different, 5U);
}

}  // namespace
}  // namespace sluice
