#include "scheduler/queue/write_scaling.h"

#include <gtest/gtest.h>

#include "scheduler/base/units.h"
#include "scheduler/queue/class_picker.h"

namespace sluice {
namespace {

constexpr ClassLimits kOpenzfs{2, 10};

std::uint32_t at_percent(std::uint64_t percent) {
  return scaled_write_max(kOpenzfs, {}, {percent * kGiB / 100, kGiB});
}

TEST(WriteScaling, GrowsInALineFromMinimumToMaximum) {
  EXPECT_EQ(at_percent(0), 2U);
  EXPECT_EQ(at_percent(29), 2U);
  EXPECT_EQ(at_percent(30), 2U);
  EXPECT_EQ(at_percent(45), 5U);  // 5.9999, since 45 % of 2^30 is rounded down too
  EXPECT_EQ(at_percent(46), 6U);
  EXPECT_EQ(at_percent(59), 9U);
  EXPECT_EQ(at_percent(60), 10U);
  EXPECT_EQ(at_percent(100), 10U);
}

TEST(WriteScaling, NeverShrinksAsDirtyDataGrows) {
  std::uint32_t before = 0;
  for (std::uint64_t dirty = 0; dirty <= 1000; ++dirty) {
    const std::uint32_t now = scaled_write_max(kOpenzfs, {}, {dirty, 1000});
    EXPECT_GE(now, before);
    EXPECT_LE(now, kOpenzfs.max_active);
    EXPECT_GE(now, kOpenzfs.min_active);
    before = now;
  }
}

TEST(WriteScaling, WithoutKnownDirtyDataNothingIsHeldBack) {
  EXPECT_EQ(scaled_write_max(kOpenzfs, {}, {}), 10U);
  EXPECT_EQ(scaled_write_max(kOpenzfs, {}, {123, 0}), 10U);
}

TEST(WriteScaling, HugeNumbersDontOverflow) {
  const ClassLimits wide{1, QueueLimits::kUnlimited};
  const std::uint64_t max = ~std::uint64_t{0};
  EXPECT_EQ(scaled_write_max(wide, {}, {max, max}), QueueLimits::kUnlimited);
  EXPECT_EQ(scaled_write_max(wide, {0, 100}, {max / 2, max}), QueueLimits::kUnlimited / 2);
  EXPECT_EQ(scaled_write_max(wide, {}, {0, 1}), wide.max_active);  // 30 % of it is no byte
}

TEST(WriteScaling, MovesTheMaximumOfAsyncWritesOnly) {
  QueueLimits limits;
  limits.classes.fill(kOpenzfs);
  ClassPicker picker(limits);
  picker.set_dirty({0, 1000});
  for (unsigned c = 0; c < kIoClasses; ++c) {
    const bool async_write = c == static_cast<unsigned>(IoClass::async_write);
    EXPECT_EQ(picker.limits_now(c).max_active, async_write ? 2U : 10U);
    EXPECT_EQ(picker.limits_now(c).min_active, 2U);
    unsigned passed = 0;
    while (picker.pass(c)) ++passed;
    EXPECT_EQ(passed, async_write ? 2U : 10U);
  }
  picker.set_dirty({900, 1000});
  EXPECT_EQ(picker.pick(class_bit(static_cast<unsigned>(IoClass::async_write))),
            static_cast<unsigned>(IoClass::async_write));
}

}  // namespace
}  // namespace sluice
