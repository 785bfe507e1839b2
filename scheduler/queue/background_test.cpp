// Background: OpenZFS's rule event by event, and that it starves nobody, whatever the foreground
// does.
#include "scheduler/queue/background.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>

#include "scheduler/base/prng.h"
#include "scheduler/queue/class_policy.h"

namespace sluice {
namespace {

constexpr ClassLimits kScrub{1, 3};
constexpr bool kBack = true;
constexpr bool kFore = false;

Background five() {
  Background background;
  background.configure({.delay = 5, .credit = 5});
  return background;
}

TEST(Background, FullMaximumComesOnlyAfterAnUndisturbedDelay) {
  Background background = five();
  for (unsigned ended = 0; ended < 5; ++ended) {
    EXPECT_EQ(background.now(kScrub, 0).max_active, 1U) << ended;
    background.issued(kBack, 0);
    background.ended(kBack, 0);
  }
  EXPECT_EQ(background.now(kScrub, 0).max_active, 3U);
  // One foreground I/O, and it begins anew.
  background.issued(kFore, 1);
  background.ended(kFore, 0);
  EXPECT_EQ(background.now(kScrub, 0).max_active, 1U);
}

TEST(Background, OneGoesPerArrivalOfTheForegroundAndACreditPerItsCompletion) {
  Background background = five();
  background.issued(kFore, 1);
  EXPECT_EQ(background.now(kScrub, 1).min_active, 1U);
  background.issued(kBack, 1);
  EXPECT_EQ(background.now(kScrub, 1).min_active, 0U);
  EXPECT_EQ(background.now(kScrub, 1).max_active, 0U);
  background.ended(kBack, 1);
  background.issued(kFore, 2);
  EXPECT_EQ(background.now(kScrub, 2).max_active, 0U) << "only the first to come brings credit";
  background.ended(kFore, 1);
  for (unsigned i = 0; i < 5; ++i) {
    EXPECT_EQ(background.now(kScrub, 1).max_active, 1U) << "never above the minimum meanwhile";
    background.issued(kBack, 1);
    background.ended(kBack, 1);
  }
  EXPECT_EQ(background.now(kScrub, 1).max_active, 0U);
}

TEST(Background, CreditBoundsALargerMinimum) {
  Background background = five();
  background.issued(kFore, 1);
  EXPECT_EQ(background.now({8, 9}, 1).min_active, 1U);
  background.issued(kFore, 2);
  background.ended(kFore, 1);
  EXPECT_EQ(background.now({8, 9}, 1).min_active, 5U);
  background.ended(kFore, 0);
  EXPECT_EQ(background.now({8, 9}, 0).min_active, 8U);
  EXPECT_EQ(background.now({8, 9}, 0).max_active, 8U);
}

TEST(Background, MinimumOfNoneStillGetsOneWhenNothingElseIsThere) {
  const Background background = five();
  EXPECT_EQ(background.now({0, 4}, 0).min_active, 0U);
  EXPECT_EQ(background.now({0, 4}, 0).max_active, 1U);
}

TEST(Background, TrimsAreForeground) {
  for (unsigned c = 0; c < kIoClasses; ++c) {
    const auto io_class = static_cast<IoClass>(c);
    EXPECT_EQ(is_background(io_class), io_class == IoClass::scrub || io_class == IoClass::rebuild);
  }
}

/// A device with servers, fed by a policy: a foreground of random shape beside an endless scrub.
class Contest {
 public:
  Contest(std::uint64_t seed, const QueueLimits& limits, bool adversary)
      : prng_(seed),
        policy_(limits),
        servers_(1 + static_cast<unsigned>(prng_.below(12))),
        depth_(1 + static_cast<unsigned>(prng_.below(64))),
        adversary_(adversary) {}
  ~Contest() {
    RequestList left;
    policy_.withdraw(*owner(), left);
    left.clear();
  }
  Contest(const Contest&) = delete;
  Contest& operator=(const Contest&) = delete;

  void run(unsigned steps) {
    for (unsigned i = 0; i < 4; ++i) offer(IoClass::scrub);
    for (unsigned i = 0; i < depth_; ++i) offer(foreground());
    for (unsigned i = 0; i < steps && !testing::Test::HasFailure(); ++i) end_one();
  }

  unsigned fore_ended = 0;
  unsigned scrubs = 0;      ///< granted
  unsigned worst_wait = 0;  ///< foreground I/Os that ended while scrub had nothing at the device

 private:
  IoClass foreground() {
    static constexpr IoClass kClasses[] = {IoClass::sync_read, IoClass::sync_write,
                                           IoClass::async_read, IoClass::async_write,
                                           IoClass::trim};
    return kClasses[prng_.below(std::size(kClasses))];
  }

  void offer(IoClass io_class) {
    requests_.push_back(std::make_unique<Request>());
    requests_.back()->io_class = io_class;
    requests_.back()->owner = owner();
    if (policy_.pass(*requests_.back())) {
      started(*requests_.back());
    } else {
      policy_.enqueue(*requests_.back());
    }
    grant();
  }

  void grant() {
    while (Request* request = policy_.next()) started(*request);
  }

  void started(Request& request) {
    if (request.io_class == IoClass::scrub) ++scrubs;
    at_device_.push_back(&request);
  }

  /// The device serves what came first, or, as an adversary, the foreground before all else.
  void end_one() {
    ASSERT_FALSE(at_device_.empty());
    const std::size_t served = std::min<std::size_t>(servers_, at_device_.size());
    auto which = at_device_.begin() + static_cast<std::ptrdiff_t>(prng_.below(served));
    if (adversary_) {
      which = std::find_if(at_device_.begin(), at_device_.end(),
                           [](const Request* r) { return r->io_class != IoClass::scrub; });
      if (which == at_device_.end()) which = at_device_.begin();
    }
    Request& request = **which;
    at_device_.erase(which);
    policy_.done(request.io_class);
    const bool scrub = request.io_class == IoClass::scrub;
    if (!scrub) {
      ++fore_ended;
      wait_ = policy_.active(IoClass::scrub) == 0 ? wait_ + 1 : 0;
    }
    grant();
    if (policy_.active(IoClass::scrub) > 0) wait_ = 0;
    worst_wait = std::max(worst_wait, wait_);
    // Closed loop: who ended comes back, the foreground sometimes after a while.
    if (scrub) {
      offer(IoClass::scrub);
    } else {
      ++away_;
    }
    while (away_ > 0 && (prng_.chance(0.9) || at_device_.empty())) {
      --away_;
      offer(foreground());
    }
  }

  static Mailbox* owner() { return reinterpret_cast<Mailbox*>(1); }  // only an address

  Prng prng_;
  ClassPolicy policy_;
  const unsigned servers_;
  const unsigned depth_;
  const bool adversary_;
  unsigned wait_ = 0;
  unsigned away_ = 0;
  std::vector<std::unique_ptr<Request>> requests_;
  std::deque<Request*> at_device_;
};

QueueLimits openzfs_with_cap(std::uint32_t cap) {
  Tunables tunables = default_tunables();
  tunables.queue_profile = SLUICE_queue_profile_openzfs;
  QueueLimits limits = queue_limits(tunables).value();
  limits.max_active = cap;
  limits.aggregation = {};
  return limits;
}

// Scrub has its minimum (one) at the device again after at most one grant to each other class,
// whatever the foreground does and whichever cap there is.
TEST(Background, ScrubKeepsItsMinimumWhateverTheForegroundDoes) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    for (const bool adversary : {false, true}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << (adversary ? ", adversary" : ""));
      Prng prng(seed * 7919);
      Contest contest(seed, openzfs_with_cap(1 + static_cast<std::uint32_t>(prng.below(40))),
                      adversary);
      contest.run(1500);
      ASSERT_FALSE(HasFailure());
      ASSERT_GT(contest.fore_ended + contest.scrubs, 500U);
      ASSERT_LE(contest.worst_wait, kIoClasses - 1);
      ASSERT_GT(contest.scrubs, 0U);
    }
  }
}

TEST(Background, HoldsScrubBackWhileTheForegroundIsBusy) {
  QueueLimits yields = openzfs_with_cap(1000);
  QueueLimits competes = yields;
  competes.background = {};
  Contest polite(1, yields, false);
  Contest greedy(1, competes, false);
  polite.run(5000);
  greedy.run(5000);
  EXPECT_LT(polite.scrubs * 3, greedy.scrubs * 2);
}

}  // namespace
}  // namespace sluice
