// ClassPolicy beside its model: random arrivals, grants, ends, withdrawals, dirty data and changes
// of limits on a simulated clock. What leaves must be what the model says, and every invariant
// holds after every step.
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "scheduler/base/prng.h"
#include "scheduler/base/units.h"
#include "scheduler/queue/class_policy.h"
#include "scheduler/queue/policy_model.h"
#include "scheduler/testing/sim_clock.h"

namespace sluice {
namespace {

constexpr unsigned kBlock = 4096;

std::uint32_t below(Prng& prng, std::uint64_t bound) {
  return static_cast<std::uint32_t>(prng.below(bound));
}

QueueLimits random_limits(Prng& prng) {
  QueueLimits limits;
  for (ClassLimits& c : limits.classes) {
    c.max_active = 1 + below(prng, 5);
    c.min_active = below(prng, c.max_active + 1);
  }
  if (prng.chance(0.8)) limits.max_active = 1 + below(prng, 14);
  if (prng.chance(0.6)) limits.background = {below(prng, 6), 1 + below(prng, 6)};
  limits.by_offset = prng.chance(0.5);
  limits.bucket_bits = 14 + below(prng, 6);
  if (prng.chance(0.6)) {
    limits.aggregation = {2 + below(prng, 16) * kBlock, below(prng, 3) * kBlock};
  }
  return limits;
}

class Walk {
 public:
  explicit Walk(std::uint64_t seed)
      : prng_(seed), limits_(random_limits(prng_)), policy_(limits_), model_(limits_) {}

  void step() {
    const double dice = prng_.unit();
    clock_.advance(prng_.below(2000));
    if (dice < 0.45) {
      arrive();
    } else if (dice < 0.70) {
      grant();
    } else if (dice < 0.97) {
      if (!active_.empty()) end_one();
    } else if (dice < 0.98) {
      withdraw();
    } else if (dice < 0.99) {
      change_dirty();
    } else {
      change_limits();
    }
    check();
  }

  /// Ends all, checking that everybody gets his turn.
  void finish() {
    // A minimum of 0 is no promise.
    for (ClassLimits& c : limits_.classes) c.min_active = std::max(c.min_active, 1U);
    policy_.set_limits(limits_);
    model_.set_limits(limits_);
    while (grant() || !active_.empty()) {
      if (!active_.empty()) end_one();
      check();
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_EQ(left_.size(), requests_.size());
    EXPECT_EQ(policy_.waiting(), 0U);
    EXPECT_EQ(policy_.waiting_mask(), 0U);
    EXPECT_EQ(policy_.active(), 0U);
  }

  std::size_t aggregates() const { return aggregates_; }

 private:
  Mailbox* owner(unsigned i) {
    return reinterpret_cast<Mailbox*>(&owners_.at(i));  // told apart by address only
  }

  Request& make() {
    requests_.push_back(std::make_unique<Request>());
    Request& r = *requests_.back();
    r.io_class = static_cast<IoClass>(below(prng_, kIoClasses));
    r.op = r.io_class == IoClass::trim ? Op::trim : prng_.chance(0.5) ? Op::read : Op::write;
    r.length = (1 + below(prng_, 4)) * kBlock;
    // Half of them in sequence, so that neighbours meet.
    r.offset = prng_.chance(0.5) ? next_offset_ : prng_.below(4096) * kBlock;
    next_offset_ = r.offset + r.length;
    r.owner = owner(below(prng_, 3));
    r.target = &targets_.at(prng_.chance(0.1) ? 1 : 0);
    r.alone = prng_.chance(0.03);
    // Each session stamps before it takes the lock: not quite in order, but no two alike here.
    r.arrived_ns = clock_.now_ns() + 5000 - prng_.below(5000);
    while (!stamps_.insert(r.arrived_ns).second) ++r.arrived_ns;
    return r;
  }

  void arrive() {
    Request& request = make();
    if (prng_.chance(0.5)) {
      const bool free = model_.is_free(request);
      ASSERT_EQ(policy_.pass(request), free);
      if (free) {
        model_.passed(request);
        goes(request);
        active_.push_back(&request);
        return;
      }
    }
    policy_.enqueue(request);
    model_.came(request);
  }

  bool grant() {
    std::array<bool, kIoClasses> owed{};
    for (unsigned c = 0; c < kIoClasses; ++c) {
      owed[c] = model_.waits(c) && model_.active(c) < model_.min_now(c);
    }
    const std::vector<Request*> expected = model_.next();
    Request* const head = policy_.next();
    EXPECT_EQ(head, expected.empty() ? nullptr : expected[0]);
    if (head == nullptr || testing::Test::HasFailure()) return false;
    check_turns(owed, PolicyModel::index(*head));
    check_bucket(*head);
    std::vector<Request*> parts{head};
    for (Request* p = head->first_part; p != nullptr; p = p->next_part) parts.push_back(p);
    EXPECT_EQ(parts, expected);
    if (parts.size() == 1) {
      goes(*head);
    } else {
      ++aggregates_;
      check_aggregate(*head, parts);
      for (std::size_t i = 1; i < parts.size(); ++i) goes(*parts[i]);
    }
    active_.push_back(head);
    return true;
  }

  // Of a class below its minimum, at most one of each other class goes first.
  void check_turns(const std::array<bool, kIoClasses>& owed, unsigned gone) {
    for (unsigned c = 0; c < kIoClasses; ++c) {
      overtaken_[c] = owed[c] && c != gone ? overtaken_[c] + 1 : 0;
      EXPECT_LE(overtaken_[c], kIoClasses - 1) << name(static_cast<IoClass>(c));
    }
  }

  // Nobody of a class waits who came a bucket's time before the one that goes.
  void check_bucket(const Request& head) {
    for (const Request* r : model_.all_waiting()) {
      if (r->io_class != head.io_class || !limits_.by_offset || !may_sort(head.io_class)) continue;
      EXPECT_LE(head.arrived_ns, r->arrived_ns + (1ULL << limits_.bucket_bits));
    }
  }

  void check_aggregate(const Request& head, const std::vector<Request*>& parts) {
    EXPECT_NE(head.op, Op::trim);
    EXPECT_TRUE(std::find(parts.begin() + 1, parts.end(), &head) != parts.end());
    EXPECT_LE(PolicyModel::end_of(*parts.back()) - parts[1]->offset,
              limits_.aggregation.size_bytes);
    for (std::size_t i = 1; i < parts.size(); ++i) {
      EXPECT_EQ(parts[i]->op, head.op);
      EXPECT_FALSE(parts[i]->alone);
      EXPECT_EQ(parts[i]->target, head.target);
      if (i > 1) {
        const std::uint64_t before = PolicyModel::end_of(*parts[i - 1]);
        EXPECT_GE(parts[i]->offset, before);
        EXPECT_LE(parts[i]->offset - before,
                  head.op == Op::read ? limits_.aggregation.read_gap_bytes : 0);
      }
    }
  }

  void goes(const Request& request) {
    EXPECT_TRUE(left_.insert(&request).second) << "a request went twice";
  }

  void end_one() {
    std::swap(active_[prng_.below(active_.size())], active_.back());
    Request& head = *active_.back();
    policy_.done(head.io_class);
    model_.ended(PolicyModel::index(head));
    head.first_part = nullptr;
    active_.pop_back();
  }

  void withdraw() {
    Mailbox* const who = owner(below(prng_, 3));
    const std::vector<Request*> expected = model_.withdraw(who);
    RequestList out;
    policy_.withdraw(*who, out);
    EXPECT_EQ(out.size(), expected.size());
    while (!out.empty()) {
      goes(out.front());
      EXPECT_EQ(out.front().owner, who);
      out.pop_front();
    }
  }

  void change_dirty() {
    const DirtyData dirty{prng_.below(1100), prng_.chance(0.9) ? 1000U : 0U};
    policy_.set_dirty(dirty);
    model_.set_dirty(dirty);
  }

  void change_limits() {
    limits_ = random_limits(prng_);
    policy_.set_limits(limits_);
    model_.set_limits(limits_);
    lowered_ = active_.size();
  }

  void check() {
    ASSERT_EQ(policy_.active(), active_.size());
    ASSERT_EQ(policy_.waiting(), model_.waiting());
    ASSERT_EQ(left_.size() + policy_.waiting(), requests_.size());
    // What new limits found active above them runs out first.
    lowered_ = std::min(lowered_, active_.size());
    ASSERT_LE(policy_.active(), std::max<std::size_t>(limits_.max_active, lowered_));
    for (unsigned c = 0; c < kIoClasses; ++c) {
      const auto io_class = static_cast<IoClass>(c);
      ASSERT_EQ(policy_.active(io_class), model_.active(c));
      ASSERT_LE(policy_.active(io_class),
                std::max<std::size_t>(limits_.classes[c].max_active, lowered_));
      ASSERT_EQ((policy_.waiting_mask() & class_bit(c)) != 0, model_.waits(c));
    }
  }

  Prng prng_;
  SimClock clock_;
  QueueLimits limits_;
  std::array<char, 3> owners_{};
  std::array<Target, 2> targets_{Target{}, Target{.mode = 1}};
  std::vector<std::unique_ptr<Request>> requests_;
  ClassPolicy policy_;
  PolicyModel model_;
  std::vector<Request*> active_;
  std::set<const Request*> left_;
  std::set<std::uint64_t> stamps_;
  std::array<unsigned, kIoClasses> overtaken_{};
  std::uint64_t next_offset_ = 0;
  std::size_t lowered_ = 0;
  std::size_t aggregates_ = 0;
};

TEST(ClassPolicy, KeepsItsRuleOverRandomSteps) {
  std::size_t aggregates = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Walk walk(seed);
    for (int i = 0; i < 3000; ++i) {
      walk.step();
      if (HasFailure()) return;
    }
    walk.finish();
    if (HasFailure()) return;
    aggregates += walk.aggregates();
  }
  EXPECT_GT(aggregates, 1000U);  // or the walks say little about them
}

}  // namespace
}  // namespace sluice
