// What the delay decorator adds, to which I/O, and how it waits. That it is a device all the same:
// the conformance suite.
#include "engine/devices/delay.h"

#include <gtest/gtest.h>

#include <vector>

#include "engine/devices/model_rig.h"
#include "engine/devices/null.h"
#include "scheduler/testing/sim_clock.h"

namespace sluice {
namespace {

using Slots = std::vector<unsigned>;

/// A null device on a stepped clock, behind the decorator: all device time is what the test lets
/// pass before it polls.
class DelayRig {
 public:
  explicit DelayRig(const DelayConfig& config)
      : factory_(std::make_shared<NullChannelFactory>(), clock_, config),
        requests_(std::make_unique<Request[]>(8)) {
    std::string note;
    channel_ = std::move(factory_.open({.depth = 8}, note).value());
  }

  void start(unsigned slot, Op op = Op::read) {
    Request& request = requests_[slot];
    request.slot = slot;
    request.op = op;
    request.length = 4096;
    request.target = &target_;
    request.issued_ns.store(clock_.now_ns(), std::memory_order_relaxed);
    ASSERT_TRUE(channel_->submit(request));
    ASSERT_EQ(channel_->commit(), 0);
  }
  Slots ended_after(std::uint64_t step_ns) {
    clock_.advance(step_ns);
    Request* found[8];
    const unsigned count = channel_->poll(found, 8);
    Slots slots;
    for (unsigned i = 0; i < count; ++i) slots.push_back(found[i]->slot);
    return slots;
  }
  Channel& channel() { return *channel_; }

 private:
  SimClock clock_{1'000'000};
  NullDevice device_;
  Target target_{.device = &device_};
  DelayChannelFactory factory_;
  std::unique_ptr<Request[]> requests_;
  std::unique_ptr<Channel> channel_;
};

TEST(Delay, ACompletionIsHeldForTheTimeGiven) {
  DelayRig rig({.time_ns = 100});
  rig.start(0);
  EXPECT_EQ(rig.ended_after(10), Slots{});  // done by the device now, held from here
  EXPECT_EQ(rig.ended_after(99), Slots{});
  EXPECT_EQ(rig.channel().in_flight(), 1U);
  EXPECT_EQ(rig.ended_after(1), Slots{0});
  EXPECT_EQ(rig.channel().in_flight(), 0U);
}

TEST(Delay, PercentIsOfTheDeviceTime) {
  DelayRig rig({.percent = 5});
  rig.start(0);
  EXPECT_EQ(rig.ended_after(2'000), Slots{});
  EXPECT_EQ(rig.ended_after(99), Slots{});
  EXPECT_EQ(rig.ended_after(1), Slots{0});
  rig.start(1);
  EXPECT_EQ(rig.ended_after(1), Slots{1}) << "a device that takes no time gets no slower";
}

TEST(Delay, OnlyTheOperationsAskedForAreDelayed) {
  for (const auto ops : {SLUICE_delay_ops_all, SLUICE_delay_ops_read, SLUICE_delay_ops_write}) {
    DelayRig rig({.time_ns = 100, .ops = ops});
    rig.start(0, Op::read);
    rig.start(1, Op::write);
    rig.start(2, Op::flush);
    rig.start(3, Op::trim);
    const Slots at_once = rig.ended_after(1);
    const Slots later = rig.ended_after(100);
    switch (ops) {
      case SLUICE_delay_ops_all:
        EXPECT_EQ(at_once, Slots{});
        EXPECT_EQ(later, (Slots{0, 1, 2, 3}));
        break;
      case SLUICE_delay_ops_read:
        EXPECT_EQ(at_once, (Slots{1, 2, 3}));
        EXPECT_EQ(later, Slots{0});
        break;
      case SLUICE_delay_ops_write:
        EXPECT_EQ(at_once, (Slots{0, 2, 3}));
        EXPECT_EQ(later, Slots{1});
        break;
    }
  }
}

TEST(Delay, AWaitForAHeldCompletionSleeps) {
  constexpr std::uint64_t kHoldNs = 60 * kNsPerMs;
  const MonotonicClock clock;
  DelayChannelFactory factory(std::make_shared<NullChannelFactory>(), clock, {.time_ns = kHoldNs});
  std::string note;
  const auto channel = std::move(factory.open({.depth = 1}, note).value());
  NullDevice device;
  Target target{.device = &device};
  Request request;
  request.target = &target;
  ASSERT_TRUE(channel->submit(request));
  const ThreadCpu before = thread_cpu();
  const std::uint64_t start_ns = clock.now_ns();
  ASSERT_EQ(channel->wait(1, false), 0);
  const ThreadCpu after = thread_cpu();
  EXPECT_GE(clock.now_ns() - start_ns, kHoldNs);
  EXPECT_LT(after.user_ns - before.user_ns + after.system_ns - before.system_ns, kHoldNs / 2);
  Request* ended = nullptr;
  EXPECT_EQ(channel->poll(&ended, 1), 1U);
}

TEST(Delay, AModelServesSlower) {
  ModelConfig config = exact_model();
  config.delay = {.time_ns = 7, .percent = 50, .ops = SLUICE_delay_ops_read};
  ModelRig rig(config);
  EXPECT_EQ(rig.run(Op::read, 0, 4096), 157U);
  EXPECT_EQ(rig.run(Op::write, 0, 4096), 10U);
  // Its one server is busy for as long: the second waits for the first.
  rig.start(0, Op::read, 0, 4096);
  rig.start(1, Op::read, 0, 4096);
  rig.clock().advance(157 + 156);
  EXPECT_EQ(rig.ended(), Slots{0});
  rig.clock().advance(1);
  EXPECT_EQ(rig.ended(), Slots{1});
}

}  // namespace
}  // namespace sluice
