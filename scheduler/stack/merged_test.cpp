// Aggregates through the whole stack: several jobs, one file, one I/O at the device.
#include "scheduler/stack/merged.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "scheduler/stack/stack_test_rig.h"

namespace sluice::stack_test {
namespace {

/// Few at the device, so that neighbours wait for each other.
Settings merging(const char* device) {
  return {{"device", device},          {"max_active", "2"},         {"aggregation_limit", "64k"},
          {"read_gap_limit", "8k"},    {"model_read_time", "20us"}, {"model_write_time", "20us"},
          {"model_flush_time", "20us"}};
}

struct MergeCounts {
  std::uint64_t aggregates;
  std::uint64_t merged;
};
MergeCounts merge_counts(const Leaf& leaf) {
  LeafStats stats;
  leaf.queue().read_stats(stats);
  return {stats.aggregates.load(), stats.merged.load()};
}

/// Jobs side by side on one file; each checks its own data and statistics.
void run_side_by_side(const char* device, std::uint64_t ops) {
  const Watchdog watchdog(100);
  World world;
  constexpr unsigned kJobs = 3;
  TempFile file(kJobs * std::uint64_t{16} * kBlocksPerSlot * kBlock);
  const Tunables used = tunables(merging(device));
  std::array<std::uint64_t, kJobs> merged{};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kJobs; ++i) {
    threads.emplace_back([&, i] {
      JobSpec spec;
      spec.name = "job" + std::to_string(i);
      spec.tunables = used;
      spec.paths = {file.path()};
      spec.fds = {file.fd()};
      spec.first_block = i * spec.blocks();
      Job job(world.stack, spec);
      Prng prng(100 + i);
      job.run(prng, ops);
      job.finish();
      job.check_stats();
      merged[i] = job.session().stats().merged.load();
    });
  }
  for (std::thread& thread : threads) thread.join();
  const MergeCounts leaf = merge_counts(world.leaf(file.path(), used));
  EXPECT_GT(leaf.aggregates, ops / 100);
  EXPECT_GE(leaf.merged, 2 * leaf.aggregates);
  EXPECT_EQ(leaf.merged, merged[0] + merged[1] + merged[2]) << "no transfer was short";
}

TEST(Merged, JobsOnAModelShareTheirIoAndKeepTheirData) { run_side_by_side("model", 4000); }

TEST(Merged, JobsOnAFileShareTheirIoAndKeepTheirData) {
  if (const auto missing = io_uring_missing()) GTEST_SKIP() << *missing;
  run_side_by_side("auto", 2000);
}

// Of an aggregate across the end of the device each part has the result that it has alone.
TEST(Merged, APartThatTheTransferDidNotReachIsDoneAgainAlone) {
  const Watchdog watchdog(60);
  World world;
  Settings settings = merging("model");
  settings.emplace_back("sync_read_max_active", "1");
  const Tunables used = tunables(settings);
  Leaf& leaf = world.leaf("/sluice-test/end", used);
  const std::uint64_t end = leaf.device().limits().size_bytes;
  std::vector<std::byte> buffers(std::size_t{4} * kBlock);
  SessionConfig config;
  config.depth = 4;
  config.direct = true;
  config.tunables = used;
  std::string note;
  auto session = world.stack.open_session(config, note);
  ASSERT_TRUE(session.ok());
  Target& target = session.value()->open_file(leaf, -1);
  // The first holds the only permission; the others wait, side by side.
  const std::array<std::uint64_t, 4> offsets{0, end - 2 * kBlock, end - kBlock, end};
  for (unsigned i = 0; i < 4; ++i) {
    session.value()->submit(i, Op::read, target, &buffers[std::size_t{i} * kBlock], kBlock,
                            offsets.at(i));
  }
  ASSERT_EQ(session.value()->commit(false), 0);
  std::array<std::int32_t, 4> results{-1, -1, -1, -1};
  while (session.value()->outstanding() > 0) {
    const int count = session.value()->reap(1, 4);
    ASSERT_GT(count, 0);
    for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
      const Session::Ended ended = session.value()->ended(i);
      EXPECT_EQ(results.at(ended.slot), -1) << "slot " << ended.slot << " ended twice";
      results.at(ended.slot) = ended.result;
    }
  }
  EXPECT_EQ(results, (std::array<std::int32_t, 4>{kBlock, kBlock, kBlock, 0}));
  EXPECT_EQ(merge_counts(leaf).aggregates, 1U);
  EXPECT_EQ(merge_counts(leaf).merged, 3U);
  EXPECT_EQ(session.value()->stats().merged.load(), 2U);
  EXPECT_EQ(leaf.queue().active(), 0U);
  session.value()->close_file(target);
  EXPECT_TRUE(world.stack.close_session(std::move(session.value())).ok());
}

}  // namespace
}  // namespace sluice::stack_test
