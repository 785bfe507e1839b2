// Where a leaf's limits come from, and which of them are refused.
#include "scheduler/queue/queue_limits.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>

namespace sluice {
namespace {

/// The limits of default tunables with a few set, which must be accepted.
QueueLimits limits_with(std::initializer_list<std::pair<const char*, const char*>> settings) {
  Tunables tunables = default_tunables();
  for (const auto& [name, value] : settings) {
    EXPECT_TRUE(set_tunable(tunables, name, value).ok()) << name;
  }
  auto limits = queue_limits(tunables);
  EXPECT_TRUE(limits.ok()) << limits.error().message;
  return limits.ok() ? limits.value() : QueueLimits{};
}

TEST(QueueLimits, DefaultProfileLimitsNothing) {
  const QueueLimits limits = limits_with({});
  EXPECT_EQ(limits.max_active, QueueLimits::kUnlimited);
  for (const ClassLimits& c : limits.classes) {
    EXPECT_EQ(c.min_active, 1U);
    EXPECT_EQ(c.max_active, QueueLimits::kUnlimited);
  }
}

TEST(QueueLimits, OpenzfsProfileHasItsDefaults) {
  const QueueLimits limits = limits_with({{"queue_profile", "openzfs"}});
  EXPECT_EQ(limits.max_active, 1000U);
  const auto expect = [&](IoClass c, std::uint32_t min, std::uint32_t max) {
    EXPECT_EQ(limits[c].min_active, min) << name(c);
    EXPECT_EQ(limits[c].max_active, max) << name(c);
  };
  expect(IoClass::sync_read, 10, 10);
  expect(IoClass::sync_write, 10, 10);
  expect(IoClass::async_read, 1, 3);
  expect(IoClass::async_write, 2, 10);
  expect(IoClass::scrub, 1, 3);
  expect(IoClass::rebuild, 1, 3);
  expect(IoClass::trim, 1, 2);
}

TEST(QueueLimits, EveryClassHasItsOwnTunables) {
  for (unsigned i = 0; i < kIoClasses; ++i) {
    const auto c = static_cast<IoClass>(i);
    const std::string min = std::string(name(c)) + "_min_active";
    const std::string max = std::string(name(c)) + "_max_active";
    const QueueLimits limits = limits_with({{min.c_str(), "3"}, {max.c_str(), "7"}});
    for (unsigned other = 0; other < kIoClasses; ++other) {
      EXPECT_EQ(limits.classes[other].min_active, other == i ? 3U : 1U) << name(c);
      EXPECT_EQ(limits.classes[other].max_active, other == i ? 7U : QueueLimits::kUnlimited);
    }
  }
}

TEST(QueueLimits, CapIsOverridden) {
  EXPECT_EQ(limits_with({{"max_active", "5"}}).max_active, 5U);
  EXPECT_EQ(limits_with({{"queue_profile", "openzfs"}, {"max_active", "5"}}).max_active, 5U);
}

TEST(QueueLimits, LoweredMaximumCarriesTheProfilesMinimumDown) {
  const QueueLimits limits =
      limits_with({{"queue_profile", "openzfs"}, {"sync_read_max_active", "4"}});
  EXPECT_EQ(limits[IoClass::sync_read].min_active, 4U);
  EXPECT_EQ(limits[IoClass::sync_read].max_active, 4U);
}

TEST(QueueLimits, RaisedMinimumCarriesTheProfilesMaximumUp) {
  const QueueLimits limits = limits_with({{"queue_profile", "openzfs"}, {"scrub_min_active", "8"}});
  EXPECT_EQ(limits[IoClass::scrub].min_active, 8U);
  EXPECT_EQ(limits[IoClass::scrub].max_active, 8U);
}

TEST(QueueLimits, RaisedMaximumLeavesTheProfilesMinimum) {
  const QueueLimits limits =
      limits_with({{"queue_profile", "openzfs"}, {"async_read_max_active", "64"}});
  EXPECT_EQ(limits[IoClass::async_read].min_active, 1U);
  EXPECT_EQ(limits[IoClass::async_read].max_active, 64U);
}

TEST(QueueLimits, MinimumAboveItsMaximumIsRefusedByName) {
  for (unsigned i = 0; i < kIoClasses; ++i) {
    const std::string which = name(static_cast<IoClass>(i));
    Tunables tunables = default_tunables();
    ASSERT_TRUE(set_tunable(tunables, which + "_min_active", "9").ok());
    ASSERT_TRUE(set_tunable(tunables, which + "_max_active", "4").ok());
    const auto limits = queue_limits(tunables);
    ASSERT_FALSE(limits.ok());
    EXPECT_EQ(limits.error().code, EINVAL);
    EXPECT_NE(limits.error().message.find(which + "_min_active=9"), std::string::npos);
    EXPECT_NE(limits.error().message.find(which + "_max_active=4"), std::string::npos);
  }
}

TEST(QueueLimits, MinimumsMayExceedTheCap) {
  const QueueLimits limits = limits_with({{"queue_profile", "openzfs"}, {"max_active", "1"}});
  EXPECT_EQ(limits.max_active, 1U);
  EXPECT_EQ(limits[IoClass::sync_read].min_active, 10U);
}

}  // namespace
}  // namespace sluice
