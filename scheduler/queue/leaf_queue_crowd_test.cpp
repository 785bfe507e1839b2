// Both kinds of LeafQueue, by many threads at once: every request is let go once, no limit is
// exceeded at any time, and nobody waits for ever.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "scheduler/base/prng.h"
#include "scheduler/queue/leaf_queue.h"

namespace sluice {
namespace {

QueueLimits limits_of(std::uint32_t class_max, std::uint32_t cap) {
  QueueLimits limits;
  limits.classes.fill({1, class_max});
  limits.max_active = cap;
  return limits;
}

/// Threads that share a queue. What one of them lets go of another's is told to that one, as the
/// stack does it with mailboxes.
class Crowd {
 public:
  Crowd(enum sluice_queue kind, const QueueLimits& limits, unsigned threads, unsigned depth,
        std::uint64_t seed)
      : limits_(limits), queue_(make_leaf_queue(kind, limits)), seed_(seed) {
    for (unsigned t = 0; t < threads; ++t) {
      members_.push_back(std::make_unique<Member>(*queue_, depth));
    }
  }

  /// `classes`: how many the threads use.
  void run(std::uint64_t ops_each, unsigned classes) {
    classes_ = classes;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < members_.size(); ++t) {
      threads.emplace_back([this, t, ops_each] { work(*members_[t], seed_ + t, ops_each); });
    }
    for (std::thread& thread : threads) thread.join();
  }

  void check(std::uint64_t ops) {
    EXPECT_EQ(queue_->active(), 0U);
    EXPECT_EQ(queue_->waiting(), 0U);
    for (unsigned c = 0; c < kIoClasses; ++c) EXPECT_FALSE(queue_->pressure().waits(c));
    EXPECT_EQ(errors_.load(), 0U) << "a limit exceeded, or a request let go twice";
    LeafStats stats;
    queue_->read_stats(stats);
    EXPECT_EQ(stats.granted.load(), ops);
    EXPECT_LE(stats.waited.load(), ops);
    EXPECT_LE(stats.active_max.load(), limits_.max_active);
    EXPECT_GE(stats.active_max.load(), active_max_.load());
    EXPECT_EQ(waited_.load(), stats.waited.load());
  }

  LeafQueue& queue() { return *queue_; }

 private:
  struct Member {
    Member(LeafQueue& queue, unsigned depth)
        // The queue only compares owners; a number will do.
        : seat(reinterpret_cast<Mailbox*>(this), queue),
          requests(std::make_unique<Request[]>(depth)) {
      target.seat = &seat;
      for (unsigned i = 0; i < depth; ++i) {
        requests[i].slot = i;
        requests[i].owner = seat.owner();
        requests[i].target = &target;
        idle.push_back(&requests[i]);
      }
    }
    Seat seat;
    Target target;
    std::unique_ptr<Request[]> requests;
    std::vector<Request*> idle;
    std::vector<Request*> active;
    std::mutex mutex;
    std::vector<Request*> inbox;  // guarded by mutex
    bool notified = false;        // guarded by mutex
  };

  void work(Member& self, std::uint64_t seed, std::uint64_t ops) {
    queue_->join(self.seat);
    Prng prng(seed);
    std::uint64_t entered = 0;
    std::uint64_t done = 0;
    while (done < ops) {
      collect(self);
      if (entered < ops && !self.idle.empty() && prng.chance(0.6)) {
        entered += enter_some(self, prng, ops - entered);
      }
      if (prng.chance(0.1)) std::this_thread::yield();
      if (!self.active.empty()) {
        done += end_some(self, prng);
      } else if (entered == ops || self.idle.empty()) {
        std::this_thread::yield();
      }
    }
    Grants freed;
    queue_->quit(self.seat, freed);
    tell(freed);
  }

  void collect(Member& self) {
    bool notified = false;
    {
      const std::lock_guard lock(self.mutex);
      self.active.insert(self.active.end(), self.inbox.begin(), self.inbox.end());
      self.inbox.clear();
      notified = self.notified;
      self.notified = false;
    }
    if (!notified) return;
    Grants grants;
    queue_->collect(self.seat, grants);
    take_own(self, grants);
    tell(grants);
  }

  void take_own(Member& self, Grants& grants) {
    while (!grants.own.empty()) {
      Request& request = grants.own.front();
      grants.own.pop_front();
      on_grant(request);
      self.active.push_back(&request);
    }
  }

  void tell(Grants& grants) {
    while (!grants.others.empty()) {
      Request& request = grants.others.front();
      grants.others.pop_front();
      on_grant(request);
      auto& owner = *reinterpret_cast<Member*>(request.owner);
      const std::lock_guard lock(owner.mutex);
      owner.inbox.push_back(&request);
    }
    while (!grants.seats.empty()) {
      Seat& seat = grants.seats.front();
      grants.seats.pop_front();
      seat.unlist();
      auto& owner = *reinterpret_cast<Member*>(seat.owner());
      {
        const std::lock_guard lock(owner.mutex);
        owner.notified = true;
      }
      seat.end_notice();
    }
  }

  unsigned enter_some(Member& self, Prng& prng, std::uint64_t most) {
    Request* batch[8];
    unsigned count = 0;
    const std::uint64_t wanted = std::min<std::uint64_t>(1 + prng.below(8), most);
    unsigned entered = 0;
    while (entered < wanted && !self.idle.empty()) {
      Request& request = *self.idle.back();
      self.idle.pop_back();
      ++entered;
      const auto c = static_cast<unsigned>(prng.below(classes_));
      request.state = RequestState::staged;
      request.io_class = static_cast<IoClass>(c);
      if (count == 0 && self.seat.waiting[c].empty() && self.seat.take(c)) {
        request.path = Path::leased;
        request.state = RequestState::granted;
        self.seat.granted.add(1);
        on_grant(request);
        self.active.push_back(&request);
      } else {
        batch[count++] = &request;
      }
    }
    if (count == 0) return entered;
    Grants grants;
    queue_->enter(self.seat, batch, count, grants);
    waited_ += count - std::min<std::uint64_t>(count, grants.own.size());
    take_own(self, grants);
    tell(grants);
    return entered;
  }

  unsigned end_some(Member& self, Prng& prng) {
    std::vector<Request*> queued;
    const std::uint64_t wanted = 1 + prng.below(self.active.size());
    for (std::uint64_t i = 0; i < wanted; ++i) {
      Request& request = *self.active.back();
      self.active.pop_back();
      // Ours until it is given back: the oracle counts fewer than the queue, never more.
      if (request.state != RequestState::granted) ++errors_;
      request.state = RequestState::idle;
      const auto c = static_cast<unsigned>(request.io_class);
      --by_class_[c];
      --active_;
      self.idle.push_back(&request);
      if (request.path == Path::queued) {
        queued.push_back(&request);
      } else if (!self.seat.put(c)) {
        Grants grants;
        queue_->left(self.seat, c, grants);
        take_own(self, grants);
        tell(grants);
      }
    }
    if (!queued.empty()) {
      Grants grants;
      queue_->leave(self.seat, queued.data(), static_cast<unsigned>(queued.size()), grants);
      take_own(self, grants);
      tell(grants);
    }
    return static_cast<unsigned>(wanted);
  }

  void on_grant(Request& request) {
    if (request.state != RequestState::granted) ++errors_;
    const auto c = static_cast<unsigned>(request.io_class);
    const unsigned of_class = ++by_class_[c];
    const unsigned all = ++active_;
    if (of_class > limits_.classes[c].max_active || all > limits_.max_active) ++errors_;
    unsigned most = active_max_.load();
    while (all > most && !active_max_.compare_exchange_weak(most, all)) {
    }
  }

  const QueueLimits limits_;
  const std::unique_ptr<LeafQueue> queue_;
  const std::uint64_t seed_;
  unsigned classes_ = kIoClasses;
  std::vector<std::unique_ptr<Member>> members_;
  std::array<std::atomic<unsigned>, kIoClasses> by_class_{};
  std::atomic<unsigned> active_{0};
  std::atomic<unsigned> active_max_{0};
  std::atomic<std::uint64_t> waited_{0};
  std::atomic<std::uint64_t> errors_{0};
};

class BothKinds : public testing::TestWithParam<enum sluice_queue> {};

INSTANTIATE_TEST_SUITE_P(LeafQueue, BothKinds,
                         testing::Values(SLUICE_queue_classic, SLUICE_queue_fast),
                         [](const auto& kind) {
                           return kind.param == SLUICE_queue_fast ? "fast" : "classic";
                         });

TEST_P(BothKinds, ThreadsGetEveryGrantOnceAndNeverMoreThanTheLimits) {
  constexpr unsigned kThreads = 4;
  constexpr std::uint64_t kOps = 3'000;
  const QueueLimits cases[] = {limits_of(1, 1),
                               limits_of(1, 3),
                               limits_of(2, 5),
                               limits_of(16, 7),
                               limits_of(3, QueueLimits::kUnlimited),
                               limits_of(QueueLimits::kUnlimited, QueueLimits::kUnlimited)};
  std::uint64_t seed = 100;
  for (const QueueLimits& limits : cases) {
    for (const unsigned classes : {1U, 2U, kIoClasses}) {
      seed += 100;
      SCOPED_TRACE(testing::Message()
                   << "seed " << seed << ", class maximum " << limits.classes[0].max_active
                   << ", cap " << limits.max_active << ", classes " << classes);
      Crowd crowd(GetParam(), limits, kThreads, 16, seed);
      crowd.run(kOps, classes);
      crowd.check(kThreads * kOps);
    }
  }
}

}  // namespace
}  // namespace sluice
