// What Session promises: every slot comes back once with its result, whatever the limits, the mode
// and the other jobs on the leaf.
#include "scheduler/stack/session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "scheduler/base/units.h"
#include "scheduler/stack/stack_test_rig.h"

namespace sluice::stack_test {
namespace {

/// A model that is quick, so that the tests are, and lets completions overtake each other.
const Settings kQuickModel{{"device", "model"},         {"model_channels", "3"},
                           {"model_read_time", "20us"}, {"model_write_time", "10us"},
                           {"model_trim_time", "30us"}, {"model_flush_time", "40us"},
                           {"model_jitter", "80"}};

Tunables on(const std::string& device, const Settings& more = {}) {
  Settings settings = device == "model" ? kQuickModel : Settings{{"device", device}};
  settings.insert(settings.end(), more.begin(), more.end());
  return tunables(settings);
}

struct Case {
  const char* device;
  const char* queue;
  const char* bypass;
  const char* rule = "no_important";
};
std::string name_of(const Case& setup) {
  std::string name = std::string(setup.device) + "_" + setup.queue + "_" + setup.bypass;
  if (std::string(setup.bypass) == "hybrid") name += std::string("_") + setup.rule;
  return name;
}
void PrintTo(const Case& setup, std::ostream* out) { *out << name_of(setup); }

/// I/Os of the job that passed a queue, by its own statistics.
std::uint64_t queued_of(const Job& job) {
  std::uint64_t sum = 0;
  for (const ClassStats& c : const_cast<Job&>(job).session().stats().classes)
    sum += c.queued.load();
  return sum;
}

class SessionContract : public testing::TestWithParam<Case> {
 protected:
  JobSpec spec(unsigned depth, const Settings& more = {}) {
    Settings settings{{"queue", GetParam().queue},
                      {"bypass", GetParam().bypass},
                      {"hybrid_rule", GetParam().rule}};
    settings.insert(settings.end(), more.begin(), more.end());
    JobSpec out;
    out.depth = depth;
    out.tunables = on(GetParam().device, settings);
    return out;
  }
  bool queues() const { return std::string(GetParam().bypass) == "off"; }

  Watchdog watchdog_{60};
  World world_;
};

INSTANTIATE_TEST_SUITE_P(
    Devices, SessionContract,
    testing::Values(Case{"null", "fast", "off"}, Case{"null", "fast", "all"},
                    Case{"null", "fast", "direct"}, Case{"null", "fast", "hybrid"},
                    Case{"null", "classic", "off"}, Case{"model", "fast", "off"},
                    Case{"model", "fast", "all"}, Case{"model", "classic", "off"},
                    Case{"model", "fast", "direct"}, Case{"model", "fast", "hybrid"},
                    Case{"model", "fast", "hybrid", "class_empty"},
                    Case{"model", "fast", "hybrid", "idle"}, Case{"model", "classic", "hybrid"},
                    Case{"model", "classic", "hybrid", "class_empty"},
                    Case{"model", "classic", "hybrid", "idle"}),
    [](const auto& instance) { return name_of(instance.param); });

TEST_P(SessionContract, EverySlotComesBackOnceAtAnyDepth) {
  for (const unsigned depth : {1U, 2U, 7U, 32U, 256U}) {
    const std::uint64_t seed = 1000 + depth;
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", depth " << depth);
    JobSpec wanted = spec(depth);
    wanted.paths = {"/sluice-test/depth-" + std::to_string(depth)};
    Job job(world_.stack, wanted);
    Prng prng(seed);
    job.run(prng, 1500);
    EXPECT_EQ(job.ended(), 1500U);
    job.check_stats();
    const LeafCounts leaf = counts(world_.leaf(wanted.paths[0], wanted.tunables));
    EXPECT_EQ(leaf.granted, queued_of(job));
    if (queues()) {
      EXPECT_EQ(leaf.granted, job.ended_not_flush());
    }
    if (std::string(GetParam().bypass) == "all") {
      EXPECT_EQ(leaf.granted, 0U);
    }
    EXPECT_EQ(leaf.waited, 0U);
  }
}

TEST_P(SessionContract, ReapKeepsBetweenMinAndMax) {
  Job job(world_.stack, spec(8));
  for (int i = 0; i < 8; ++i) job.submit(Op::read);
  job.commit();
  EXPECT_EQ(job.reap(3, 3), 3U);
  EXPECT_LE(job.reap(0, 2), 2U);
  const unsigned left = job.outstanding();
  EXPECT_EQ(job.reap(left, 8), left);
  EXPECT_EQ(job.reap(0, 8), 0U);
}

TEST_P(SessionContract, DeferredCommitIsPushedByTheReapThatWaits) {
  Job job(world_.stack, spec(8));
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 4; ++i) job.submit(Op::write);
    job.commit(true);
    EXPECT_EQ(job.reap(4, 8), 4U);
  }
}

TEST_P(SessionContract, DeferredCommitIsPushedByTheReapThatDoesNotWait) {
  Job job(world_.stack, spec(8));
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 4; ++i) job.submit(Op::write);
    job.commit(true);
    job.reap(0, 8);
    // At the device now: only looking brings them in.
    while (job.outstanding() > 0) job.reap(0, 8);
  }
}

TEST_P(SessionContract, BindingLimitsHoldAndLetEverythingThrough) {
  for (const unsigned cap : {1U, 2U, 3U, 5U}) {
    const std::uint64_t seed = 2000 + cap;
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", max_active " << cap);
    JobSpec wanted = spec(16, {{"max_active", std::to_string(cap)}});
    wanted.paths = {"/sluice-test/cap-" + std::to_string(cap)};
    Job job(world_.stack, wanted);
    Prng prng(seed);
    job.run(prng, 600);
    job.check_stats();
    const Leaf& leaf = world_.leaf(wanted.paths[0], wanted.tunables);
    EXPECT_EQ(leaf.queue().active(), 0U);
    EXPECT_EQ(leaf.queue().waiting(), 0U);
    EXPECT_EQ(counts(leaf).granted, queued_of(job));
    EXPECT_LE(counts(leaf).active_max, cap);
    EXPECT_EQ(counts(leaf).waited, job.session().stats().waited.load());
    if (queues()) {
      EXPECT_GT(counts(leaf).waited, 0U);
    }
  }
}

TEST_P(SessionContract, ClassLimitsHoldForBufferedJobsToo) {
  JobSpec wanted = spec(16, {{"async_read_max_active", "1"}, {"async_write_max_active", "2"}});
  wanted.direct = false;
  Job job(world_.stack, wanted);
  SCOPED_TRACE("seed 5");
  Prng prng(5);
  job.run(prng, 600);
  job.check_stats();
}

TEST_P(SessionContract, FilesOfOneJobHaveLeavesOfTheirOwn) {
  JobSpec wanted = spec(24, {{"max_active", "2"}});
  wanted.paths = {"/sluice-test/a", "/sluice-test/b", "/sluice-test/c"};
  Job job(world_.stack, wanted);
  SCOPED_TRACE("seed 6");
  Prng prng(6);
  job.run(prng, 1500);
  job.check_stats();
  std::uint64_t granted = 0;
  for (const std::string& path : wanted.paths) {
    const Leaf& leaf = world_.leaf(path, wanted.tunables);
    EXPECT_LE(counts(leaf).active_max, 2U);
    EXPECT_EQ(leaf.queue().active(), 0U);
    granted += counts(leaf).granted;
  }
  EXPECT_EQ(granted, queued_of(job));
}

TEST_P(SessionContract, SessionsInTwoThreadsShareALeafAndBothFinish) {
  for (const unsigned cap : {1U, 2U, 3U}) {
    SCOPED_TRACE(testing::Message() << "seeds 100*max_active + job, max_active " << cap);
    JobSpec wanted = spec(8, {{"max_active", std::to_string(cap)}});
    wanted.paths = {"/sluice-test/shared-" + std::to_string(cap)};
    std::atomic<std::uint64_t> queued{0};
    std::atomic<std::uint64_t> waited{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        JobSpec mine = wanted;
        mine.name = "job " + std::to_string(t);
        mine.first_block = t * wanted.blocks();
        Job job(world_.stack, mine);
        Prng prng(100 * cap + t);
        job.run(prng, 1000, [&] { sleep_ns(prng.below(2) * 300 * kNsPerUs); });
        job.check_stats();
        queued += queued_of(job);
        waited += job.session().stats().waited.load();
      });
    }
    for (std::thread& thread : threads) thread.join();
    const Leaf& leaf = world_.leaf(wanted.paths[0], wanted.tunables);
    EXPECT_EQ(counts(leaf).granted, queued.load());
    EXPECT_EQ(counts(leaf).waited, waited.load());
    EXPECT_LE(counts(leaf).active_max, cap);
    EXPECT_EQ(leaf.queue().active(), 0U);
    EXPECT_EQ(leaf.queue().waiting(), 0U);
  }
}

TEST(FastQueueInTheStack, TwoJobsTakeItsLockOnlyUntilTheyHoldWhatTheyNeed) {
  const Watchdog watchdog(60);
  World world;
  JobSpec wanted;
  wanted.tunables = on("null", {{"queue", "fast"}});
  Leaf& leaf = world.leaf(wanted.paths[0], wanted.tunables);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      SCOPED_TRACE(testing::Message() << "seed " << 700 + t);
      JobSpec mine = wanted;
      mine.first_block = t * wanted.blocks();
      Job job(world.stack, mine);
      Prng prng(700 + t);
      job.run(prng, 20'000);
    });
  }
  for (std::thread& thread : threads) thread.join();
  LeafStats stats;
  leaf.queue().read_stats(stats);
  // At most once for each permission that they may ever hold: a class for each I/O of the depth.
  EXPECT_LE(stats.locked.load(), 2U * wanted.depth * kIoClasses);
}

/// Every mode and rule, one after the other.
void set_mode(Leaf& leaf, std::uint64_t number) {
  constexpr enum sluice_bypass kModes[] = {SLUICE_bypass_off, SLUICE_bypass_hybrid,
                                           SLUICE_bypass_direct, SLUICE_bypass_all};
  constexpr enum sluice_hybrid_rule kRules[] = {
      SLUICE_hybrid_rule_idle, SLUICE_hybrid_rule_class_empty, SLUICE_hybrid_rule_no_important};
  leaf.set_hybrid_rule(kRules[number % 3]);
  leaf.set_bypass(kModes[number % 4]);
}

class Toggled : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Queues, Toggled, testing::Values("fast", "classic"),
                         [](const auto& instance) { return instance.param; });

TEST_P(Toggled, HundredThousandChangesOfModeUnderLoadLoseNothing) {
  constexpr std::uint64_t kChanges = 100'000;
  constexpr unsigned kThreads = 3;
  const Watchdog watchdog(100);
  World world;
  JobSpec wanted;
  wanted.depth = 8;
  wanted.tunables = on("null", {{"max_active", "5"}, {"queue", GetParam()}});
  Leaf& leaf = world.leaf(wanted.paths[0], wanted.tunables);
  std::atomic<std::uint64_t> changes{0};
  std::atomic<std::uint64_t> queued{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      SCOPED_TRACE(testing::Message() << "seed " << 300 + t);
      JobSpec mine = wanted;
      mine.first_block = t * wanted.blocks();
      // One of them is what hybrid never lets by.
      if (t == 0) mine.tunables.important = 1;
      Job job(world.stack, mine);
      Prng prng(300 + t);
      // Each changes the mode for all, with its own I/O and that of the others in flight.
      for (std::uint64_t change = 0; change < kChanges; change = changes++) {
        set_mode(leaf, change);
        job.some(prng);
      }
      job.finish();
      job.check_stats();
      queued += queued_of(job);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(changes.load(), kChanges);
  EXPECT_EQ(counts(leaf).granted, queued.load());
  EXPECT_LE(counts(leaf).active_max, 5U);
  EXPECT_EQ(leaf.queue().active(), 0U);
  EXPECT_EQ(leaf.queue().waiting(), 0U);
}

TEST_P(SessionContract, ClosingDrainsWhatIsInFlight) {
  const JobSpec wanted = spec(16, {{"max_active", "3"}});
  const Leaf& leaf = world_.leaf(wanted.paths[0], wanted.tunables);
  for (int round = 0; round < 20; ++round) {
    Job job(world_.stack, wanted);
    for (int i = 0; i < 10; ++i) job.submit(i % 2 == 0 ? Op::read : Op::write);
    job.commit(round % 2 == 0);
    // Staged and never committed.
    for (int i = 0; i < 3; ++i) job.submit(Op::read);
    EXPECT_TRUE(job.close().ok());
    EXPECT_EQ(leaf.queue().active(), 0U);
    EXPECT_EQ(leaf.queue().waiting(), 0U);
  }
  if (queues()) {
    EXPECT_EQ(counts(leaf).granted, 20U * 13);
  }
}

TEST(Session, FlushesSkipTheQueue) {
  const Watchdog watchdog(60);
  World world;
  JobSpec wanted;
  wanted.tunables = on("model", {{"max_active", "1"}, {"model_read_time", "5ms"}});
  Job job(world.stack, wanted);
  for (int i = 0; i < 4; ++i) job.submit(Op::read);
  for (int i = 0; i < 2; ++i) job.submit(i == 0 ? Op::flush : Op::data_sync);
  job.commit();
  // One read and both flushes, whatever waits.
  EXPECT_EQ(world.stack.in_flight().count, 3U);
  job.finish();
  job.check_stats();
  const auto& writes = job.session().stats().classes[static_cast<unsigned>(IoClass::sync_write)];
  EXPECT_EQ(writes.ops.load(), 2U);
  EXPECT_EQ(writes.queued.load(), 0U);
  EXPECT_EQ(writes.queue_ns.max(), 0U);
  EXPECT_EQ(counts(world.leaf(wanted.paths[0], wanted.tunables)).granted, 4U);
}

TEST(Session, APermissionGivenBackIsUsedAtOnce) {
  const Watchdog watchdog(60);
  World world;
  JobSpec wanted;
  wanted.tunables = tunables({{"device", "model"},
                              {"max_active", "2"},
                              {"model_read_time", "300ms"},
                              {"model_write_time", "1ms"}});
  Job job(world.stack, wanted);
  job.submit(Op::read);
  for (int i = 0; i < 4; ++i) job.submit(Op::write);
  job.commit();
  job.finish();
  job.check_stats();
  // The writes follow each other beside the slow read; none waits for it.
  const auto& writes = job.session().stats().classes[static_cast<unsigned>(IoClass::sync_write)];
  EXPECT_LT(writes.queue_ns.max(), 200 * kNsPerMs);
}

TEST(Session, AnInterruptedJobWaitsForNoLimit) {
  const Watchdog watchdog(60);
  World world;
  JobSpec wanted;
  wanted.depth = 32;
  wanted.tunables = tunables({{"device", "model"},
                              {"max_active", "1"},
                              {"model_channels", "32"},
                              {"model_read_time", "200ms"}});
  Job job(world.stack, wanted);
  while (job.room() > 0) job.submit(Op::read);
  job.commit();
  EXPECT_EQ(world.stack.in_flight().count, 1U);
  // From another thread, while the job sleeps in its reap: one at a time would be 6.4 s.
  std::thread interrupt([&] {
    sleep_ns(20 * kNsPerMs);
    job.session().hurry();
  });
  const std::uint64_t start = world.clock.now_ns();
  job.finish();
  EXPECT_LT(world.clock.now_ns() - start, 3 * kNsPerSecond);
  interrupt.join();
  job.check_stats();
  const Leaf& leaf = world.leaf(wanted.paths[0], wanted.tunables);
  EXPECT_EQ(leaf.queue().active(), 0U);
  EXPECT_EQ(leaf.queue().waiting(), 0U);
  // The one that had permission gave it back; the others never had one.
  EXPECT_LE(counts(leaf).granted, 2U);
}

TEST(Session, JobsClassIsThatOfItsReadsAndWrites) {
  const Watchdog watchdog(60);
  World world;
  JobSpec wanted;
  wanted.tunables = tunables({{"device", "null"}, {"io_class", "scrub"}});
  Job job(world.stack, wanted);
  job.submit(Op::read);
  job.submit(Op::write);
  job.submit(Op::trim);
  job.commit();
  job.finish();
  job.session().refresh_stats();
  const JobStats& stats = job.session().stats();
  EXPECT_EQ(stats.classes[static_cast<unsigned>(IoClass::scrub)].ops.load(), 2U);
  EXPECT_EQ(stats.classes[static_cast<unsigned>(IoClass::trim)].ops.load(), 1U);
}

TEST(Session, RefreshingStatisticsTwiceChangesNothing) {
  const Watchdog watchdog(60);
  World world;
  JobSpec wanted;
  wanted.tunables = on("model", {{"max_active", "2"}});
  Job job(world.stack, wanted);
  SCOPED_TRACE("seed 7");
  Prng prng(7);
  for (int i = 0; i < 3; ++i) {
    job.run(prng, 100);
    job.check_stats();
    job.check_stats();
  }
}

// ---- a device that breaks its word -----------------------------------------------------------

/// Returns each request, then returns it again.
class TwiceChannel final : public Channel {
 public:
  void attach(Target&) override {}
  void detach(Target&) override {}
  bool submit(Request& request) override {
    last_ = &request;
    ++in_flight_;
    return true;
  }
  int commit() override { return 0; }
  unsigned poll(Request** ended, unsigned max) override {
    if (last_ == nullptr || max < 2) return 0;
    last_->result = static_cast<std::int32_t>(last_->length);
    ended[0] = ended[1] = last_;
    return 2;
  }
  int wait(unsigned, bool) override { return 0; }
  int wait_for(std::uint64_t, bool) override { return 0; }
  void wake() noexcept override {}

 private:
  Request* last_ = nullptr;
};

class TwiceFactory final : public ChannelFactory {
 public:
  Result<std::unique_ptr<Channel>> open(const ChannelConfig&, std::string&) override {
    return std::unique_ptr<Channel>(std::make_unique<TwiceChannel>());
  }
};

TEST(SessionDeathTest, ARequestThatADeviceReturnsTwiceIsCaught) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto run = [] {
    const MonotonicClock clock;
    DeviceRegistry devices(clock);
    const Tunables used = tunables({{"device", "null"}, {"bypass", "all"}});
    const auto channels = std::make_shared<TwiceFactory>();
    Courier courier(channels, clock);
    Leaf leaf("a", "job", used, {}, devices.open(used, "a").value());
    SessionConfig config;
    config.depth = 4;
    config.tunables = used;
    std::string note;
    auto session = Session::open(config, clock, {nullptr, channels}, courier, note);
    Target& target = session.value()->open_file(leaf, -1);
    session.value()->submit(0, Op::read, target, nullptr, 512, 0);
    session.value()->commit(false);
    session.value()->reap(1, 4);
  };
  EXPECT_DEATH(run(), "at_device");
}

}  // namespace
}  // namespace sluice::stack_test
