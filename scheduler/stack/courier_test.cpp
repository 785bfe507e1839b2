// The courier: grants of a session that stays away don't hold up the others, and come back to it
// once. Mailboxes and couriers outlive whoever still delivers to them.
#include "scheduler/stack/courier.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "scheduler/base/units.h"
#include "scheduler/stack/stack_test_rig.h"

namespace sluice::stack_test {
namespace {

class Couriers : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (kind() != "auto") return;
    if (const auto why = io_uring_missing()) GTEST_SKIP() << *why;
    file_ = std::make_unique<TempFile>(8 * kMiB);
  }

  std::string kind() const { return GetParam(); }

  JobSpec spec(const std::string& name, unsigned depth, unsigned cap) {
    Settings settings{{"device", kind()}, {"max_active", std::to_string(cap)}, {"queue", queue_}};
    if (kind() == "model") {
      for (const char* time : {"read", "write", "trim", "flush"}) {
        settings.emplace_back("model_" + std::string(time) + "_time", "10us");
      }
    }
    JobSpec out;
    out.name = name;
    out.depth = depth;
    out.tunables = tunables(settings);
    if (file_ != nullptr) {
      out.paths = {file_->path()};
      out.fds = {file_->fd()};
    }
    return out;
  }

  // Only there do requests cross threads; the fast queue's permissions need no carrying.
  std::string queue_ = "classic";
  Watchdog watchdog_{60};
  std::unique_ptr<TempFile> file_;
  World world_;
};

INSTANTIATE_TEST_SUITE_P(Devices, Couriers, testing::Values("null", "model", "auto"),
                         [](const auto& instance) {
                           return std::string(instance.param) == "auto" ? "uring" : instance.param;
                         });

TEST_P(Couriers, GrantsOfAnAbsentSessionDoNotHoldUpTheOthers) {
  JobSpec wanted = spec("absent", 4, 2);
  Leaf& leaf = world_.leaf(wanted.paths[0], wanted.tunables);
  Job absent(world_.stack, wanted);
  wanted = spec("busy", 4, 2);
  wanted.first_block = 4 * wanted.blocks();
  Job busy(world_.stack, wanted);
  for (unsigned round = 0; round < 20; ++round) {
    // busy has all of the leaf; what absent wants has to wait.
    for (int i = 0; i < 2; ++i) busy.submit(Op::write, 0, round);
    busy.commit();
    for (int i = 0; i < 2; ++i) absent.submit(round % 2 == 0 ? Op::write : Op::read, 0, round / 2);
    absent.commit();
    ASSERT_EQ(leaf.queue().waiting(), 2U);
    // This grants absent's, which nobody but the courier can issue.
    ASSERT_EQ(busy.reap(2, 2), 2U);
    for (int i = 0; i < 2; ++i) busy.submit(Op::read, 0, round);
    busy.commit();
    ASSERT_EQ(busy.reap(2, 2), 2U);
    // One slot is enough for busy, so the other may be on its way still.
    while (leaf.queue().active() > 0) sleep_ns(10 * kNsPerUs);
    // Ended at the device, though absent knows nothing of it.
    EXPECT_EQ(world_.stack.in_flight().count, 0U);
    // Once, with data: Job checks it.
    ASSERT_EQ(absent.reap(2, 4), 2U);
    EXPECT_EQ(absent.reap(0, 4), 0U);
  }
  absent.check_stats();
  busy.check_stats();
  EXPECT_EQ(absent.session().stats().carried.load(), 40U);
  EXPECT_EQ(absent.session().stats().waited.load(), 40U);
  EXPECT_GT(absent.session().stats().elapsed_ns.load(), 0U);
}

TEST_P(Couriers, ASessionMayCloseWhileItsRequestsAreCarried) {
  JobSpec wanted = spec("busy", 8, 2);
  Leaf& leaf = world_.leaf(wanted.paths[0], wanted.tunables);
  Job busy(world_.stack, wanted);
  for (unsigned round = 0; round < 30; ++round) {
    wanted = spec("leaving", 8, 2);
    wanted.first_block = 4 * wanted.blocks();
    Job leaving(world_.stack, wanted);
    for (int i = 0; i < 2; ++i) busy.submit(Op::write);
    busy.commit();
    for (int i = 0; i < 6; ++i) leaving.submit(Op::write);
    leaving.commit();
    ASSERT_EQ(busy.reap(2, 2), 2U);
    // From before the courier looks until after it has carried all.
    sleep_ns(round * 20 * kNsPerUs);
    EXPECT_TRUE(leaving.close().ok());
    EXPECT_EQ(leaf.queue().active(), 0U);
    EXPECT_EQ(leaf.queue().waiting(), 0U);
  }
}

TEST_P(Couriers, AnAbsentSessionsPermissionsGoToTheOthersAndBack) {
  queue_ = "fast";
  JobSpec wanted = spec("absent", 4, 2);
  Leaf& leaf = world_.leaf(wanted.paths[0], wanted.tunables);
  Job absent(world_.stack, wanted);
  wanted = spec("busy", 4, 2);
  wanted.first_block = 4 * wanted.blocks();
  Job busy(world_.stack, wanted);
  for (unsigned round = 0; round < 20; ++round) {
    for (int i = 0; i < 4; ++i) busy.submit(Op::write, 0, round);
    busy.commit();
    for (int i = 0; i < 2; ++i) absent.submit(round % 2 == 0 ? Op::write : Op::read, 0, round / 2);
    absent.commit();
    // Each of busy's gives absent a permission, which is not used; busy needs one for each of its
    // own, and gets it back when absent has not come for a while.
    for (int i = 0; i < 4; ++i) ASSERT_EQ(busy.reap(1, 1), 1U);
    ASSERT_EQ(absent.reap(2, 4), 2U);
    EXPECT_EQ(world_.stack.in_flight().count, 0U);
    EXPECT_EQ(leaf.queue().active(), 0U);
  }
  EXPECT_LE(counts(leaf).active_max, 2U);
  EXPECT_EQ(absent.session().stats().carried.load(), 0U);
  absent.check_stats();
  busy.check_stats();
}

class ComingAndGoing : public Couriers {
 protected:
  void run();
};
INSTANTIATE_TEST_SUITE_P(Devices, ComingAndGoing, testing::Values("null", "model", "auto"),
                         [](const auto& instance) {
                           return std::string(instance.param) == "auto" ? "uring" : instance.param;
                         });

TEST_P(ComingAndGoing, SessionsComeAndGoWhileGrantsFly) { run(); }
TEST_P(ComingAndGoing, SessionsComeAndGoWhilePermissionsFly) {
  queue_ = "fast";
  run();
}

void ComingAndGoing::run() {
  constexpr unsigned kThreads = 3;
  const JobSpec wanted = spec("job", 6, 2);
  Leaf& leaf = world_.leaf(wanted.paths[0], wanted.tunables);
  std::atomic<std::uint64_t> carried{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      SCOPED_TRACE(testing::Message() << "seed " << 500 + t);
      Prng prng(500 + t);
      for (int round = 0; round < 40; ++round) {
        JobSpec mine = wanted;
        mine.first_block = t * wanted.blocks();
        Job job(world_.stack, mine);
        for (int i = 0; i < 6; ++i) {
          while (job.room() > 1) job.submit(prng.chance(0.5) ? Op::write : Op::read);
          job.commit();
          if (prng.chance(0.2)) sleep_ns(prng.below(500) * kNsPerUs);
          job.reap(prng.chance(0.5) ? 1 : 0, 6);
        }
        carried += job.session().stats().carried.load();
        // Closes with up to five in flight, waiting, granted or carried.
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(leaf.queue().active(), 0U);
  EXPECT_EQ(leaf.queue().waiting(), 0U);
  EXPECT_LE(counts(leaf).active_max, 2U);
  RecordProperty("carried", std::to_string(carried.load()));
}

TEST_P(Couriers, NothingIsCarriedForSessionsThatReap) {
  // Alone on its leaf a session grants to itself: no mailbox, no courier.
  Job job(world_.stack, spec("alone", 16, 2));
  SCOPED_TRACE("seed 9");
  Prng prng(9);
  job.run(prng, 500, [] { sleep_ns(300 * kNsPerUs); });
  job.check_stats();
  EXPECT_EQ(job.session().stats().carried.load(), 0U);
  EXPECT_EQ(job.session().stats().granted_by_others.load(), 0U);
}

/// The null device, of which the courier gets no channel.
class NoChannelForTheCourier final : public DeviceSource {
 public:
  explicit NoChannelForTheCourier(const Clock& clock) : devices_(clock) {}
  Result<DeviceHandle> open(const Tunables& tunables, const std::string& path) override {
    auto handle = devices_.open(tunables, path);
    if (!handle) return handle.error();
    return DeviceHandle{handle.value().device, std::make_shared<Factory>(handle.value().channels)};
  }
  std::string channel_kind(const Tunables& tunables) const override {
    return devices_.channel_kind(tunables);
  }

 private:
  class Factory final : public ChannelFactory {
   public:
    explicit Factory(std::shared_ptr<ChannelFactory> real) : real_(std::move(real)) {}
    Result<std::unique_ptr<Channel>> open(const ChannelConfig& config, std::string& note) override {
      if (config.depth == Courier::kDepth) return Error{EMFILE, "too many open files"};
      return real_->open(config, note);
    }

   private:
    std::shared_ptr<ChannelFactory> real_;
  };

  DeviceRegistry devices_;
};

TEST(Courier, WithoutAChannelGrantsStayWithTheirOwner) {
  const Watchdog watchdog(60);
  const MonotonicClock clock;
  NoChannelForTheCourier devices(clock);
  Stack stack(clock, devices);
  JobSpec wanted;
  wanted.tunables = tunables({{"device", "null"}, {"max_active", "1"}, {"queue", "classic"}});
  Job first(stack, wanted);
  Job second(stack, wanted);
  for (int round = 0; round < 5; ++round) {
    first.submit(Op::read);
    first.commit();
    second.submit(Op::read);
    second.commit();
    EXPECT_EQ(first.reap(1, 1), 1U);
    sleep_ns(2 * Courier::kGraceNs);
    EXPECT_EQ(second.reap(1, 1), 1U);
  }
  EXPECT_EQ(second.session().stats().granted_by_others.load(), 5U);
  EXPECT_EQ(second.session().stats().carried.load(), 0U);
}

}  // namespace
}  // namespace sluice::stack_test
