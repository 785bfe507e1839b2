// What the jobs of a process share: leaves by name, the statistics file, the in-flight table.
#include "scheduler/stack/stack.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "scheduler/base/units.h"
#include "scheduler/stack/report.h"
#include "scheduler/stack/stack_test_rig.h"

namespace sluice::stack_test {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A folder of the test's own, which is the current one while the test runs.
class InFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "sluice-stack-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    before_ = fs::current_path();
    folder_ = fs::canonical(name);
    fs::current_path(folder_);
  }
  void TearDown() override {
    fs::current_path(before_);
    fs::remove_all(folder_);
  }

  Leaf* join(const std::string& path, const Settings& more = {}) {
    Settings settings{{"device", "null"}};
    settings.insert(settings.end(), more.begin(), more.end());
    auto leaf = world_.stack.join(path, tunables(settings), "job");
    EXPECT_TRUE(leaf.ok());
    return leaf.ok() ? leaf.value() : nullptr;
  }

  fs::path folder_;
  fs::path before_;
  World world_;
};

using Join = InFolder;

TEST_F(Join, NamesOfOneFileAreOneLeaf) {
  std::ofstream("file") << "x";
  fs::create_symlink("file", "link");
  fs::create_directory("sub");
  fs::create_directory_symlink("sub", "folder-link");
  const Leaf* const leaf = join(folder_ / "file");
  EXPECT_EQ(join("file"), leaf);
  EXPECT_EQ(join("./file"), leaf);
  EXPECT_EQ(join("link"), leaf);
  EXPECT_EQ(join("sub/../file"), leaf);
  EXPECT_EQ(join(folder_ / "link"), leaf);
  EXPECT_NE(join("sub/file"), leaf);
  EXPECT_EQ(join("sub/other"), join("folder-link/other"));
}

TEST_F(Join, AFileThatIsLaidOutLaterIsTheSameLeaf) {
  const Leaf* const before = join("missing");
  EXPECT_EQ(join(folder_ / "missing"), before);
  std::ofstream("missing") << "x";
  EXPECT_EQ(join("missing"), before);
  EXPECT_EQ(join(folder_ / "missing"), before);
}

TEST_F(Join, UnlikeLeafTunablesNameBothJobsAndTheTunable) {
  ASSERT_TRUE(world_.stack.join("file", tunables({{"bypass", "all"}}), "first").ok());
  const auto unlike =
      world_.stack.join("file", tunables({{"bypass", "off"}, {"max_active", "7"}}), "second");
  ASSERT_FALSE(unlike.ok());
  EXPECT_EQ(unlike.error().code, EINVAL);
  for (const char* word : {"first", "second", "bypass", "max_active"}) {
    EXPECT_NE(unlike.error().message.find(word), std::string::npos) << unlike.error().message;
  }
  EXPECT_EQ(unlike.error().message.find('\n'), std::string::npos);
}

TEST_F(Join, TunablesOfTheJobMayDiffer) {
  ASSERT_TRUE(world_.stack.join("file", tunables({{"io_class", "scrub"}}), "first").ok());
  EXPECT_TRUE(world_.stack.join("file", tunables({{"fixedbufs", "0"}}), "second").ok());
}

TEST_F(Join, LimitsThatCannotBeNameTheJob) {
  const auto leaf = world_.stack.join(
      "file", tunables({{"scrub_min_active", "9"}, {"scrub_max_active", "3"}}), "culprit");
  ASSERT_FALSE(leaf.ok());
  EXPECT_NE(leaf.error().message.find("culprit"), std::string::npos);
  EXPECT_NE(leaf.error().message.find("scrub_min_active"), std::string::npos);
}

using StatsFile = InFolder;

TEST_F(StatsFile, HoldsEveryJobThatNamesIt) {
  const Watchdog watchdog(60);
  std::string elsewhere = "other.json";
  for (const char* job_name : {"first", "second", "third"}) {
    // fio frees a job's options when the job ends, before others do.
    auto path = std::make_unique<std::string>(
        std::string(job_name) == "third" ? elsewhere : std::string("a-name-on-the-heap.json"));
    JobSpec wanted;
    wanted.name = job_name;
    wanted.paths = {"file"};
    wanted.tunables = tunables({{"device", "null"}, {"stats_json", *path}});
    wanted.tunables.stats_json = path->data();
    Job job(world_.stack, wanted);
    for (int i = 0; i < 5; ++i) job.submit(Op::read);
    job.commit();
    job.finish();
    EXPECT_TRUE(job.close().ok());
    path->assign(path->size(), '#');
  }
  const auto report = boost::json::parse(contents("a-name-on-the-heap.json")).as_object();
  const auto& jobs = report.at("jobs").as_array();
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].at("job").as_string(), "first");
  EXPECT_EQ(jobs[1].at("job").as_string(), "second");
  EXPECT_EQ(jobs[0].at("tunables").at("stats_json").as_string(), "a-name-on-the-heap.json");
  ASSERT_EQ(report.at("leaves").as_array().size(), 1U);
  EXPECT_EQ(report.at("leaves").as_array()[0].at("path").as_string(), (folder_ / "file").string());
  const auto other = boost::json::parse(contents(elsewhere)).as_object();
  ASSERT_EQ(other.at("jobs").as_array().size(), 1U);
  EXPECT_EQ(other.at("jobs").as_array()[0].at("job").as_string(), "third");
  for (const auto& entry : fs::directory_iterator(".")) {
    EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos) << entry.path();
  }
}

TEST_F(StatsFile, IsReplacedInOneStep) {
  const std::string small = "{\"text\": \"" + std::string(10, 'a') + "\"}";
  const std::string large = "{\"text\": \"" + std::string(300'000, 'b') + "\"}";
  ASSERT_TRUE(write_whole_file("stats_json", "stats.json", small).ok());
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; i < 200; ++i) {
      EXPECT_TRUE(write_whole_file("stats_json", "stats.json", i % 2 == 0 ? large : small).ok());
    }
    stop = true;
  });
  while (!stop) {
    const std::string seen = contents("stats.json");
    ASSERT_TRUE(seen == small || seen == large) << seen.size() << " bytes";
  }
  writer.join();
}

TEST_F(StatsFile, UnwritablePathsAreErrorsThatNameThem) {
  fs::create_directory("folder");
  for (const char* path : {"folder", "no/such/folder/stats.json", "/dev/null"}) {
    SCOPED_TRACE(path);
    const Status writable = check_writable("stats_json", path);
    ASSERT_FALSE(writable.ok());
    EXPECT_NE(writable.error().message.find(path), std::string::npos);
    EXPECT_NE(writable.error().code, 0);
  }
  const Status written = write_whole_file("stats_json", "no/such/folder/stats.json", "x");
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, ENOENT);
  EXPECT_FALSE(write_whole_file("stats_json", "folder", "x").ok());
  EXPECT_EQ(std::distance(fs::directory_iterator("."), fs::directory_iterator()), 1);
}

TEST_F(StatsFile, CheckingLeavesNothingBehindAndTouchesNothing) {
  EXPECT_TRUE(check_writable("stats_json", "new.json").ok());
  EXPECT_TRUE(fs::is_empty("."));
  std::ofstream("old.json") << "old";
  EXPECT_TRUE(check_writable("stats_json", "old.json").ok());
  EXPECT_EQ(contents("old.json"), "old");
}

TEST_F(StatsFile, AnUnwritablePathFailsTheCloseAndNothingElse) {
  const Watchdog watchdog(60);
  std::string path = "no/such/folder/stats.json";
  JobSpec wanted;
  wanted.tunables = tunables({{"device", "null"}, {"stats_json", path}});
  wanted.tunables.stats_json = path.data();
  Job job(world_.stack, wanted);
  const Status closed = job.close();
  ASSERT_FALSE(closed.ok());
  EXPECT_NE(closed.error().message.find(path), std::string::npos);
  wanted.tunables.stats_json = nullptr;
  Job next(world_.stack, wanted);
  EXPECT_TRUE(next.close().ok());
}

class InFlightTable : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Bypass, InFlightTable, testing::Values("off", "all"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(InFlightTable, ShowsWhatIsAtTheDeviceWithItsAge) {
  const Watchdog watchdog(60);
  World world;
  JobSpec wanted;
  wanted.tunables =
      tunables({{"device", "model"}, {"bypass", GetParam()}, {"model_read_time", "50ms"}});
  Job job(world.stack, wanted);
  JobSpec beside = wanted;
  beside.paths = {"/sluice-test/b"};
  Job other(world.stack, beside);
  EXPECT_EQ(world.stack.in_flight().count, 0U);
  EXPECT_EQ(world.stack.in_flight().oldest_age_ns, 0U);
  for (int i = 0; i < 3; ++i) job.submit(Op::read);
  EXPECT_EQ(world.stack.in_flight().count, 0U);  // staged
  job.commit();
  EXPECT_EQ(world.stack.in_flight().count, 3U);
  sleep_ns(5 * kNsPerMs);
  other.submit(Op::read);
  other.commit();
  EXPECT_EQ(world.stack.in_flight().count, 4U);
  EXPECT_GE(world.stack.in_flight().oldest_age_ns, 5 * kNsPerMs);
  job.finish();
  EXPECT_EQ(world.stack.in_flight().count, 1U);
  other.finish();
  EXPECT_EQ(world.stack.in_flight().count, 0U);
  EXPECT_EQ(world.stack.in_flight().oldest_age_ns, 0U);
}

TEST(InFlightTable, LeavesOutWhatWaitsInTheQueue) {
  const Watchdog watchdog(60);
  World world;
  JobSpec wanted;
  wanted.tunables =
      tunables({{"device", "model"}, {"max_active", "2"}, {"model_read_time", "5ms"}});
  Job job(world.stack, wanted);
  for (int i = 0; i < 6; ++i) job.submit(Op::read);
  job.commit();
  EXPECT_EQ(world.stack.in_flight().count, 2U);
  job.finish();
  EXPECT_EQ(world.stack.in_flight().count, 0U);
}

TEST(InFlightTable, MayBeReadWhileSessionsComeAndGo) {
  const Watchdog watchdog(60);
  World world;
  std::atomic<bool> stop{false};
  std::thread observer([&] {
    while (!stop) {
      EXPECT_LE(world.stack.in_flight().count, 2U * 8);
      EXPECT_LT(world.stack.in_flight().oldest_age_ns, 60 * kNsPerSecond);
    }
  });
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      SCOPED_TRACE(testing::Message() << "seed " << 40 + t);
      Prng prng(40 + t);
      for (int round = 0; round < 40; ++round) {
        JobSpec wanted;
        wanted.depth = 8;
        wanted.tunables = tunables({{"device", "null"}, {"max_active", "3"}});
        Job job(world.stack, wanted);
        job.run(prng, 50);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  observer.join();
}

}  // namespace
}  // namespace sluice::stack_test
