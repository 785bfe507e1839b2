// ClassPolicy by stepping: the rule itself in small cases, then random steps beside a second, naive
// statement of the rule.
#include "scheduler/queue/class_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
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

/// The rule once more, naively. Knows what waits and what is active, and whose turn it was.
class Oracle {
 public:
  explicit Oracle(const QueueLimits& limits) : limits_(limits) {}

  void came(Request& request) { waiting_[index(request)].push_back(&request); }
  void passed(const Request& request) { ++active_[index(request)]; }
  void left(unsigned c) { --active_[c]; }

  unsigned active() const {
    unsigned sum = 0;
    for (const unsigned a : active_) sum += a;
    return sum;
  }
  unsigned active(unsigned c) const { return active_[c]; }
  bool waits(unsigned c) const { return !waiting_[c].empty(); }
  bool waits() const {
    for (const auto& w : waiting_) {
      if (!w.empty()) return true;
    }
    return false;
  }
  bool below_min(unsigned c) const { return active_[c] < limits_.classes[c].min_active; }
  bool below_max(unsigned c) const { return active_[c] < limits_.classes[c].max_active; }
  bool below_cap() const { return active() < limits_.max_active; }

  /// What must go now, or null.
  Request* next() {
    if (!below_cap()) return nullptr;
    for (unsigned turn = 0; turn < kIoClasses; ++turn) {
      const unsigned c = (last_ + 1 + turn) % kIoClasses;
      if (waits(c) && below_min(c)) return take(c);
    }
    for (unsigned c = 0; c < kIoClasses; ++c) {
      if (waits(c) && below_max(c)) return take(c);
    }
    return nullptr;
  }

  static unsigned index(const Request& request) { return static_cast<unsigned>(request.io_class); }

 private:
  Request* take(unsigned c) {
    Request* const request = waiting_[c].front();
    waiting_[c].pop_front();
    ++active_[c];
    last_ = c;
    return request;
  }

  QueueLimits limits_;
  std::array<std::deque<Request*>, kIoClasses> waiting_;
  std::array<unsigned, kIoClasses> active_{};
  unsigned last_ = kIoClasses - 1;
};

/// Steps a policy beside its oracle and checks every invariant after each step.
class Walk {
 public:
  explicit Walk(std::uint64_t seed)
      : prng_(seed), limits_(random_limits(prng_)), policy_(limits_), oracle_(limits_) {}

  void step() {
    const double dice = prng_.unit();
    if (dice < 0.4) {
      arrive();
    } else if (dice < 0.75) {
      grant();
    } else if (!active_.empty()) {
      end_one();
    }
    check();
  }

  /// Ends all, checking that everybody gets his turn.
  void finish() {
    while (grant() || !active_.empty()) {
      if (!active_.empty()) end_one();
      check();
      if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_EQ(left_.size(), made_);
    EXPECT_EQ(policy_.waiting(), 0U);
    EXPECT_EQ(policy_.active(), 0U);
  }

 private:
  void arrive() {
    Request& request = requests_.make(static_cast<IoClass>(prng_.below(kIoClasses)));
    ++made_;
    if (prng_.chance(0.5)) {
      const bool free =
          !oracle_.waits() && oracle_.below_cap() && oracle_.below_max(Oracle::index(request));
      const bool passed = policy_.pass(request);
      ASSERT_EQ(passed, free);
      if (passed) {
        oracle_.passed(request);
        goes(request);
        return;
      }
    }
    policy_.enqueue(request);
    oracle_.came(request);
  }

  bool grant() {
    std::array<bool, kIoClasses> owed{};
    for (unsigned c = 0; c < kIoClasses; ++c) {
      owed[c] = oracle_.waits(c) && oracle_.below_min(c);
    }
    const Request* const expected = oracle_.next();
    Request* const request = policy_.next();
    EXPECT_EQ(request, expected);
    if (request == nullptr || request != expected) return false;
    // Bound on starvation: of a class that is below its minimum, at most one request of each other
    // class goes first.
    for (unsigned c = 0; c < kIoClasses; ++c) {
      const bool overtaken = owed[c] && c != Oracle::index(*request);
      overtaken_[c] = overtaken ? overtaken_[c] + 1 : 0;
      EXPECT_LE(overtaken_[c], kIoClasses - 1) << name(static_cast<IoClass>(c));
    }
    goes(*request);
    return true;
  }

  void goes(Request& request) {
    EXPECT_TRUE(left_.insert(request.slot).second) << "request " << request.slot << " went twice";
    active_.push_back(&request);
  }

  void end_one() {
    std::swap(active_[prng_.below(active_.size())], active_.back());
    policy_.done(active_.back()->io_class);
    oracle_.left(Oracle::index(*active_.back()));
    active_.pop_back();
  }

  void check() {
    ASSERT_EQ(policy_.active(), active_.size());
    ASSERT_EQ(policy_.active() + policy_.waiting() + (left_.size() - active_.size()), made_);
    ASSERT_LE(policy_.active(), limits_.max_active);
    for (unsigned c = 0; c < kIoClasses; ++c) {
      const auto io_class = static_cast<IoClass>(c);
      ASSERT_EQ(policy_.active(io_class), oracle_.active(c));
      ASSERT_LE(policy_.active(io_class), limits_.classes[c].max_active);
    }
  }

  Prng prng_;
  Requests requests_;
  QueueLimits limits_;
  ClassPolicy policy_;
  Oracle oracle_;
  std::vector<Request*> active_;
  std::set<std::uint32_t> left_;
  std::array<unsigned, kIoClasses> overtaken_{};
  std::size_t made_ = 0;
};

TEST(ClassPolicy, KeepsItsRuleOverRandomSteps) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Walk walk(seed);
    for (int i = 0; i < 3000; ++i) {
      walk.step();
      if (HasFailure()) return;
    }
    walk.finish();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace sluice
