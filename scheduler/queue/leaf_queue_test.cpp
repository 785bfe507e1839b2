// LeafQueue: enter() and leave() from one thread by steps, then from many at once.
#include "scheduler/queue/leaf_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "scheduler/base/prng.h"

namespace sluice {
namespace {

QueueLimits limits_of(std::uint32_t class_max, std::uint32_t cap) {
  QueueLimits limits;
  limits.classes.fill({1, class_max});
  limits.max_active = cap;
  return limits;
}

std::uint64_t granted(const LeafQueue& queue) {
  LeafStats stats;
  queue.read_stats(stats);
  return stats.granted.load();
}

TEST(LeafQueue, GrantsInOrderUpToTheLimitAndKeepsTheRest) {
  LeafQueue queue(limits_of(2, QueueLimits::kUnlimited));
  Request requests[4];
  Request* batch[4];
  for (unsigned i = 0; i < 4; ++i) batch[i] = &requests[i];
  ASSERT_EQ(queue.enter(batch, 4), 2U);
  EXPECT_EQ(batch[0], &requests[0]);
  EXPECT_EQ(batch[1], &requests[1]);
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(requests[i].state, i < 2 ? RequestState::granted : RequestState::waiting);
    EXPECT_EQ(requests[i].path, Path::queued);
  }
  EXPECT_EQ(queue.active(), 2U);
  EXPECT_EQ(queue.waiting(), 2U);

  RequestList freed;
  queue.leave(batch, 1, freed);
  ASSERT_EQ(freed.size(), 1U);
  EXPECT_EQ(&freed.front(), &requests[2]);
  EXPECT_EQ(requests[2].state, RequestState::granted);
  freed.clear();
  Request* rest[3] = {&requests[1], &requests[2], &requests[3]};
  queue.leave(rest, 1, freed);
  ASSERT_EQ(freed.size(), 1U);
  EXPECT_EQ(&freed.front(), &requests[3]);
  freed.clear();
  queue.leave(rest + 1, 2, freed);
  EXPECT_TRUE(freed.empty());
  EXPECT_EQ(queue.active(), 0U);
}

TEST(LeafQueue, AClassAtItsLimitDoesNotHoldUpTheOthers) {
  LeafQueue queue(limits_of(1, QueueLimits::kUnlimited));
  Request requests[4];
  requests[3].io_class = IoClass::trim;
  Request* batch[4];
  for (unsigned i = 0; i < 4; ++i) batch[i] = &requests[i];
  ASSERT_EQ(queue.enter(batch, 4), 2U);
  EXPECT_EQ(batch[0], &requests[0]);
  EXPECT_EQ(batch[1], &requests[3]);
  LeafStats stats;
  queue.read_stats(stats);
  EXPECT_EQ(stats.granted.load(), 2U);
  EXPECT_EQ(stats.waited.load(), 2U);
  EXPECT_EQ(stats.active_max.load(), 2U);
  EXPECT_EQ(stats.waiting_max.load(), 2U);
  RequestList freed;
  queue.leave(batch, 2, freed);
  freed.clear();
  Request* second = &requests[1];
  queue.leave(&second, 1, freed);
  freed.clear();
  EXPECT_EQ(granted(queue), 4U);
}

/// Threads that share a queue. A grant for another thread's request goes to that thread's inbox, as
/// the stack does it with mailboxes.
class Crowd {
 public:
  Crowd(const QueueLimits& limits, unsigned threads, unsigned depth, std::uint64_t seed)
      : limits_(limits), queue_(limits), seed_(seed) {
    for (unsigned t = 0; t < threads; ++t) {
      members_.push_back(std::make_unique<Member>());
      Member& member = *members_.back();
      member.requests = std::make_unique<Request[]>(depth);
      for (unsigned i = 0; i < depth; ++i) {
        member.requests[i].slot = i;
        // In this test the buffer says whose it is.
        member.requests[i].buffer = &member;
        member.idle.push_back(&member.requests[i]);
      }
    }
  }

  void run(std::uint64_t ops_each) {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < members_.size(); ++t) {
      threads.emplace_back([this, t, ops_each] { work(*members_[t], seed_ + t, ops_each); });
    }
    for (std::thread& thread : threads) thread.join();
  }

  void check(std::uint64_t ops) {
    EXPECT_EQ(queue_.active(), 0U);
    EXPECT_EQ(queue_.waiting(), 0U);
    EXPECT_EQ(errors_.load(), 0U) << "a limit exceeded, or a request granted twice";
    LeafStats stats;
    queue_.read_stats(stats);
    EXPECT_EQ(stats.granted.load(), ops);
    EXPECT_LE(stats.waited.load(), ops);
    EXPECT_LE(stats.active_max.load(), limits_.max_active);
    EXPECT_GE(stats.active_max.load(), active_max_.load());
    EXPECT_LE(stats.waiting_max.load(), stats.waited.load());
    EXPECT_EQ(waited_.load(), stats.waited.load());
  }

 private:
  struct Member {
    std::unique_ptr<Request[]> requests;
    std::vector<Request*> idle;
    std::vector<Request*> active;
    std::uint64_t outstanding = 0;
    std::mutex mutex;
    std::vector<Request*> inbox;  // guarded by mutex
  };

  void work(Member& self, std::uint64_t seed, std::uint64_t ops) {
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
        done += leave_some(self, prng);
      } else if (entered == ops || self.idle.empty()) {
        std::this_thread::yield();
      }
    }
  }

  static void collect(Member& self) {
    const std::lock_guard lock(self.mutex);
    self.active.insert(self.active.end(), self.inbox.begin(), self.inbox.end());
    self.inbox.clear();
  }

  unsigned enter_some(Member& self, Prng& prng, std::uint64_t most) {
    Request* batch[8];
    unsigned count = 0;
    const std::uint64_t wanted = std::min<std::uint64_t>(1 + prng.below(8), most);
    while (count < wanted && !self.idle.empty()) {
      Request& request = *self.idle.back();
      self.idle.pop_back();
      request.state = RequestState::staged;
      request.io_class = static_cast<IoClass>(prng.below(kIoClasses));
      batch[count++] = &request;
    }
    const unsigned granted_now = queue_.enter(batch, count);
    for (unsigned i = 0; i < granted_now; ++i) {
      on_grant(*batch[i]);
      self.active.push_back(batch[i]);
    }
    waited_ += count - granted_now;
    return count;
  }

  unsigned leave_some(Member& self, Prng& prng) {
    std::vector<Request*> batch;
    const std::uint64_t wanted = 1 + prng.below(self.active.size());
    for (std::uint64_t i = 0; i < wanted; ++i) {
      Request& request = *self.active.back();
      self.active.pop_back();
      batch.push_back(&request);
      // Ours until leave(): the oracle counts fewer than the queue, never more.
      if (request.state != RequestState::granted) ++errors_;
      request.state = RequestState::found;
      --by_class_[static_cast<unsigned>(request.io_class)];
      --active_;
    }
    RequestList freed;
    queue_.leave(batch.data(), static_cast<unsigned>(batch.size()), freed);
    while (!freed.empty()) {
      Request& request = freed.front();
      freed.pop_front();
      on_grant(request);
      Member& owner = *static_cast<Member*>(request.buffer);
      const std::lock_guard lock(owner.mutex);
      owner.inbox.push_back(&request);
    }
    for (Request* request : batch) {
      request->state = RequestState::idle;
      self.idle.push_back(request);
    }
    return static_cast<unsigned>(batch.size());
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
  LeafQueue queue_;
  const std::uint64_t seed_;
  std::vector<std::unique_ptr<Member>> members_;
  std::array<std::atomic<unsigned>, kIoClasses> by_class_{};
  std::atomic<unsigned> active_{0};
  std::atomic<unsigned> active_max_{0};
  std::atomic<std::uint64_t> waited_{0};
  std::atomic<std::uint64_t> errors_{0};
};

TEST(LeafQueue, ThreadsGetEveryGrantOnceAndNeverMoreThanTheLimits) {
  constexpr unsigned kThreads = 4;
  constexpr std::uint64_t kOps = 4'000;
  const QueueLimits cases[] = {limits_of(1, 1), limits_of(1, 3), limits_of(2, 5), limits_of(16, 7),
                               limits_of(3, QueueLimits::kUnlimited)};
  std::uint64_t seed = 100;
  for (const QueueLimits& limits : cases) {
    seed += 100;
    SCOPED_TRACE(testing::Message()
                 << "seed " << seed << ", class maximum " << limits.classes[0].max_active
                 << ", cap " << limits.max_active);
    Crowd crowd(limits, kThreads, 16, seed);
    crowd.run(kOps);
    crowd.check(kThreads * kOps);
  }
}

}  // namespace
}  // namespace sluice
