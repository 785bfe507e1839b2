// The tables agree with what is generated from them; every kind of bad value is refused by name.
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "scheduler/config/json.h"

namespace sluice {
namespace {

TEST(Tunables, NamesAreUniqueAndHelpIsOneLine) {
  std::set<std::string_view> names;
  for (const TunableRow& row : tunable_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.what.empty()) << row.name;
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_EQ(row.help.find('\n'), std::string_view::npos) << row.name;
  }
}

TEST(Tunables, DefaultsLieWithinTheirRange) {
  for (const TunableRow& row : tunable_rows()) {
    if (row.kind == TunableKind::text) continue;
    EXPECT_GE(row.default_value, row.min) << row.name;
    EXPECT_LE(row.default_value, row.max) << row.name;
  }
}

TEST(Tunables, EveryRowReadsBackWhatWasSet) {
  for (const TunableRow& row : tunable_rows()) {
    Tunables t = default_tunables();
    if (row.kind == TunableKind::text) {
      ASSERT_TRUE(set_tunable(t, row.name, "/a/b").ok());
      EXPECT_EQ(format(row, t), "/a/b");
      continue;
    }
    for (const std::uint64_t value : {row.min, row.max}) {
      const std::string text = row.kind == TunableKind::enumeration
                                   ? std::string(row.values[value].name)
                                   : std::to_string(value);
      ASSERT_TRUE(set_tunable(t, row.name, text.c_str()).ok()) << row.name << '=' << text;
      const std::string unit = row.kind == TunableKind::time ? "us" : "";
      EXPECT_EQ(format(row, t), text + unit) << row.name;
    }
    // One row set must leave all others alone.
    for (const TunableRow& other : tunable_rows()) {
      if (other.name == row.name) continue;
      EXPECT_EQ(format(other, t), format_default(other)) << other.name;
    }
  }
}

TEST(Tunables, FiosSuffixesAreUnderstood) {
  Tunables t = default_tunables();
  ASSERT_TRUE(set_tunable(t, "model_bandwidth", "16M").ok());
  EXPECT_EQ(t.model_bandwidth, 16ULL << 20);
  ASSERT_TRUE(set_tunable(t, "model_read_time", "2ms").ok());
  EXPECT_EQ(t.model_read_time_us, 2000ULL);
  ASSERT_TRUE(set_tunable(t, "model_read_time", "7").ok());
  EXPECT_EQ(t.model_read_time_us, 7ULL);
}

TEST(Tunables, BadValuesAreRefusedByNameWithWhatIsAllowed) {
  const std::pair<const char*, const char*> bad[] = {
      {"bypass", "some"},
      {"bypass", ""},
      {"model_channels", "0"},
      {"model_channels", "1025"},
      {"model_jitter", "101"},
      {"model_read_time", "5parsec"},
      {"model_read_time", "-1"},
      {"max_active", "x"},
      {"fixedbufs", "2"},
      {"model_bandwidth", "99999999999999999999"},
      {"model_bandwidth", "9999999999999999t"},
  };
  for (const auto& [name, value] : bad) {
    Tunables t = default_tunables();
    const Status status = set_tunable(t, name, value);
    ASSERT_FALSE(status.ok()) << name << '=' << value;
    EXPECT_NE(status.error().message.find(name), std::string::npos);
    EXPECT_NE(status.error().message.find("allowed"), std::string::npos);
    EXPECT_TRUE(differences(t, default_tunables(), find_tunable(name)->scope).empty());
  }
  Tunables t = default_tunables();
  const Status status = set_tunable(t, "bypas", "off");
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("bypas"), std::string::npos);
}

TEST(Tunables, DifferencesNameOnlyTheirScope) {
  Tunables a = default_tunables();
  Tunables b = default_tunables();
  b.bypass = SLUICE_bypass_all;
  b.force_async = 4;
  EXPECT_EQ(differences(a, b, TunableScope::leaf), std::vector<std::string>{"bypass=off/all"});
  EXPECT_EQ(differences(a, b, TunableScope::job), std::vector<std::string>{"force_async=0/4"});
  EXPECT_TRUE(differences(a, b, TunableScope::process).empty());
}

TEST(Describe, CarriesEveryRowOfBothTables) {
  const auto document = describe_json("fio-0");
  const auto& tunables = document.at("tunables").as_array();
  ASSERT_EQ(tunables.size(), tunable_rows().size());
  for (std::size_t i = 0; i < tunables.size(); ++i) {
    EXPECT_EQ(std::string_view(tunables[i].at("name").as_string()), tunable_rows()[i].name);
  }
  EXPECT_EQ(document.at("stats").as_array().size(), stat_rows().size());
}

TEST(StatsJson, CarriesEveryRowOfItsLayer) {
  auto job = std::make_unique<JobStats>();
  job->classes[0].ops.add(1);
  const auto document = to_json(*job);
  const auto leaf = to_json(LeafStats{});
  const auto& one_class = document.at("classes").as_object().at("sync_read").as_object();
  for (const StatRow& row : stat_rows()) {
    const auto& where = row.layer == "job" ? document : row.layer == "leaf" ? leaf : one_class;
    EXPECT_TRUE(where.contains({row.name.data(), row.name.size()})) << row.name;
  }
}

TEST(StatsJson, PrettyPrintingParsesBack) {
  const auto document = describe_json("fio-0");
  EXPECT_EQ(boost::json::parse(pretty(document)), boost::json::value(document));
}

}  // namespace
}  // namespace sluice
