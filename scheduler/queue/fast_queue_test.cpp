// FastQueue by steps, from one thread: whose permission goes where.
#include "scheduler/queue/fast_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace sluice {
namespace {

constexpr auto kRead = static_cast<unsigned>(IoClass::sync_read);
constexpr auto kWrite = static_cast<unsigned>(IoClass::sync_write);
constexpr auto kScrub = static_cast<unsigned>(IoClass::scrub);
constexpr std::uint32_t kMany = QueueLimits::kUnlimited;

QueueLimits limits_of(std::uint32_t class_max, std::uint32_t cap) {
  QueueLimits limits;
  limits.classes.fill({1, class_max});
  limits.max_active = cap;
  return limits;
}

/// One session at the queue: enters requests, ends them, and is told of grants.
class Job {
 public:
  explicit Job(FastQueue& queue) : queue_(queue), seat_(nullptr, queue) { queue.join(seat_); }
  ~Job() {
    while (!active_.empty()) end(active_.front()->io_class);
    Grants freed;
    queue_.withdraw(seat_, freed);
    freed.own.clear();
    queue_.quit(seat_, freed);
    tell(freed);
  }

  /// Returns how many may go at once.
  unsigned enter(unsigned c, unsigned count) {
    const std::size_t before = active_.size();
    std::vector<Request*> batch;
    for (unsigned i = 0; i < count; ++i) {
      all_.push_back(std::make_unique<Request>());
      Request& request = *all_.back();
      request.io_class = static_cast<IoClass>(c);
      if (batch.empty() && seat_.waiting[c].empty() && seat_.take(c)) {
        seat_.granted.add(1);
        active_.push_back(&request);
      } else {
        batch.push_back(&request);
      }
    }
    if (!batch.empty()) {
      ++asked;
      Grants grants;
      queue_.enter(seat_, batch.data(), static_cast<unsigned>(batch.size()), grants);
      keep(grants);
    }
    return static_cast<unsigned>(active_.size() - before);
  }

  /// Ends the oldest active request of the class.
  void end(IoClass io_class) {
    for (auto it = active_.begin(); it != active_.end(); ++it) {
      if ((*it)->io_class != io_class) continue;
      active_.erase(it);
      const auto c = static_cast<unsigned>(io_class);
      if (seat_.put(c)) return;
      ++asked;
      Grants grants;
      queue_.left(seat_, c, grants);
      keep(grants);
      return;
    }
    FAIL() << "nothing to end";
  }
  void end(unsigned c) { end(static_cast<IoClass>(c)); }

  void collect() {
    told = false;
    Grants grants;
    queue_.collect(seat_, grants);
    keep(grants);
  }

  unsigned active(unsigned c) const {
    unsigned count = 0;
    for (const Request* r : active_) count += static_cast<unsigned>(r->io_class) == c ? 1 : 0;
    return count;
  }
  Seat& seat() { return seat_; }

  unsigned asked = 0;  ///< calls that may take the mutex
  static inline std::vector<Job*> jobs;
  bool told = false;

  static void tell(Grants& grants) {
    while (!grants.seats.empty()) {
      Seat& seat = grants.seats.front();
      grants.seats.pop_front();
      seat.unlist();
      for (Job* job : jobs) job->told |= &job->seat_ == &seat;
      seat.end_notice();
    }
  }

 private:
  void keep(Grants& grants) {
    while (!grants.own.empty()) {
      active_.push_back(&grants.own.front());
      grants.own.pop_front();
    }
    tell(grants);
  }

  FastQueue& queue_;
  Seat seat_;
  std::vector<std::unique_ptr<Request>> all_;
  std::vector<Request*> active_;
};

class FastQueueTest : public testing::Test {
 protected:
  void begin(const QueueLimits& limits) {
    queue = std::make_unique<FastQueue>(limits);
    for (auto& job : {&a, &b}) {
      *job = std::make_unique<Job>(*queue);
      Job::jobs.push_back(job->get());
    }
  }
  void TearDown() override {
    Job::jobs.clear();
    b.reset();
    a.reset();
    EXPECT_EQ(queue->active(), 0U);
    EXPECT_EQ(queue->waiting(), 0U);
    for (unsigned c = 0; c < kIoClasses; ++c) EXPECT_FALSE(queue->pressure().waits(c));
  }

  std::unique_ptr<FastQueue> queue;
  std::unique_ptr<Job> a;
  std::unique_ptr<Job> b;
};

TEST_F(FastQueueTest, WhoHoldsEnoughAsksNobody) {
  begin(limits_of(kMany, kMany));
  EXPECT_EQ(a->enter(kRead, 4), 4U);
  EXPECT_EQ(a->asked, 1U);
  for (unsigned i = 0; i < 100; ++i) {
    a->end(kRead);
    EXPECT_EQ(a->enter(kRead, 1), 1U);
  }
  EXPECT_EQ(a->asked, 1U);
  EXPECT_EQ(queue->active(), 4U);
}

TEST_F(FastQueueTest, WhatIsHeldUnusedGoesToWhoNeedsIt) {
  begin(limits_of(4, kMany));
  a->enter(kRead, 4);
  for (unsigned i = 0; i < 3; ++i) a->end(kRead);
  EXPECT_EQ(a->seat().spare(kRead), 3U);
  EXPECT_EQ(b->enter(kRead, 4), 3U);
  EXPECT_EQ(a->seat().spare(kRead), 0U);
  // The fourth when it ends; b waits, so a gives it back.
  a->end(kRead);
  EXPECT_TRUE(b->told);
  b->collect();
  EXPECT_EQ(b->active(kRead), 4U);
}

TEST_F(FastQueueTest, AloneAtItsLimitAJobGoesOnWithoutAsking) {
  begin(limits_of(2, kMany));
  EXPECT_EQ(a->enter(kRead, 300), 2U);
  for (unsigned i = 0; i < 298; ++i) a->end(kRead);
  EXPECT_EQ(a->active(kRead), 2U);
  LeafStats stats;
  queue->read_stats(stats);
  EXPECT_EQ(stats.granted.load(), 300U);
  EXPECT_EQ(stats.active_max.load(), 2U);
}

TEST_F(FastQueueTest, OthersOfTheClassWaitForAtMostTheStatedNumber) {
  begin(limits_of(1, kMany));
  EXPECT_EQ(a->enter(kRead, 100), 1U);
  EXPECT_EQ(b->enter(kRead, 1), 0U);
  unsigned overtaken = 0;
  for (; !b->told && overtaken < 100; ++overtaken) a->end(kRead);
  EXPECT_LE(overtaken, FastQueue::kReuses + 1U);
  b->collect();
  EXPECT_EQ(b->active(kRead), 1U);
  EXPECT_EQ(a->active(kRead), 0U);
  // And back: b has no more, so at once.
  b->end(kRead);
  EXPECT_TRUE(a->told);
  a->collect();
  EXPECT_EQ(a->active(kRead), 1U);
}

TEST_F(FastQueueTest, WhereClassesCompeteForTheCapTheHigherGoesAtOnce) {
  begin(limits_of(kMany, 2));
  EXPECT_EQ(a->enter(kWrite, 10), 2U);
  EXPECT_EQ(b->enter(kRead, 1), 0U);
  a->end(kWrite);
  EXPECT_TRUE(b->told);
  b->collect();
  EXPECT_EQ(b->active(kRead), 1U);
  EXPECT_EQ(a->active(kWrite), 1U);
}

TEST_F(FastQueueTest, WhereTheyDoNotAClassKeepsItsOwn) {
  begin(limits_of(2, kMany));
  EXPECT_EQ(a->enter(kWrite, 10), 2U);
  EXPECT_EQ(b->enter(kRead, 3), 2U);
  const unsigned before = a->asked;
  a->end(kWrite);
  EXPECT_EQ(a->active(kWrite), 2U);
  EXPECT_FALSE(b->told);
  EXPECT_EQ(a->asked, before + 1);  // looked, and found that it is none of b's
}

TEST_F(FastQueueTest, WhatAJobHoldsOfOneClassIsNotInTheWayOfItsOthers) {
  begin(limits_of(kMany, 2));
  EXPECT_EQ(a->enter(kRead, 2), 2U);
  a->end(kRead);
  a->end(kRead);
  EXPECT_EQ(a->enter(kWrite, 3), 2U);
}

TEST_F(FastQueueTest, BackgroundIoIsAskedForEachTime) {
  QueueLimits limits = limits_of(kMany, kMany);
  limits[IoClass::scrub] = {1, 1};
  limits.background = {5, 5};
  begin(limits);
  EXPECT_EQ(a->enter(kScrub, 3), 1U);
  const unsigned before = a->asked;
  a->end(kScrub);
  a->end(kScrub);
  EXPECT_EQ(a->asked, before + 2);
  EXPECT_EQ(a->active(kScrub), 1U);
}

TEST_F(FastQueueTest, BackgroundIoLivesOnCreditWhileTheForegroundIsBusy) {
  QueueLimits limits = limits_of(kMany, kMany);
  limits[IoClass::scrub] = {1, 3};
  limits.background = {5, 2};
  begin(limits);
  EXPECT_EQ(b->enter(kRead, 1), 1U);
  // The first read gives a credit of one.
  EXPECT_EQ(a->enter(kScrub, 10), 1U);
  a->end(kScrub);
  EXPECT_EQ(a->active(kScrub), 0U);
  // With nothing in the foreground, which holds its permission but doesn't use it: the minimum.
  b->end(kRead);
  EXPECT_TRUE(a->told);
  a->collect();
  EXPECT_EQ(a->active(kScrub), 1U);
}

TEST_F(FastQueueTest, LowerLimitsHoldAsSoonAsEnoughHasEnded) {
  begin(limits_of(8, kMany));
  EXPECT_EQ(a->enter(kRead, 8), 8U);
  Grants grants;
  queue->set_limits(limits_of(2, kMany), grants);
  Job::tell(grants);
  a->enter(kRead, 8);
  for (unsigned i = 0; i < 6; ++i) a->end(kRead);
  EXPECT_EQ(a->active(kRead), 2U);
  a->end(kRead);
  EXPECT_EQ(a->active(kRead), 2U);
  EXPECT_EQ(b->enter(kRead, 1), 0U);
}

TEST_F(FastQueueTest, LowerLimitsHoldForWhatIsHeldUnused) {
  begin(limits_of(8, kMany));
  a->enter(kRead, 8);
  for (unsigned i = 0; i < 4; ++i) a->end(kRead);
  Grants grants;
  queue->set_limits(limits_of(2, kMany), grants);
  for (unsigned i = 0; i < 4; ++i) a->end(kRead);
  EXPECT_EQ(a->enter(kRead, 8), 2U);
}

TEST_F(FastQueueTest, AGrantThatIsNotCollectedGoesToOthersWhenOverdue) {
  begin(limits_of(1, kMany));
  EXPECT_EQ(a->enter(kRead, 1), 1U);
  EXPECT_EQ(b->enter(kRead, 1), 0U);
  a->end(kRead);
  ASSERT_TRUE(b->told);  // and is away
  EXPECT_EQ(a->enter(kRead, 1), 0U);
  Grants grants;
  queue->reclaim(b->seat(), grants);
  Job::tell(grants);
  EXPECT_TRUE(a->told);
  a->collect();
  EXPECT_EQ(a->active(kRead), 1U);
  // b comes back too late, and waits again.
  b->collect();
  EXPECT_EQ(b->active(kRead), 0U);
  a->end(kRead);
  b->collect();
  EXPECT_EQ(b->active(kRead), 1U);
}

TEST_F(FastQueueTest, AnOverdueGrantIsThereForWhoComesLater) {
  begin(limits_of(1, kMany));
  a->enter(kRead, 1);
  b->enter(kRead, 1);
  a->end(kRead);
  ASSERT_TRUE(b->told);
  Grants grants;
  queue->reclaim(b->seat(), grants);  // nobody else waits
  EXPECT_TRUE(grants.seats.empty());
  EXPECT_EQ(b->seat().spare(kRead), 1U);
  EXPECT_EQ(a->enter(kRead, 1), 1U);
  b->collect();
  EXPECT_EQ(b->active(kRead), 0U);
}

TEST_F(FastQueueTest, WhoLeavesGivesEverythingBack) {
  begin(limits_of(2, kMany));
  a->enter(kRead, 2);
  EXPECT_EQ(b->enter(kRead, 2), 0U);
  a->end(kRead);
  a->end(kRead);
  a.reset();
  Job::jobs = {b.get()};
  b->collect();
  EXPECT_EQ(b->active(kRead), 2U);
}

TEST_F(FastQueueTest, AClaimThatIsNotNeededAnyMoreEnds) {
  begin(limits_of(2, kMany));
  a->enter(kRead, 3);
  // From now on a has one at a time: its claim would make everybody look for ever.
  a->end(kRead);
  a->end(kRead);
  for (unsigned i = 0; i < 4U * FastQueue::kReuses; ++i) {
    a->end(kRead);
    a->enter(kRead, 1);
  }
  for (unsigned c = 0; c < kIoClasses; ++c) EXPECT_FALSE(queue->pressure().waits(c));
}

}  // namespace
}  // namespace sluice
