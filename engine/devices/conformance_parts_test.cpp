// Aggregates, on every device: one I/O over many requests' memory. conformance.h, io/parts.h.
#include <algorithm>
#include <cstring>

#include "engine/devices/conformance.h"
#include "scheduler/io/parts.h"

namespace sluice::conformance {
namespace {

/// Aggregates of the requests of a rig of its own, one after the other.
class Merging {
 public:
  explicit Merging(Testbed& bed) : rig(bed, kDepth) {}

  /// Links the slots, whose requests are filled in by ascending offset, with `head` as head.
  Request& link(unsigned count, unsigned head) {
    for (unsigned i = 0; i < count; ++i) {
      rig.request(i).next_part = i + 1 < count ? &rig.request(i + 1) : nullptr;
    }
    rig.request(head).first_part = &rig.request(0);
    return rig.request(head);
  }

  void fill_in(unsigned slot, Op op, std::uint64_t offset, std::uint64_t length) {
    Request& r = rig.request(slot);
    r.op = op;
    r.slot = slot;
    r.offset = offset;
    r.length = static_cast<std::uint32_t>(length);
    r.buffer = rig.buffer(slot);
    r.target = &rig.target(0);
  }

  /// Submits, waits for the end, takes apart; the number of finished parts.
  unsigned run(Request& head, Testbed& bed) {
    EXPECT_TRUE(rig.channel().submit(head));
    EXPECT_EQ(rig.channel().in_flight(), 1U);
    EXPECT_EQ(rig.channel().commit(), 0);
    Request* ended = nullptr;
    while (rig.channel().in_flight() > 0) {
      EXPECT_EQ(rig.wait(1, false), 0);
      bed.pass_time();
      if (rig.channel().poll(&ended, 1) == 1) {
        EXPECT_EQ(ended, &head);
      }
    }
    last_result = head.result;
    unsigned finished = 0;
    settle_parts(
        head, [&](Request&) { ++finished; }, [](Request& r) { r.alone = false; });
    return finished;
  }

  static constexpr unsigned kDepth = 8;
  Rig rig;
  std::int32_t last_result = 0;
};

TEST_P(Conformance, AggregatesTransferEveryPart) {
  const std::uint64_t seed = test_seed(20261130);
  SCOPED_TRACE("SLUICE_TEST_SEED=" + std::to_string(seed));
  Prng prng(seed);
  Merging merging(bed());
  Rig& rig = merging.rig;
  const std::uint64_t block = rig.block_bytes();
  constexpr std::uint64_t kRoom = 1 * kMiB;
  std::vector<unsigned char> expected(kRoom, 0);
  std::memset(rig.buffer(0), 0, kRoom);
  ASSERT_EQ(rig.run(Op::write, 0, kRoom), static_cast<std::int32_t>(kRoom));
  for (int round = 0; round < 300 && !HasFailure(); ++round) {
    const Op op = prng.chance(0.5) ? Op::read : Op::write;
    const auto count = static_cast<unsigned>(2 + prng.below(Merging::kDepth - 1));
    std::uint64_t at = prng.below(64) * block;
    std::uint64_t length = 0;
    const std::uint64_t from = at;
    for (unsigned i = 0; i < count; ++i) {
      if (op == Op::read && i > 0) at += prng.below(3) * block;
      length = (1 + prng.below(4)) * block;
      merging.fill_in(i, op, at, length);
      const auto stamp = static_cast<unsigned char>(prng.next());
      std::memset(rig.buffer(i), stamp, length);
      if (op == Op::write) std::memset(expected.data() + at, stamp, length);
      at += length;
    }
    Request& head = merging.link(count, static_cast<unsigned>(prng.below(count)));
    ASSERT_EQ(merging.run(head, bed()), count);
    ASSERT_EQ(merging.last_result, static_cast<std::int32_t>(at - from));
    for (unsigned i = 0; i < count; ++i) {
      const Request& r = rig.request(i);
      ASSERT_EQ(r.result, static_cast<std::int32_t>(r.length));
      if (op == Op::write || !stores_data()) continue;
      ASSERT_EQ(std::memcmp(r.buffer, expected.data() + r.offset, r.length), 0)
          << "round " << round << " part " << i;
    }
  }
  if (!stores_data()) return;
  ASSERT_EQ(rig.run(Op::read, 0, kRoom), static_cast<std::int32_t>(kRoom));
  EXPECT_EQ(std::memcmp(rig.buffer(0), expected.data(), kRoom), 0);
}

TEST_P(Conformance, AnAggregateAcrossTheEndIsShort) {
  if (!stores_data()) GTEST_SKIP() << "this device has no end";
  Merging merging(bed());
  const std::uint64_t block = merging.rig.block_bytes();
  const std::uint64_t end = Testbed::kStoreBytes;
  ASSERT_EQ(merging.rig.run(Op::write, end - 4 * block, 4 * block),
            static_cast<std::int32_t>(4 * block));
  merging.fill_in(0, Op::read, end - 4 * block, 2 * block);
  merging.fill_in(1, Op::read, end - 2 * block, 4 * block);
  merging.fill_in(2, Op::read, end + 2 * block, block);
  EXPECT_EQ(merging.run(merging.link(3, 2), bed()), 1U);
  EXPECT_EQ(merging.last_result, static_cast<std::int32_t>(4 * block));
  // Wholly past it: nothing.
  merging.fill_in(0, Op::read, end, block);
  merging.fill_in(1, Op::read, end + block, block);
  EXPECT_EQ(merging.run(merging.link(2, 0), bed()), 0U);
  EXPECT_EQ(merging.last_result, 0);
}

}  // namespace
}  // namespace sluice::conformance
