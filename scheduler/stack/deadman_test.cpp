// The deadman on a stepped clock: every I/O that hangs is told of in time, in every mode, and none
// that only waits in a queue.
#include "scheduler/stack/deadman.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <set>

#include "scheduler/base/prng.h"
#include "scheduler/stack/overseer.h"
#include "scheduler/stack/stack_test_rig.h"
#include "scheduler/testing/sim_clock.h"

namespace sluice::stack_test {
namespace {

constexpr std::uint64_t kMs = kNsPerMs;

// ---- the look alone -----------------------------------------------------------------------------

class Looks : public testing::Test {
 protected:
  void issue(unsigned slot, std::uint64_t at_ns) {
    slots_[slot].slot = slot;
    slots_[slot].issued_ns.store(at_ns, std::memory_order_release);
  }
  /// As the overseer: again after the owner was prodded.
  Deadman::Findings look(Deadman& deadman, std::uint64_t now_ns, bool hurried = false) {
    auto found = deadman.look(all(), now_ns, hurried);
    return found.look_again ? deadman.look(all(), now_ns, hurried) : found;
  }
  std::span<const Request> all() const { return {slots_.get(), 4}; }

  std::unique_ptr<Request[]> slots_ = std::make_unique<Request[]>(4);
};

TEST_F(Looks, AnIoIsToldOfOnceAndThenNowAndAgain) {
  Deadman deadman({.deadman_ns = 100 * kMs, .check_ns = 10 * kMs}, 4);
  issue(1, 1 * kMs);
  EXPECT_TRUE(look(deadman, 100 * kMs).news.empty());
  const auto found = look(deadman, 101 * kMs);
  ASSERT_EQ(found.news.size(), 1U);
  EXPECT_EQ(found.news[0].slot, 1U);
  EXPECT_EQ(found.overdue, 1U);
  EXPECT_TRUE(look(deadman, 111 * kMs).news.empty());
  EXPECT_FALSE(look(deadman, 200 * kMs).still);
  EXPECT_TRUE(look(deadman, 201 * kMs).still);
  EXPECT_FALSE(look(deadman, 202 * kMs).still);
  // The slot's next I/O is another one.
  issue(1, 150 * kMs);
  EXPECT_EQ(look(deadman, 250 * kMs).news.size(), 1U);
}

TEST_F(Looks, NothingIsToldOfBeforeItsOwnerWasMadeToPoll) {
  Deadman deadman({.deadman_ns = 100 * kMs, .check_ns = 400 * kMs}, 4);
  issue(0, 1);
  auto found = deadman.look(all(), 400 * kMs, false);
  EXPECT_TRUE(found.prod);
  EXPECT_TRUE(found.look_again);
  EXPECT_TRUE(found.news.empty());
  found = deadman.look(all(), 401 * kMs, false);
  EXPECT_EQ(found.news.size(), 1U);
}

TEST_F(Looks, CancelGivesUpWhatIsOverdueAndNothingElse) {
  Deadman deadman({.deadman_ns = 100 * kMs, .check_ns = 10 * kMs, .cancel = true}, 4);
  issue(0, 1 * kMs);
  issue(1, 50 * kMs);
  const auto found = look(deadman, 120 * kMs);
  ASSERT_EQ(found.give_up.size(), 1U);
  EXPECT_EQ(found.give_up[0].slot, 0U);
}

TEST_F(Looks, ReportGivesUpOnlyWhenTheJobWaitsForNothingElse) {
  Deadman deadman({.deadman_ns = 100 * kMs, .check_ns = 10 * kMs}, 4);
  issue(0, 1 * kMs);
  issue(1, 150 * kMs);
  EXPECT_TRUE(look(deadman, 240 * kMs).give_up.empty()) << "the other one is young";
  EXPECT_TRUE(look(deadman, 340 * kMs).give_up.empty()) << "not twice as old yet";
  EXPECT_EQ(look(deadman, 350 * kMs).give_up.size(), 2U);
}

TEST_F(Looks, AfterAnInterruptWhatStaysIsGivenUpAlsoWithoutADeadman) {
  Deadman deadman({.check_ns = 10 * kMs}, 4);
  issue(0, 1);
  EXPECT_TRUE(look(deadman, 3600 * kNsPerSecond).give_up.empty());
  const std::uint64_t start = 3600 * kNsPerSecond;
  EXPECT_TRUE(look(deadman, start, true).give_up.empty());
  EXPECT_TRUE(look(deadman, start + Deadman::kGraceNs - 1, true).give_up.empty());
  issue(1, start + Deadman::kGraceNs - 1);
  const auto found = look(deadman, start + Deadman::kGraceNs, true);
  ASSERT_EQ(found.give_up.size(), 1U);
  EXPECT_EQ(found.give_up[0].slot, 0U);
  EXPECT_TRUE(found.news.empty());
}

TEST_F(Looks, AbandonedIoIsNotSeenAgain) {
  Deadman deadman({.deadman_ns = 100 * kMs, .check_ns = 10 * kMs, .cancel = true}, 4);
  issue(0, 1);
  slots_[0].abandoned = true;
  const auto found = look(deadman, 500 * kMs);
  EXPECT_EQ(found.in_flight, 0U);
  EXPECT_TRUE(found.give_up.empty());
}

// ---- sessions on a stepped clock ----------------------------------------------------------------

/// A device of which the test says what is done, and which the session polls.
class ScriptedChannel final : public Channel {
 public:
  void attach(Target&) override {}
  void detach(Target&) override {}
  bool submit(Request& request) override {
    if (in_flight_ == depth) return false;
    ++in_flight_;
    at_device_.push_back(&request);
    return true;
  }
  int commit() override { return 0; }
  unsigned poll(Request** ended, unsigned max) override {
    if (ends_all_) std::move(at_device_.begin(), at_device_.end(), std::back_inserter(done_));
    if (ends_all_) at_device_.clear();
    unsigned count = 0;
    for (; count < max && !done_.empty(); ++count) {
      ended[count] = done_.back();
      ended[count]->result = static_cast<std::int32_t>(ended[count]->length);
      done_.pop_back();
    }
    in_flight_ -= count;
    return count;
  }
  int wait(unsigned, bool) override { return 0; }
  int wait_for(std::uint64_t, bool) override { return 0; }
  void wake() noexcept override {}

  unsigned depth = 0;
  std::vector<Request*> at_device_;
  std::vector<Request*> done_;
  bool ends_all_ = false;
};

class ScriptedFactory final : public ChannelFactory {
 public:
  Result<std::unique_ptr<Channel>> open(const ChannelConfig& config, std::string&) override {
    auto channel = std::make_unique<ScriptedChannel>();
    channel->depth = config.depth;
    last = channel.get();
    return std::unique_ptr<Channel>(std::move(channel));
  }
  ScriptedChannel* last = nullptr;
};

/// One session, its overseer stepped by hand, and what that said.
class Stepped {
 public:
  Stepped(unsigned depth, const Settings& settings)
      : used_(tunables(settings)), leaf_("/sluice-test/a", "job", used_, limits(), null()) {
    SessionConfig config;
    config.job = "job.1";
    config.depth = depth;
    config.direct = true;
    config.tunables = used_;
    config.buffer_unit_bytes = 4096;
    std::string note;
    session_ =
        std::move(Session::open(config, clock_, {nullptr, channels_}, courier_, note).value());
    target_ = &session_->open_file(leaf_, -1);
    overseer_.add_quietly(*session_);
    next_look_ns_ = clock_.now_ns() + overseer_.step();
  }
  ~Stepped() {
    overseer_.remove(*session_);
    channel().ends_all_ = true;
    session_->drain();
    while (session_->abandoned() > 0) session_->reap(0, 1);
  }

  /// Steps the clock, with a look whenever the overseer wants one.
  void advance(std::uint64_t step_ns) {
    const std::uint64_t end = clock_.now_ns() + step_ns;
    while (next_look_ns_ <= end) {
      clock_.advance_to(next_look_ns_);
      next_look_ns_ = clock_.now_ns() + overseer_.step();
    }
    clock_.advance_to(end);
  }
  void submit(unsigned slot, Op op = Op::read) {
    session_->submit(slot, op, *target_, buffer_, 4096, std::uint64_t{slot} * 4096);
    session_->commit(false);
  }
  std::vector<std::string> said() { return std::exchange(said_, {}); }
  Session& session() { return *session_; }
  ScriptedChannel& channel() { return *channels_->last; }
  SimClock& clock() { return clock_; }
  Leaf& leaf() { return leaf_; }

 private:
  QueueLimits limits() const { return queue_limits(used_).value(); }
  DeviceHandle null() {
    DeviceRegistry devices(clock_);
    return devices.open(tunables({{"device", "null"}}), "").value();
  }

  SimClock clock_{kNsPerSecond};
  Tunables used_;
  Leaf leaf_;
  std::shared_ptr<ScriptedFactory> channels_ = std::make_shared<ScriptedFactory>();
  Courier courier_{channels_, clock_};
  std::vector<std::string> said_;
  Overseer overseer_{clock_, [this](const std::string& line) { said_.push_back(line); }};
  std::unique_ptr<Session> session_;
  Target* target_ = nullptr;
  char buffer_[4096] = {};
  std::uint64_t next_look_ns_ = 0;
};

std::vector<std::string> modes() {
  std::vector<std::string> out;
  for (const TunableValue& value : find_tunable("bypass")->values) out.emplace_back(value.name);
  return out;
}

class DeadmanModes : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Bypass, DeadmanModes, testing::ValuesIn(modes()),
                         [](const auto& test) { return test.param; });

TEST_P(DeadmanModes, EverySwallowedIoIsToldOfInTime) {
  constexpr std::uint64_t kSeed = 60;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Prng prng(kSeed);
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t deadman_ms = 20 + prng.below(400);
    const std::uint64_t check_ms = 1 + prng.below(600);
    Stepped job(8, {{"device", "null"},
                    {"bypass", GetParam()},
                    {"deadman_ms", std::to_string(deadman_ms)},
                    {"deadman_check_ms", std::to_string(check_ms)}});
    for (unsigned slot = 0; slot < 8; ++slot) {
      job.advance(prng.below(check_ms * kMs));
      job.said();
      const std::uint64_t issued = job.clock().now_ns();
      job.submit(slot);
      std::uint64_t told = 0;
      const std::uint64_t limit = (deadman_ms + check_ms) * kMs;
      while (told == 0 && job.clock().now_ns() - issued <= limit) {
        job.advance(kMs / 4);
        for (const std::string& line : job.said()) {
          const bool ours = line.find(" at " + std::to_string(slot * 4096) + " ") != line.npos;
          if (ours && line.find("has been") != line.npos) told = job.clock().now_ns();
        }
      }
      ASSERT_NE(told, 0U) << "deadman " << deadman_ms << " check " << check_ms;
      EXPECT_GE(told - issued, deadman_ms * kMs);
      // The others hang too; those told of stay silent but for reminders.
    }
    job.session().refresh_stats();
    EXPECT_EQ(job.session().stats().deadman_events.load(), 8U);
  }
}

TEST_P(DeadmanModes, QueuedForLongIsNotHanging) {
  // Each takes 1 ms at the device, one at a time where a limit holds, so that each has waited for 4
  // times the limit.
  constexpr unsigned kDepth = 40;
  constexpr std::uint64_t kIos = 1'000'000;
  Stepped job(kDepth, {{"device", "null"},
                       {"bypass", GetParam()},
                       {"max_active", "1"},
                       {"deadman_ms", "10"},
                       {"deadman_check_ms", "5"}});
  for (unsigned slot = 0; slot < kDepth; ++slot) job.submit(slot);
  auto& at_device = job.channel().at_device_;
  for (std::uint64_t done = 0; done < kIos;) {
    job.advance(kMs);
    ASSERT_FALSE(at_device.empty());
    std::swap(job.channel().done_, at_device);
    const int ended = job.session().reap(1, kDepth);
    ASSERT_GT(ended, 0);
    done += static_cast<std::uint64_t>(ended);
    for (int i = 0; i < ended; ++i) {
      job.submit(job.session().ended(static_cast<unsigned>(i)).slot);
    }
  }
  EXPECT_EQ(job.said(), std::vector<std::string>{});
  job.session().refresh_stats();
  const ClassStats& reads = job.session().stats().classes[0];
  EXPECT_GE(reads.ops.load(), kIos);
  if (GetParam() == "off") {
    EXPECT_GT(reads.queue_ns.percentile(1), 3 * 10 * kMs);
  }
  EXPECT_EQ(job.session().stats().deadman_events.load(), 0U);
}

TEST_P(DeadmanModes, WhatIsGivenUpEndsOnceAndWhatComesLateServesAgain) {
  Stepped job(4, {{"device", "null"},
                  {"bypass", GetParam()},
                  {"deadman_ms", "20"},
                  {"deadman_check_ms", "5"},
                  {"deadman_action", "cancel"}});
  char old_buffer = 0;
  for (unsigned slot = 0; slot < 4; ++slot) job.submit(slot);
  const std::vector<Request*> first = std::exchange(job.channel().at_device_, {});
  job.advance(30 * kMs);
  ASSERT_EQ(job.session().reap(1, 4), 4);
  std::set<unsigned> slots;
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(job.session().ended(i).result, -ETIMEDOUT);
    const auto other = job.session().replace(job.session().ended(i).slot, &old_buffer);
    ASSERT_TRUE(other);
    EXPECT_NE(other->buffer, nullptr);
    slots.insert(other->slot);
    job.submit(other->slot);
  }
  EXPECT_EQ(slots.size(), 4U);
  EXPECT_GE(*slots.begin(), 4U) << "a slot that the device still has";
  EXPECT_EQ(job.session().abandoned(), 4U);
  // All at once: those that came late are nobody's any more.
  job.channel().done_ = first;
  job.channel().done_.insert(job.channel().done_.begin() + 2, job.channel().at_device_.begin(),
                             job.channel().at_device_.end());
  job.channel().at_device_.clear();
  unsigned ended = 0;
  while (ended < 4) {
    const int count = job.session().reap(1, 4);
    ASSERT_GT(count, 0);
    for (int i = 0; i < count; ++i) {
      const auto end = job.session().ended(static_cast<unsigned>(i));
      EXPECT_EQ(end.result, 4096);
      EXPECT_EQ(slots.erase(end.slot), 1U);
    }
    ended += static_cast<unsigned>(count);
  }
  while (job.session().abandoned() > 0) EXPECT_EQ(job.session().reap(0, 4), 0);
  job.session().refresh_stats();
  EXPECT_EQ(job.session().stats().cancelled.load(), 4U);
  EXPECT_EQ(job.session().stats().late.load(), 4U);
  EXPECT_EQ(job.leaf().abandoned(), 0);
}

TEST_P(DeadmanModes, AChannelFullOfGivenUpIoRefusesMoreUntilOneComes) {
  Stepped job(1, {{"device", "null"},
                  {"bypass", GetParam()},
                  {"deadman_ms", "20"},
                  {"deadman_check_ms", "5"},
                  {"deadman_action", "cancel"}});
  char buffer = 0;
  unsigned slot = 0;
  const auto run = [&](std::uint64_t time_ns) {
    job.submit(slot);
    job.advance(time_ns);
    EXPECT_EQ(job.session().reap(1, 1), 1);
    const Session::Ended end = job.session().ended(0);
    EXPECT_EQ(end.slot, slot);
    if (job.session().slots()[slot].abandoned) slot = job.session().replace(slot, &buffer)->slot;
    return end.result;
  };
  const unsigned room = job.channel().depth;
  for (unsigned i = 0; i < room; ++i) EXPECT_EQ(run(30 * kMs), -ETIMEDOUT);
  EXPECT_EQ(job.session().abandoned(), room);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(0), -ETIMEDOUT);
  EXPECT_EQ(job.session().abandoned(), room);
  EXPECT_EQ(job.session().outstanding(), 0U);
  job.channel().done_.push_back(job.channel().at_device_.back());
  job.channel().at_device_.pop_back();
  EXPECT_EQ(job.session().reap(0, 1), 0);
  job.channel().ends_all_ = true;
  EXPECT_EQ(run(0), 4096);
}

TEST(DeadmanStepped, AGivenUpIoKeepsItsPermissionUntilItsJobCanDoNothingElse) {
  Stepped job(4, {{"device", "null"},
                  {"max_active", "1"},
                  {"deadman_ms", "20"},
                  {"deadman_check_ms", "5"},
                  {"deadman_action", "cancel"}});
  for (unsigned slot = 0; slot < 4; ++slot) job.submit(slot);
  job.advance(26 * kMs);
  ASSERT_EQ(job.session().reap(1, 4), 1);
  EXPECT_EQ(job.leaf().queue().active(), 1U);
  EXPECT_EQ(job.leaf().abandoned(), 1);
  job.advance(30 * kMs);
  ASSERT_EQ(job.session().reap(0, 4), 0);
  EXPECT_EQ(job.channel().at_device_.size(), 4U) << "what waited goes";
  EXPECT_EQ(job.leaf().abandoned(), 0);
}

}  // namespace
}  // namespace sluice::stack_test
