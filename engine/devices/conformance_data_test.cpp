// The bytes, on every device that keeps them: conformance.h.
#include <algorithm>
#include <cstring>
#include <thread>

#include "engine/devices/conformance.h"
#include "engine/devices/stamped_blocks.h"

namespace sluice::conformance {
namespace {

#define SKIP_UNLESS_DATA_IS_STORED() \
  if (!stores_data()) GTEST_SKIP() << "this device keeps no data"

/// Random reads, writes and trims in [first, first + length) of one store, checked against stamps.
/// Requests that change data never overlap anything in flight but reads that began later.
void check_integrity(Rig& rig, unsigned store, std::uint64_t first, std::uint64_t length,
                     unsigned requests, std::uint64_t seed) {
  const std::uint64_t block = rig.block_bytes();
  Prng prng(seed);
  StampedBlocks blocks(static_cast<std::uint32_t>(block), length / block);
  struct InFlight {
    Op op = Op::read;
    std::uint64_t from = 0;
    std::uint64_t count = 0;
    StampedBlocks::Candidates candidates;  // of a read
  };
  std::vector<InFlight> at(rig.depth());
  const auto settle = [&](unsigned max) {
    for (const unsigned slot : rig.collect(max)) {
      const InFlight& io = at[slot];
      const bool transfers = io.op == Op::read || io.op == Op::write;
      ASSERT_EQ(rig.request(slot).result,
                transfers ? static_cast<std::int32_t>(io.count * block) : 0);
      if (io.op == Op::read) {
        ASSERT_EQ(blocks.first_wrong(io.candidates, rig.buffer(slot)), std::nullopt)
            << "from block " << io.from << " on";
        blocks.end_read(io.from, io.count);
      } else if (io.count > 0) {
        blocks.end_change(io.from, io.count);
      }
    }
  };
  // What the store holds at first is not known.
  for (std::uint64_t from = 0; from < length; from += Rig::kBufferBytes) {
    const std::uint64_t bytes = std::min(length - from, Rig::kBufferBytes);
    std::memset(rig.buffer(0), 0, bytes);
    ASSERT_EQ(rig.run(Op::write, first + from, bytes, store), static_cast<std::int32_t>(bytes));
  }
  for (unsigned i = 0; i < requests && !testing::Test::HasFailure(); ++i) {
    const RandomIo wish = random_io(prng, rig, prng.chance(0.05) ? 512 * kKiB : 24 * kKiB);
    InFlight io{.op = wish.op};
    io.count = std::min(wish.length / block, length / block);
    io.from = prng.below(length / block - io.count + 1);
    const bool changes = io.op == Op::write || io.op == Op::trim;
    while (!rig.free_slot() || (changes && !blocks.may_change(io.from, io.count))) {
      ASSERT_EQ(rig.wait(1, false), 0);
      settle(rig.depth());
    }
    const unsigned slot = *rig.free_slot();
    if (io.op == Op::read) {
      io.candidates = blocks.begin_read(io.from, io.count);
    } else if (changes && io.count > 0) {
      blocks.begin_change(io.from, io.count, io.op == Op::write ? rig.buffer(slot) : nullptr);
    }
    ASSERT_TRUE(rig.submit(slot, io.op, first + io.from * block, io.count * block, store));
    at[slot] = std::move(io);
    if (prng.chance(0.6)) {
      ASSERT_EQ(rig.channel().commit(), 0);
    }
    if (prng.chance(0.5)) settle(static_cast<unsigned>(prng.below(rig.depth())));
  }
  while (rig.in_flight() > 0 && !testing::Test::HasFailure()) {
    ASSERT_EQ(rig.wait(1, false), 0);
    settle(rig.depth());
  }
}

/// Fills `length` bytes with something that is the seed's own.
void fill(std::byte* data, std::uint64_t length, std::uint64_t seed) {
  Prng prng(seed);
  for (std::uint64_t i = 0; i < length; i += sizeof(std::uint64_t)) {
    const std::uint64_t word = prng.next();
    std::memcpy(data + i, &word, sizeof word);
  }
}

bool equals(const std::byte* data, std::uint64_t length, std::uint64_t seed) {
  std::vector<std::byte> expected(length);
  fill(expected.data(), length, seed);
  return std::equal(expected.begin(), expected.end(), data);
}

/// Writes with slot 0, then reads back; Rig::run() uses slot 0 when nothing is in flight.
void write_and_read(Rig& rig, std::uint64_t offset, std::uint64_t length, std::uint64_t seed,
                    unsigned store = 0) {
  SCOPED_TRACE(testing::Message() << length << " bytes at " << offset);
  fill(rig.buffer(0), length, seed);
  ASSERT_EQ(rig.run(Op::write, offset, length, store), static_cast<std::int32_t>(length));
  std::memset(rig.buffer(0), 0, length);
  ASSERT_EQ(rig.run(Op::read, offset, length, store), static_cast<std::int32_t>(length));
  EXPECT_TRUE(equals(rig.buffer(0), length, seed));
}

TEST_P(Conformance, ReadsGiveWhatWasWritten) {
  SKIP_UNLESS_DATA_IS_STORED();
  const std::uint64_t seed = test_seed(20240602);
  SCOPED_TRACE("SLUICE_TEST_SEED=" + std::to_string(seed));
  check_integrity(rig(), 0, 0, Testbed::kStoreBytes, 20'000, seed);
}

TEST_P(Conformance, ReadsGiveWhatWasWrittenInACrowdedPlace) {
  SKIP_UNLESS_DATA_IS_STORED();
  const std::uint64_t seed = test_seed(20240603);
  SCOPED_TRACE("SLUICE_TEST_SEED=" + std::to_string(seed));
  // Across a boundary of 64 KiB, so that requests are split wherever they may be.
  check_integrity(rig(), 1, 32 * kKiB, 64 * kKiB, 20'000, seed);
}

TEST_P(Conformance, SizesFromOneBlockToOneMiB) {
  SKIP_UNLESS_DATA_IS_STORED();
  const std::uint64_t block = rig().block_bytes();
  for (std::uint64_t length = block; length <= Rig::kBufferBytes; length *= 2) {
    write_and_read(rig(), 0, length, length);
    write_and_read(rig(), Testbed::kStoreBytes - length, length, length + 1);
    write_and_read(rig(), 64 * kKiB - block, length, length + 2);
    if (length > block) write_and_read(rig(), block, length - block, length + 3);
  }
}

TEST_P(Conformance, ReadsAcrossTheEndAreShort) {
  SKIP_UNLESS_DATA_IS_STORED();
  const std::uint64_t block = rig().block_bytes();
  const std::uint64_t end = Testbed::kStoreBytes;
  write_and_read(rig(), end - 2 * block, 2 * block, 5);
  std::memset(rig().buffer(0), 0, 4 * block);
  EXPECT_EQ(rig().run(Op::read, end - 2 * block, 4 * block), static_cast<std::int32_t>(2 * block));
  EXPECT_TRUE(equals(rig().buffer(0), 2 * block, 5));
  EXPECT_EQ(rig().run(Op::read, end, block), 0);
  EXPECT_EQ(rig().run(Op::read, end + 8 * block, block), 0);
}

TEST_P(Conformance, TrimmedBlocksReadAsZeros) {
  SKIP_UNLESS_DATA_IS_STORED();
  if (!rig().device().capabilities().trim) GTEST_SKIP() << "this device has no trim";
  const std::uint64_t length = 256 * kKiB;
  write_and_read(rig(), 0, length, 9);
  // Blocks of 4 KiB: a file system may keep what is less than a block of its own.
  EXPECT_EQ(rig().run(Op::trim, 4 * kKiB, 128 * kKiB), 0);
  ASSERT_EQ(rig().run(Op::read, 0, length), static_cast<std::int32_t>(length));
  std::vector<std::byte> expected(length);
  fill(expected.data(), length, 9);
  std::memset(expected.data() + 4 * kKiB, 0, 128 * kKiB);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), rig().buffer(0)));
}

TEST_P(Conformance, FlushesAfterWritesSucceed) {
  for (unsigned round = 0; round < 20; ++round) {
    EXPECT_EQ(rig().run(Op::write, round * rig().block_bytes(), rig().block_bytes()),
              static_cast<std::int32_t>(rig().block_bytes()));
    EXPECT_EQ(rig().run(round % 2 == 0 ? Op::flush : Op::data_sync, 0, 0), 0);
  }
}

TEST_P(Conformance, FilesOfOneChannelAreKeptApart) {
  SKIP_UNLESS_DATA_IS_STORED();
  const std::uint64_t length = 32 * kKiB;
  for (unsigned store = 0; store < Testbed::kStores; ++store) {
    fill(rig().buffer(store), length, 100 + store);
    ASSERT_TRUE(rig().submit(store, Op::write, 0, length, store));
  }
  rig().drain();
  for (unsigned slot = 0; slot < Testbed::kStores; ++slot) {
    ASSERT_TRUE(rig().submit(slot, Op::read, 0, length, Testbed::kStores - 1 - slot));
  }
  rig().drain();
  for (unsigned slot = 0; slot < Testbed::kStores; ++slot) {
    EXPECT_TRUE(equals(rig().buffer(slot), length, 100 + Testbed::kStores - 1 - slot));
  }
}

TEST_P(Conformance, FilesComeAndGo) {
  SKIP_UNLESS_DATA_IS_STORED();
  const std::uint64_t length = 8 * kKiB;
  for (unsigned store = 0; store < Testbed::kStores; ++store) {
    write_and_read(rig(), 0, length, 200 + store, store);
  }
  std::array<unsigned, Testbed::kStores> held_by{0, 1, 2};
  for (unsigned round = 0; round < 50; ++round) {
    // The files change places; those that stay attached must not notice.
    Target& first = rig().target(round % Testbed::kStores);
    Target& second = rig().target((round + 1) % Testbed::kStores);
    rig().channel().detach(first);
    rig().channel().detach(second);
    std::swap(first.device, second.device);
    std::swap(first.fd, second.fd);
    first.fixed_slot = second.fixed_slot = -1;
    rig().channel().attach(first);
    rig().channel().attach(second);
    std::swap(held_by[round % Testbed::kStores], held_by[(round + 1) % Testbed::kStores]);
    for (unsigned place = 0; place < Testbed::kStores; ++place) {
      ASSERT_EQ(rig().run(Op::read, 0, length, place), static_cast<std::int32_t>(length));
      ASSERT_TRUE(equals(rig().buffer(0), length, 200 + held_by[place])) << "round " << round;
    }
  }
}

TEST_P(Conformance, TwoThreadsEachWithAChannel) {
  SKIP_UNLESS_DATA_IS_STORED();
  const std::uint64_t seed = test_seed(20240604);
  SCOPED_TRACE("SLUICE_TEST_SEED=" + std::to_string(seed));
  const auto work = [&](std::uint64_t half) {
    Rig mine(bed(), kDepth);
    check_integrity(mine, 0, half * Testbed::kStoreBytes / 2, Testbed::kStoreBytes / 2, 10'000,
                    seed + half);
  };
  std::thread other(work, 1);
  work(0);
  other.join();
}

TEST_P(Conformance, TwoThreadsInEachOthersWay) {
  const std::uint64_t seed = test_seed(20240605);
  SCOPED_TRACE("SLUICE_TEST_SEED=" + std::to_string(seed));
  const auto work = [&](std::uint64_t number) {
    Rig mine(bed(), kDepth);
    Prng prng(seed + number);
    for (int i = 0; i < 10'000 && !HasFailure(); ++i) {
      const RandomIo io = random_io(prng, mine, 16 * kKiB);
      while (!mine.free_slot()) {
        ASSERT_EQ(mine.wait(1, false), 0);
        mine.collect(kDepth);
      }
      // On both sides of a multiple of 64 KiB, where a device may change locks.
      const std::uint64_t offset = 56 * kKiB + io.offset % (16 * kKiB);
      ASSERT_TRUE(mine.submit(*mine.free_slot(), io.op, offset, io.length));
    }
    mine.drain();
  };
  std::thread other(work, 1);
  work(0);
  other.join();
}

}  // namespace
}  // namespace sluice::conformance
