// ClassPolicy by stepping: the rule itself in small cases. class_policy_random_test.cpp has it
// beside a second, naive statement of the rule.
#include "scheduler/queue/class_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "scheduler/base/prng.h"

namespace sluice {
namespace {

QueueLimits all_classes(ClassLimits limits, std::uint32_t cap = QueueLimits::kUnlimited) {
  QueueLimits out;
  out.classes.fill(limits);
  out.max_active = cap;
  return out;
}

/// Requests of a test; their numbers are their slots.
class Requests {
 public:
  Request& make(IoClass io_class) {
    all_.push_back(std::make_unique<Request>());
    all_.back()->io_class = io_class;
    all_.back()->slot = static_cast<std::uint32_t>(all_.size() - 1);
    return *all_.back();
  }

 private:
  std::vector<std::unique_ptr<Request>> all_;
};

/// The classes of what the policy lets go, until it lets nothing go.
std::vector<IoClass> let_go(ClassPolicy& policy) {
  std::vector<IoClass> out;
  while (const Request* request = policy.next()) out.push_back(request->io_class);
  return out;
}

TEST(ClassPolicy, MinPassServesClassesInTurn) {
  Requests requests;
  ClassPolicy policy(all_classes({2, 2}));
  for (int i = 0; i < 2; ++i) {
    policy.enqueue(requests.make(IoClass::trim));
    policy.enqueue(requests.make(IoClass::sync_read));
    policy.enqueue(requests.make(IoClass::scrub));
  }
  const std::vector<IoClass> turns{IoClass::sync_read, IoClass::scrub, IoClass::trim,
                                   IoClass::sync_read, IoClass::scrub, IoClass::trim};
  EXPECT_EQ(let_go(policy), turns);
}

TEST(ClassPolicy, WithdrawnRequestsAreTheOwnersAndLeaveTheOthersInOrder) {
  Requests requests;
  ClassPolicy policy(all_classes({1, 4}, 1));
  // Owners are told apart by address only.
  auto* const ours = reinterpret_cast<Mailbox*>(1);
  auto* const theirs = reinterpret_cast<Mailbox*>(2);
  for (int i = 0; i < 6; ++i) {
    Request& request = requests.make(i < 4 ? IoClass::sync_read : IoClass::scrub);
    request.owner = i % 2 == 0 ? ours : theirs;
    policy.enqueue(request);
  }
  RequestList out;
  policy.withdraw(*ours, out);
  std::vector<std::uint32_t> slots;
  for (const Request& request : out) slots.push_back(request.slot);
  EXPECT_EQ(slots, (std::vector<std::uint32_t>{0, 2, 4}));
  EXPECT_EQ(policy.waiting(), 3U);
  EXPECT_EQ(policy.active(), 0U);
  for (const std::uint32_t slot : {1U, 5U, 3U}) {
    const Request* next = policy.next();
    ASSERT_NE(next, nullptr);
    EXPECT_EQ(next->slot, slot);
    policy.done(next->io_class);
  }
  out.clear();
}

TEST(ClassPolicy, MaxPassServesClassesByRank) {
  Requests requests;
  ClassPolicy policy(all_classes({0, 2}));
  for (int i = 0; i < 3; ++i) {
    policy.enqueue(requests.make(IoClass::trim));
    policy.enqueue(requests.make(IoClass::async_write));
    policy.enqueue(requests.make(IoClass::sync_write));
  }
  const std::vector<IoClass> by_rank{IoClass::sync_write,  IoClass::sync_write,
                                     IoClass::async_write, IoClass::async_write,
                                     IoClass::trim,        IoClass::trim};
  EXPECT_EQ(let_go(policy), by_rank);
}

TEST(ClassPolicy, MinimumsComeBeforeHigherRanks) {
  Requests requests;
  QueueLimits limits = all_classes({0, 9}, 3);
  limits[IoClass::scrub].min_active = 1;
  ClassPolicy policy(limits);
  for (int i = 0; i < 3; ++i) {
    policy.enqueue(requests.make(IoClass::sync_read));
    policy.enqueue(requests.make(IoClass::scrub));
  }
  const std::vector<IoClass> wanted{IoClass::scrub, IoClass::sync_read, IoClass::sync_read};
  EXPECT_EQ(let_go(policy), wanted);
}

TEST(ClassPolicy, CapHoldsForAllClassesTogether) {
  Requests requests;
  ClassPolicy policy(all_classes({1, 4}, 3));
  for (unsigned c = 0; c < kIoClasses; ++c) {
    policy.enqueue(requests.make(static_cast<IoClass>(c)));
  }
  EXPECT_EQ(let_go(policy).size(), 3U);
  EXPECT_EQ(policy.active(), 3U);
  EXPECT_EQ(policy.waiting(), kIoClasses - 3);
  EXPECT_FALSE(policy.pass(requests.make(IoClass::sync_read)));
  policy.done(IoClass::sync_read);
  EXPECT_EQ(let_go(policy).size(), 1U);
}

TEST(ClassPolicy, CapOfOneStillLetsEveryClassHaveItsTurn) {
  Requests requests;
  ClassPolicy policy(all_classes({1, 1}, 1));
  for (unsigned c = 0; c < kIoClasses; ++c) {
    for (int i = 0; i < 3; ++i) policy.enqueue(requests.make(static_cast<IoClass>(c)));
  }
  for (int round = 0; round < 3; ++round) {
    for (unsigned c = 0; c < kIoClasses; ++c) {
      const Request* request = policy.next();
      ASSERT_NE(request, nullptr);
      EXPECT_EQ(request->io_class, static_cast<IoClass>(c));
      EXPECT_EQ(policy.next(), nullptr);
      policy.done(request->io_class);
    }
  }
}

TEST(ClassPolicy, WithinAClassFirstComeFirstServed) {
  Requests requests;
  ClassPolicy policy(all_classes({1, 1}));
  std::vector<Request*> came;
  for (int i = 0; i < 5; ++i) {
    came.push_back(&requests.make(IoClass::async_read));
    policy.enqueue(*came.back());
  }
  for (Request* expected : came) {
    EXPECT_EQ(policy.next(), expected);
    EXPECT_EQ(policy.next(), nullptr);
    policy.done(IoClass::async_read);
  }
}

TEST(ClassPolicy, PassOvertakesNobody) {
  Requests requests;
  ClassPolicy policy(all_classes({1, 1}));
  EXPECT_TRUE(policy.pass(requests.make(IoClass::sync_read)));
  EXPECT_FALSE(policy.pass(requests.make(IoClass::sync_read)));
  policy.enqueue(requests.make(IoClass::sync_read));
  EXPECT_FALSE(policy.pass(requests.make(IoClass::trim)));
}

TEST(ClassPolicy, LoweredLimitsHoldForWhatIsToCome) {
  Requests requests;
  ClassPolicy policy(all_classes({1, 4}));
  for (int i = 0; i < 6; ++i) policy.enqueue(requests.make(IoClass::sync_read));
  EXPECT_EQ(let_go(policy).size(), 4U);
  policy.set_limits(all_classes({1, 2}));
  for (int i = 0; i < 2; ++i) {
    policy.done(IoClass::sync_read);
    EXPECT_EQ(policy.next(), nullptr);
  }
  policy.done(IoClass::sync_read);
  EXPECT_EQ(let_go(policy).size(), 1U);
  policy.set_limits(all_classes({1, 9}));
  EXPECT_EQ(let_go(policy).size(), 1U);
}

TEST(ClassPicker, KnowsWhetherLoweredLimitsAreStillExceeded) {
  ClassPicker picker(all_classes({1, 4}));
  EXPECT_TRUE(picker.pass(0));
  EXPECT_TRUE(picker.pass(0));
  EXPECT_TRUE(picker.pass(1));
  EXPECT_FALSE(picker.above_limits());
  picker.set_limits(all_classes({1, 1}));
  EXPECT_TRUE(picker.above_limits());
  picker.done(0);
  EXPECT_FALSE(picker.above_limits());
  picker.set_limits(all_classes({1, 1}, 1));
  EXPECT_TRUE(picker.above_limits());
}

TEST(ClassPolicyDeathTest, DoneWithoutActiveIsABug) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  ClassPolicy policy(all_classes({1, 1}));
  EXPECT_DEATH(policy.done(IoClass::scrub), "internal error");
}

QueueLimits random_limits(Prng& prng) {
  QueueLimits limits;
  for (ClassLimits& c : limits.classes) {
    c.max_active = 1 + static_cast<std::uint32_t>(prng.below(5));
    c.min_active = static_cast<std::uint32_t>(prng.below(c.max_active + 1));
  }
  if (prng.chance(0.8)) limits.max_active = 1 + static_cast<std::uint32_t>(prng.below(14));
  return limits;
}

TEST(ClassPolicy, PassDecidesAsEnqueueAndNextWould) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Prng prng(seed);
    Requests requests;
    const QueueLimits limits = random_limits(prng);
    ClassPolicy passing(limits);
    ClassPolicy listing(limits);
    std::vector<IoClass> active;
    for (int step = 0; step < 200; ++step) {
      if (!active.empty() && prng.chance(0.4)) {
        std::swap(active[prng.below(active.size())], active.back());
        passing.done(active.back());
        listing.done(active.back());
        active.pop_back();
        continue;
      }
      const auto io_class = static_cast<IoClass>(prng.below(kIoClasses));
      const bool passed = passing.pass(requests.make(io_class));
      Request& twin = requests.make(io_class);
      listing.enqueue(twin);
      ASSERT_EQ(listing.next(), passed ? &twin : nullptr);
      ASSERT_EQ(passing.active(), listing.active());
      // What waits here would have been turned away there, and ends this episode.
      if (!passed) break;
      active.push_back(io_class);
    }
  }
}

}  // namespace
}  // namespace sluice
