// Aggregator: who joins whom, and that overlapping writes never change places.
#include "scheduler/queue/aggregate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "scheduler/base/prng.h"
#include "scheduler/io/parts.h"

namespace sluice {
namespace {

class Pool {
 public:
  explicit Pool(AggregationLimits limits) { aggregator.configure(limits); }
  ~Pool() {
    for (Request* r : waiting) aggregator.remove(*r);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  Request& add(Op op, std::uint64_t offset, std::uint32_t length,
               IoClass io_class = IoClass::sync_read) {
    requests.push_back(std::make_unique<Request>());
    Request& r = *requests.back();
    r.slot = static_cast<std::uint32_t>(requests.size() - 1);
    r.op = op;
    r.offset = offset;
    r.length = length;
    r.io_class = io_class;
    r.target = &target;
    return add(r);
  }
  Request& add(Request& r) {
    aggregator.add(r);
    waiting.push_back(&r);
    return r;
  }

  /// The offsets of the parts; of the trigger alone if it stays alone.
  std::vector<std::uint64_t> merge(Request& trigger) {
    aggregator.merge(trigger);
    std::vector<std::uint64_t> out;
    if (trigger.first_part == nullptr) {
      out.push_back(trigger.offset);
      std::erase(waiting, &trigger);
    }
    for (Request* p = trigger.first_part; p != nullptr; p = p->next_part) {
      out.push_back(p->offset);
      std::erase(waiting, p);
    }
    return out;
  }

  Target target;
  Target other_mode{.mode = 1};
  Aggregator aggregator;
  std::vector<std::unique_ptr<Request>> requests;
  std::vector<Request*> waiting;
};

using Offsets = std::vector<std::uint64_t>;
constexpr AggregationLimits kRoomy{1 << 20, 0};

TEST(Aggregate, NeighboursOnBothSidesJoinByOffset) {
  Pool pool(kRoomy);
  pool.add(Op::read, 30, 10);
  pool.add(Op::read, 0, 10);
  Request& trigger = pool.add(Op::read, 20, 10);
  pool.add(Op::read, 10, 10);
  pool.add(Op::read, 50, 10);  // a gap before it
  EXPECT_EQ(pool.merge(trigger), (Offsets{0, 10, 20, 30}));
  const Span whole = span(trigger);
  EXPECT_EQ(whole.offset, 0U);
  EXPECT_EQ(whole.length, 40U);
  EXPECT_EQ(whole.parts, 4U);
  EXPECT_EQ(whole.gap_bytes, 0U);
}

TEST(Aggregate, OneAloneIsNoAggregate) {
  Pool pool(kRoomy);
  Request& trigger = pool.add(Op::write, 0, 10);
  EXPECT_EQ(pool.merge(trigger), Offsets{0});
  EXPECT_FALSE(is_aggregate(trigger));
}

TEST(Aggregate, SpanStaysWithinItsLimit) {
  Pool pool({40, 0});
  std::vector<Request*> all;
  for (std::uint64_t i = 0; i < 10; ++i) all.push_back(&pool.add(Op::write, i * 10, 10));
  // Backwards first, as OpenZFS does.
  EXPECT_EQ(pool.merge(*all[5]), (Offsets{20, 30, 40, 50}));
  EXPECT_EQ(pool.merge(*all[1]), (Offsets{0, 10}));
  EXPECT_EQ(pool.merge(*all[9]), (Offsets{60, 70, 80, 90}));
}

TEST(Aggregate, WhatExceedsTheLimitAloneGoesAlone) {
  Pool pool({15, 0});
  Request& trigger = pool.add(Op::write, 0, 20);
  pool.add(Op::write, 20, 4);
  EXPECT_EQ(pool.merge(trigger), Offsets{0});
}

TEST(Aggregate, PartsHaveABound) {
  Pool pool({1U << 24, 0});
  for (std::uint64_t i = 0; i < 2 * kMaxParts; ++i) pool.add(Op::read, i, 1);
  EXPECT_EQ(pool.merge(*pool.requests[0]).size(), kMaxParts);
  EXPECT_EQ(pool.merge(*pool.requests.back()).size(), kMaxParts);
}

TEST(Aggregate, ReadsBridgeGapsWritesDoNot) {
  for (const Op op : {Op::read, Op::write}) {
    Pool pool({1000, 5});
    Request& trigger = pool.add(op, 10, 10);
    pool.add(op, 25, 10);
    pool.add(op, 41, 10);  // one byte too far
    if (op == Op::write) {
      EXPECT_EQ(pool.merge(trigger), Offsets{10});
      continue;
    }
    EXPECT_EQ(pool.merge(trigger), (Offsets{10, 25}));
    EXPECT_EQ(span(trigger).gap_bytes, 5U);
  }
}

TEST(Aggregate, LowerAndHigherClassesArePulledAlong) {
  Pool pool(kRoomy);
  pool.add(Op::write, 0, 10, IoClass::sync_write);
  Request& trigger = pool.add(Op::write, 10, 10, IoClass::async_write);
  EXPECT_EQ(pool.merge(trigger), (Offsets{0, 10}));
  EXPECT_EQ(trigger.io_class, IoClass::async_write);
}

TEST(Aggregate, ScrubAndRebuildMergeOnlyWithTheirOwn) {
  const IoClass classes[] = {IoClass::async_read, IoClass::scrub, IoClass::rebuild};
  for (const IoClass a : classes) {
    for (const IoClass b : classes) {
      Pool pool(kRoomy);
      Request& trigger = pool.add(Op::read, 0, 10, a);
      pool.add(Op::read, 10, 10, b);
      EXPECT_EQ(pool.merge(trigger).size(), a == b ? 2U : 1U) << name(a) << ' ' << name(b);
    }
  }
}

TEST(Aggregate, OtherOperationsStayApart) {
  Pool pool(kRoomy);
  Request& read = pool.add(Op::read, 10, 10);
  pool.add(Op::write, 20, 10);
  pool.add(Op::write, 0, 10);
  EXPECT_EQ(pool.merge(read), Offsets{10});
  for (const Op op : {Op::trim, Op::flush, Op::data_sync}) {
    Request& trigger = pool.add(op, 40, 10, IoClass::trim);
    pool.add(op, 50, 10, IoClass::trim);
    EXPECT_EQ(pool.merge(trigger), Offsets{40});
  }
}

TEST(Aggregate, RetriesAndUnlikeModesStayApart) {
  Pool pool(kRoomy);
  Request& trigger = pool.add(Op::read, 10, 10);
  pool.add(Op::read, 20, 10).alone = true;
  pool.add(Op::read, 30, 10);
  pool.add(Op::read, 0, 10).target = &pool.other_mode;
  EXPECT_EQ(pool.merge(trigger), Offsets{10});
  EXPECT_EQ(pool.merge(*pool.requests[1]), Offsets{20});
}

TEST(Aggregate, AnOverlappingWriteGoesAlone) {
  Pool pool(kRoomy);
  pool.add(Op::write, 60, 40);
  Request& later = pool.add(Op::write, 40, 40);  // overlaps the one above, came later
  Request& trigger = pool.add(Op::write, 0, 40);
  EXPECT_EQ(pool.merge(trigger), Offsets{0}) << "the later write must not be pulled past the first";
  EXPECT_EQ(pool.merge(later), Offsets{40});
}

TEST(Aggregate, WhatOverlapsAStrayIsOneToo) {
  Pool pool(kRoomy);
  Request& first = pool.add(Op::write, 0, 20);
  pool.add(Op::write, 10, 20);  // overlaps the first
  pool.merge(first);
  Request& third = pool.add(Op::write, 25, 10);  // overlaps the second, which waits
  Request& trigger = pool.add(Op::write, 35, 5);
  EXPECT_EQ(pool.merge(trigger), Offsets{35});
  EXPECT_EQ(pool.merge(third), Offsets{25});
}

TEST(Aggregate, OfReadsOfOnePlaceOneIsMergedAndTheOtherGoesAlone) {
  Pool pool(kRoomy);
  Request& trigger = pool.add(Op::read, 0, 10);
  Request& twin = pool.add(Op::read, 0, 10);
  pool.add(Op::read, 10, 10);
  EXPECT_EQ(pool.merge(trigger), (Offsets{0, 10}));
  EXPECT_EQ(pool.merge(twin), Offsets{0});
}

// Whatever goes, no write that came earlier and overlaps it still waits, as long as triggers are
// taken in order of arrival. Crowded: more strays than are remembered one by one.
TEST(Aggregate, OverlappingWritesNeverChangePlaces) {
  std::size_t merged = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Prng prng(seed);
    const std::uint64_t room = 50 + prng.below(5000);
    Pool pool({static_cast<std::uint32_t>(20 + prng.below(100)), 0});
    std::uint64_t next = 0;
    for (int step = 0; step < 600; ++step) {
      if (prng.chance(0.55)) {
        // Half of them in sequence.
        const std::uint64_t offset = prng.chance(0.5) ? next : prng.below(room);
        const auto length = static_cast<std::uint32_t>(4 + prng.below(12));
        pool.add(Op::write, offset, length);
        next = offset + length;
        continue;
      }
      if (pool.waiting.empty()) continue;
      Request& trigger = *pool.waiting.front();  // in order of arrival
      const Offsets gone = pool.merge(trigger);
      merged += gone.size() > 1 ? 1 : 0;
      Request* const first = trigger.first_part != nullptr ? trigger.first_part : &trigger;
      for (Request* part = first; part != nullptr; part = part->next_part) {
        for (const Request* r : pool.waiting) {
          const bool overlap =
              r->offset < part->offset + part->length && part->offset < r->offset + r->length;
          ASSERT_FALSE(overlap && r->slot < part->slot);
        }
      }
    }
  }
  EXPECT_GT(merged, 1000U);
}

}  // namespace
}  // namespace sluice
