#include "scheduler/base/histogram.h"

#include <gtest/gtest.h>

#include <cmath>

#include "scheduler/base/prng.h"

namespace sluice {
namespace {

TEST(Histogram, EveryValueFallsInABucketWithinOnePercent) {
  const std::uint64_t seed = 1;
  SCOPED_TRACE(seed);
  Prng prng(seed);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t value = prng.next() >> (30 + prng.below(34));
    if (value >= (std::uint64_t{1} << 34)) continue;
    const double middle = static_cast<double>(Histogram::midpoint(Histogram::index(value)));
    EXPECT_LE(std::fabs(middle - static_cast<double>(value)),
              0.008 * static_cast<double>(value) + 1)
        << value;
  }
}

TEST(Histogram, BucketsAreFiosOwn) {
  // Midpoints as fio 3.33 prints them in json+ bins.
  EXPECT_EQ(Histogram::midpoint(Histogram::index(100)), 100U);
  EXPECT_EQ(Histogram::midpoint(Histogram::index(1000)), 1004U);
  EXPECT_EQ(Histogram::midpoint(Histogram::index(100'000)), 99'840U);
}

TEST(Histogram, IndexNeverDecreases) {
  std::size_t last = 0;
  for (std::uint64_t value = 0; value < 1'000'000; ++value) {
    const std::size_t i = Histogram::index(value);
    EXPECT_GE(i, last);
    last = i;
  }
  EXPECT_EQ(Histogram::index(~std::uint64_t{0}), Histogram::kCells - 1);
}

TEST(Histogram, PercentilesOfAKnownSet) {
  Histogram h;
  for (std::uint64_t value = 1; value <= 100; ++value) h.add(value);
  EXPECT_EQ(h.percentile(50), 50U);
  EXPECT_EQ(h.percentile(99), 99U);
  EXPECT_EQ(h.percentile(100), 100U);
  EXPECT_EQ(h.count(), 100U);
  EXPECT_DOUBLE_EQ(h.mean(), 50.5);
  EXPECT_EQ(h.min(), 1U);
  EXPECT_EQ(h.max(), 100U);
}

TEST(Histogram, EmptySaysZero) {
  const Histogram h;
  EXPECT_EQ(h.percentile(99), 0U);
  EXPECT_EQ(h.min(), 0U);
  EXPECT_EQ(h.mean(), 0.0);
}

TEST(Histogram, MergeEqualsAddingAll) {
  Histogram a;
  Histogram b;
  Histogram all;
  for (std::uint64_t value = 1; value < 5000; value += 7) {
    ((value % 2) != 0 ? a : b).add(value);
    all.add(value);
  }
  a.merge(b);
  EXPECT_EQ(a.count(), all.count());
  EXPECT_EQ(a.sum(), all.sum());
  for (std::size_t i = 0; i < Histogram::kCells; ++i) EXPECT_EQ(a.cell(i), all.cell(i));
}

}  // namespace
}  // namespace sluice
