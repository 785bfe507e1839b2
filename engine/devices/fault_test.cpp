// The grammar of fault plans, and what the fault decorator does with a request.
#include "engine/devices/fault.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "engine/devices/model.h"
#include "engine/devices/model_rig.h"
#include "scheduler/testing/sim_clock.h"

namespace sluice {
namespace {

using Slots = std::vector<unsigned>;
using Action = FaultRule::Action;

TEST(FaultPlan, EveryPartIsUnderstood) {
  auto plan = parse_fault_plan(
      "swallow:nth=100,for=500ms+swallow:every=7,op=write+delay:p=0.01,for=20ms+"
      "fail:nth=7,errno=ENOSPC,op=flush+fail:p=1+short:nth=9,bytes=1k");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const FaultPlan& rules = plan.value();
  ASSERT_EQ(rules.size(), 6U);
  EXPECT_EQ(rules[0].action, Action::swallow);
  EXPECT_EQ(rules[0].number, 100U);
  EXPECT_EQ(rules[0].for_ns, 500 * kNsPerMs);
  EXPECT_EQ(rules[1].for_ns, FaultRule::kForever);
  EXPECT_TRUE(rules[1].admits(Op::write));
  EXPECT_FALSE(rules[1].admits(Op::read));
  EXPECT_EQ(rules[2].chance, 0.01);
  EXPECT_EQ(rules[3].error, ENOSPC);
  EXPECT_TRUE(rules[3].admits(Op::data_sync));
  EXPECT_EQ(rules[4].error, EIO);
  EXPECT_EQ(rules[5].bytes, 1024U);
}

TEST(FaultPlan, WhatDoesNotParseIsNamedWithWhatIsAllowed) {
  const std::vector<std::vector<std::string>> bad = {
      {"", "''", "swallow, delay, fail, short"},
      {"swalow:nth=1", "'swalow'", "swallow, delay, fail, short"},
      {"swallow", "'swallow'", "nth=, every= or p="},
      {"swallow:", "'swallow:'", "nth=, every= or p="},
      {"swallow:nth=0", "'nth=0'", "from 1"},
      {"swallow:nth=x", "'nth=x'", "from 1"},
      {"swallow:nth=1,every=2", "'every=2'", "one of"},
      {"swallow:p=1.5", "'p=1.5'", "p=0 to p=1"},
      {"swallow:p=0.5x", "'p=0.5x'", "p=0 to p=1"},
      {"swallow:p=nan", "'p=nan'", "p=0 to p=1"},
      {"swallow:nth=1,for=5parsec", "'for=5parsec'", "20ms"},
      {"swallow:nth=1,bytes=5", "'bytes=5'", "for="},
      {"swallow:nth=1,op=sync", "'op=sync'", "op=flush"},
      {"delay:nth=1", "'delay:nth=1'", "for="},
      {"fail:nth=1,errno=EWHAT", "'errno=EWHAT'", "EIO"},
      {"short:nth=1,bytes=-1", "'bytes=-1'", "size"},
      {"fail:nth=1++fail:nth=2", "''", "swallow"},
      {"fail:nth=1;fail:nth=2", "'nth=1;fail:nth=2'", "from 1"},
  };
  for (const auto& words : bad) {
    const auto plan = parse_fault_plan(words[0]);
    ASSERT_FALSE(plan.ok()) << words[0];
    for (std::size_t i = 1; i < words.size(); ++i) {
      EXPECT_NE(plan.error().message.find(words[i]), std::string::npos)
          << words[0] << ": " << plan.error().message;
    }
    EXPECT_EQ(plan.error().message.find('\n'), std::string::npos);
  }
}

TEST(FaultPlan, AnythingParsesOrIsRefused) {
  constexpr std::uint64_t kSeed = 20;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Prng prng(kSeed);
  const std::string alphabet = "swalowdelyfishrt:,+=0123456789.nhpev\xff\n ";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::uint64_t n = prng.below(24); n > 0; --n)
      text += alphabet[prng.below(alphabet.size())];
    const auto plan = parse_fault_plan(text);
    EXPECT_TRUE(plan.ok() || !plan.error().message.empty());
  }
}

TEST(FaultState, ASeedGivesTheSameFaultsAgainAndAboutAsManyAsAsked) {
  const auto picks = [](std::uint64_t seed) {
    FaultState state(parse_fault_plan("fail:p=0.05").value(), seed);
    std::vector<bool> out;
    for (int i = 0; i < 10'000; ++i) out.push_back(state.next(Op::read) != nullptr);
    return out;
  };
  const auto one = picks(1);
  EXPECT_EQ(one, picks(1));
  EXPECT_NE(one, picks(2));
  EXPECT_NEAR(static_cast<double>(std::count(one.begin(), one.end(), true)), 500.0, 100.0);
}

TEST(FaultState, TheFirstRuleDecidesAndAllCount) {
  FaultState state(parse_fault_plan("fail:nth=2+short:every=2,op=read,bytes=0").value(), 1);
  EXPECT_EQ(state.next(Op::read), nullptr);
  EXPECT_EQ(state.next(Op::read)->action, Action::fail);
  EXPECT_EQ(state.next(Op::write), nullptr);
  EXPECT_EQ(state.next(Op::read), nullptr);
  EXPECT_EQ(state.next(Op::read)->action, Action::shorten);
}

/// A model that answers at once, behind the decorator, on a stepped clock.
class FaultRig {
 public:
  explicit FaultRig(const std::string& plan) {
    ModelConfig config = exact_model();
    config.read_ns = config.write_ns = config.flush_ns = 0;
    config.write_cache = false;
    device_ = std::move(ModelDevice::open(config).value());
    target_.device = device_.get();
    factory_ = std::make_unique<FaultChannelFactory>(std::make_shared<ModelChannelFactory>(clock_),
                                                     clock_, parse_fault_plan(plan).value(), 1);
    std::string note;
    channel_ = std::move(factory_->open({.depth = 8}, note).value());
  }

  void start(unsigned slot, Op op, char fill = 0) {
    Request& request = requests_[slot];
    std::memset(buffers_[slot], fill, sizeof buffers_[slot]);
    request.slot = slot;
    request.op = op;
    request.buffer = buffers_[slot];
    request.length = op == Op::flush ? 0 : 512;
    request.target = &target_;
    ASSERT_TRUE(channel_->submit(request));
    ASSERT_EQ(channel_->commit(), 0);
  }
  Slots ended_after(std::uint64_t step_ns) {
    clock_.advance(step_ns);
    Request* found[8];
    // What the first look hands to the device is done at the second.
    unsigned count = channel_->poll(found, 8);
    count += channel_->poll(found + count, 8 - count);
    Slots slots;
    for (unsigned i = 0; i < count; ++i) slots.push_back(found[i]->slot);
    return slots;
  }
  std::int32_t result(unsigned slot) const { return requests_[slot].result; }
  char* buffer(unsigned slot) { return buffers_[slot]; }
  Channel& channel() { return *channel_; }

 private:
  SimClock clock_{1'000'000};
  std::unique_ptr<ModelDevice> device_;
  Target target_;
  std::unique_ptr<Request[]> requests_ = std::make_unique<Request[]>(8);
  char buffers_[8][512] = {};
  std::unique_ptr<FaultChannelFactory> factory_;
  std::unique_ptr<Channel> channel_;
};

TEST(Fault, SwallowedForATimeItReachesTheDeviceOnlyThen) {
  FaultRig rig("swallow:nth=2,for=1ms");
  rig.start(0, Op::write, 'a');
  rig.start(1, Op::read, '?');
  EXPECT_EQ(rig.ended_after(0), Slots{0});
  EXPECT_EQ(rig.ended_after(kNsPerMs - 1), Slots{});
  EXPECT_EQ(rig.buffer(1)[0], '?');
  rig.start(0, Op::write, 'b');
  EXPECT_EQ(rig.ended_after(0), Slots{0});
  EXPECT_EQ(rig.ended_after(1), Slots{1});
  EXPECT_EQ(rig.buffer(1)[0], 'b') << "data of the time when the device got it";
}

TEST(Fault, SwallowedForEverItStaysInFlight) {
  FaultRig rig("swallow:nth=1");
  rig.start(0, Op::read);
  rig.start(1, Op::read);
  EXPECT_EQ(rig.ended_after(3600 * kNsPerSecond), Slots{1});
  EXPECT_EQ(rig.channel().in_flight(), 1U);
}

TEST(Fault, ADelayedOneIsDoneInTimeButToldLate) {
  FaultRig rig("delay:nth=1,for=1ms");
  rig.start(0, Op::read, '?');
  EXPECT_EQ(rig.ended_after(0), Slots{});
  EXPECT_EQ(rig.buffer(0)[0], 0);
  EXPECT_EQ(rig.ended_after(kNsPerMs), Slots{0});
}

TEST(Fault, AFailedOneEndsWithItsErrorAndChangesNothing) {
  FaultRig rig("fail:nth=1,errno=ENOSPC,op=write");
  rig.start(0, Op::write, 'a');
  EXPECT_EQ(rig.result(0), 0) << "ended inline";
  EXPECT_EQ(rig.ended_after(0), Slots{0});
  EXPECT_EQ(rig.result(0), -ENOSPC);
  rig.start(1, Op::read, '?');
  EXPECT_EQ(rig.ended_after(0), Slots{1});
  EXPECT_EQ(rig.buffer(1)[0], 0);
}

TEST(Fault, AShortOneTellsOfFewerBytes) {
  FaultRig rig("short:every=1,bytes=100");
  rig.start(0, Op::read);
  rig.start(1, Op::flush);
  EXPECT_EQ(rig.ended_after(0), (Slots{0, 1}));
  EXPECT_EQ(rig.result(0), 100);
  EXPECT_EQ(rig.result(1), 0);
}

}  // namespace
}  // namespace sluice
