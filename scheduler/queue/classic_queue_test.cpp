// ClassicQueue by steps, from one thread.
#include "scheduler/queue/classic_queue.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

QueueLimits limits_of(std::uint32_t class_max, std::uint32_t cap) {
  QueueLimits limits;
  limits.classes.fill({1, class_max});
  limits.max_active = cap;
  return limits;
}

struct Rig {
  explicit Rig(const QueueLimits& limits) : queue(limits), seat(nullptr, queue) {
    queue.join(seat);
    for (unsigned i = 0; i < 4; ++i) batch[i] = &requests[i];
  }
  ClassicQueue queue;
  Seat seat;
  Request requests[4];
  Request* batch[4];
};

void pop(RequestList& list, const Request& expected) {
  ASSERT_FALSE(list.empty());
  EXPECT_EQ(&list.front(), &expected);
  list.pop_front();
}

TEST(ClassicQueue, GrantsInOrderUpToTheLimitAndKeepsTheRest) {
  Rig rig(limits_of(2, QueueLimits::kUnlimited));
  Grants grants;
  rig.queue.enter(rig.seat, rig.batch, 4, grants);
  ASSERT_EQ(grants.own.size(), 2U);
  pop(grants.own, rig.requests[0]);
  pop(grants.own, rig.requests[1]);
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(rig.requests[i].state, i < 2 ? RequestState::granted : RequestState::waiting);
    EXPECT_EQ(rig.requests[i].path, Path::queued);
  }
  EXPECT_EQ(rig.queue.active(), 2U);
  EXPECT_EQ(rig.queue.waiting(), 2U);
  EXPECT_EQ(rig.queue.pressure().waiting.load(), class_bit(0));

  rig.queue.leave(rig.seat, rig.batch, 1, grants);
  ASSERT_EQ(grants.own.size(), 1U);
  EXPECT_EQ(rig.requests[2].state, RequestState::granted);
  pop(grants.own, rig.requests[2]);
  rig.queue.leave(rig.seat, rig.batch + 1, 1, grants);
  pop(grants.own, rig.requests[3]);
  EXPECT_EQ(rig.queue.pressure().waiting.load(), 0U);
  rig.queue.leave(rig.seat, rig.batch + 2, 2, grants);
  EXPECT_TRUE(grants.own.empty());
  EXPECT_EQ(rig.queue.active(), 0U);
}

TEST(ClassicQueue, AClassAtItsLimitDoesNotHoldUpTheOthers) {
  Rig rig(limits_of(1, QueueLimits::kUnlimited));
  rig.requests[3].io_class = IoClass::trim;
  Grants grants;
  rig.queue.enter(rig.seat, rig.batch, 4, grants);
  ASSERT_EQ(grants.own.size(), 2U);
  pop(grants.own, rig.requests[0]);
  pop(grants.own, rig.requests[3]);
  LeafStats stats;
  rig.queue.read_stats(stats);
  EXPECT_EQ(stats.granted.load(), 2U);
  EXPECT_EQ(stats.waited.load(), 2U);
  EXPECT_EQ(stats.active_max.load(), 2U);
  EXPECT_EQ(stats.waiting_max.load(), 2U);
  for (Request* request : {&rig.requests[0], &rig.requests[1], &rig.requests[2]}) {
    rig.queue.leave(rig.seat, &request, 1, grants);
  }
  grants.own.clear();
  Request* last = &rig.requests[3];
  rig.queue.leave(rig.seat, &last, 1, grants);
  rig.queue.read_stats(stats);
  EXPECT_EQ(stats.granted.load(), 4U);
  EXPECT_EQ(rig.queue.active(), 0U);
}

TEST(ClassicQueue, HigherLimitsLetGoWhatWaits) {
  Rig rig(limits_of(1, QueueLimits::kUnlimited));
  Grants grants;
  rig.queue.enter(rig.seat, rig.batch, 4, grants);
  grants.own.clear();
  Grants more;
  rig.queue.set_limits(limits_of(3, QueueLimits::kUnlimited), more);
  EXPECT_EQ(rig.queue.active(), 3U);
  // Of nobody in particular.
  EXPECT_EQ(more.own.size() + more.others.size(), 2U);
  more.own.clear();
  more.others.clear();
  rig.queue.leave(rig.seat, rig.batch, 3, grants);
  grants.own.clear();
  rig.queue.leave(rig.seat, rig.batch + 3, 1, grants);
}

}  // namespace
}  // namespace sluice
