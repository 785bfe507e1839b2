// Where a leaf's limits come from, and which of them are refused.
#include "scheduler/queue/queue_limits.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <utility>

#include "scheduler/base/units.h"

namespace sluice {
namespace {

using Settings = std::initializer_list<std::pair<const char*, const char*>>;

Tunables tunables_with(const Settings& settings) {
  Tunables tunables = default_tunables();
  for (const auto& [name, value] : settings) {
    EXPECT_TRUE(set_tunable(tunables, name, value).ok()) << name;
  }
  return tunables;
}

/// The limits of default tunables with a few set, which must be accepted.
QueueLimits limits_with(const Settings& settings, bool rotational = false) {
  auto limits = queue_limits(tunables_with(settings), rotational);
  EXPECT_TRUE(limits.ok()) << limits.error().message;
  return limits.ok() ? limits.value() : QueueLimits{};
}

/// The line that refuses the settings; empty if they are accepted.
std::string refusal(const Settings& settings) {
  const auto limits = queue_limits(tunables_with(settings));
  if (limits.ok()) return "";
  EXPECT_EQ(limits.error().code, EINVAL);
  return limits.error().message;
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
    const std::string min = std::string(name(static_cast<IoClass>(i))) + "_min_active";
    const std::string max = std::string(name(static_cast<IoClass>(i))) + "_max_active";
    const std::string line = refusal({{min.c_str(), "9"}, {max.c_str(), "4"}});
    EXPECT_NE(line.find(min + "=9"), std::string::npos) << line;
    EXPECT_NE(line.find(max + "=4"), std::string::npos) << line;
  }
}

TEST(QueueLimits, AProfilesMinimumsMayExceedTheCap) {
  const QueueLimits limits = limits_with({{"queue_profile", "openzfs"}, {"max_active", "1"}});
  EXPECT_EQ(limits.max_active, 1U);
  EXPECT_EQ(limits[IoClass::sync_read].min_active, 10U);
}

TEST(QueueLimits, MinimumsSetAboveTheCapAreRefusedByName) {
  const std::string line =
      refusal({{"sync_read_min_active", "5"}, {"scrub_min_active", "4"}, {"max_active", "8"}});
  EXPECT_NE(line.find("sync_read_min_active=5 + scrub_min_active=4"), std::string::npos) << line;
  EXPECT_NE(line.find("max_active=8"), std::string::npos) << line;
  // Also above the cap of a profile.
  EXPECT_NE(refusal({{"queue_profile", "openzfs"}, {"trim_min_active", "1001"}}), "");
  EXPECT_EQ(limits_with({{"sync_read_min_active", "5"}, {"max_active", "5"}}).max_active, 5U);
}

TEST(QueueLimits, OnlyTheOpenzfsProfileHoldsTheBackgroundBack) {
  EXPECT_EQ(limits_with({}).background.credit, 0U);
  const QueueLimits openzfs = limits_with({{"queue_profile", "openzfs"}});
  EXPECT_EQ(openzfs.background.credit, 5U);
  EXPECT_EQ(openzfs.background.delay, 5U);
  const QueueLimits credit = limits_with({{"nia_credit", "2"}});
  EXPECT_EQ(credit.background.credit, 2U);
  EXPECT_EQ(credit.background.delay, 5U);
  const QueueLimits delay = limits_with({{"nia_delay", "100"}});
  EXPECT_EQ(delay.background.credit, 5U);
  EXPECT_EQ(delay.background.delay, 100U);
}

TEST(QueueLimits, OrderFollowsTheProfileTheDeviceOrTheUser) {
  const auto by_offset = [](const char* profile, const char* order, bool rotational) {
    const auto settings = {std::pair{"queue_profile", profile}, std::pair{"queue_order", order},
                           std::pair{"max_active", "8"}};
    return limits_with(settings, rotational).by_offset;
  };
  for (const bool rotational : {false, true}) {
    EXPECT_TRUE(by_offset("openzfs", "profile", rotational));
    EXPECT_FALSE(by_offset("nvme", "profile", rotational));
    for (const char* profile : {"nvme", "openzfs"}) {
      EXPECT_EQ(by_offset(profile, "auto", rotational), rotational);
      EXPECT_TRUE(by_offset(profile, "offset", rotational));
      EXPECT_FALSE(by_offset(profile, "fifo", rotational));
    }
  }
}

TEST(QueueLimits, AggregationIsOpenzfssThereAndOffElsewhere) {
  const auto size = [](const Settings& settings, bool rotational) {
    return limits_with(settings, rotational).aggregation.size_bytes;
  };
  EXPECT_EQ(size({{"max_active", "8"}}, true), 0U);
  EXPECT_EQ(size({{"queue_profile", "openzfs"}}, true), kMiB);
  EXPECT_EQ(size({{"queue_profile", "openzfs"}}, false), 128 * kKiB);
  EXPECT_EQ(size({{"queue_profile", "openzfs"}, {"aggregation_limit", "1"}}, false), 1U);
  EXPECT_EQ(size({{"max_active", "8"}, {"aggregation_limit", "64k"}}, false), 64 * kKiB);
  EXPECT_EQ(limits_with({{"queue_profile", "openzfs"}}).aggregation.read_gap_bytes, 32 * kKiB);
  EXPECT_EQ(limits_with({{"max_active", "8"}, {"read_gap_limit", "4k"}}).aggregation.read_gap_bytes,
            4 * kKiB);
}

TEST(QueueLimits, WhereNothingCanWaitNothingIsSortedOrMerged) {
  const QueueLimits limits = limits_with({{"queue_order", "offset"}, {"aggregation_limit", "64k"}});
  EXPECT_FALSE(limits.by_offset);
  EXPECT_EQ(limits.aggregation.size_bytes, 0U);
}

TEST(QueueLimits, DirtyPercentsMustAscend) {
  const QueueLimits limits = limits_with({});
  EXPECT_EQ(limits.dirty.min_percent, 30U);
  EXPECT_EQ(limits.dirty.max_percent, 60U);
  for (const char* min : {"60", "70"}) {
    const std::string line = refusal({{"async_write_active_min_dirty_percent", min}});
    EXPECT_NE(line.find("async_write_active_min_dirty_percent=" + std::string(min)),
              std::string::npos);
    EXPECT_NE(line.find("async_write_active_max_dirty_percent=60"), std::string::npos);
  }
}

}  // namespace
}  // namespace sluice
