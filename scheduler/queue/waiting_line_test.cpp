#include "scheduler/queue/waiting_line.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "scheduler/base/prng.h"

namespace sluice {
namespace {

constexpr std::uint64_t kBucketBits = 10;

/// A line, and requests whose slots tell them apart.
class Line {
 public:
  explicit Line(bool by_offset, bool any_may_leave = true) {
    line.configure({by_offset, kBucketBits, any_may_leave});
  }
  ~Line() {
    while (!line.empty()) line.remove(line.next(0));
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  Request& push(std::uint64_t arrived_ns, std::uint64_t offset) {
    requests.push_back(std::make_unique<Request>());
    Request& r = *requests.back();
    r.slot = static_cast<std::uint32_t>(requests.size() - 1);
    r.arrived_ns = arrived_ns;
    r.offset = offset;
    r.length = 1;
    line.push(r);
    return r;
  }

  /// Empties the line as a device would see it.
  std::vector<std::uint64_t> offsets(std::uint64_t position) {
    std::vector<std::uint64_t> out;
    while (!line.empty()) {
      Request& r = line.next(position);
      line.remove(r);
      out.push_back(r.offset);
      position = r.offset + r.length;
    }
    return out;
  }

  WaitingLine line;
  std::vector<std::unique_ptr<Request>> requests;
};

using Offsets = std::vector<std::uint64_t>;

TEST(WaitingLine, ByArrivalOffsetsAndStampsDontMatter) {
  for (const bool any_may_leave : {false, true}) {
    Line line(false, any_may_leave);
    for (const std::uint64_t offset : {7, 3, 9, 3}) line.push(5000 - offset, offset);
    EXPECT_EQ(line.offsets(8), (Offsets{7, 3, 9, 3}));
  }
}

TEST(WaitingLine, ByOffsetGoesOnFromWhereTheDeviceIs) {
  Line line(true);
  for (const std::uint64_t offset : {7, 3, 9, 1, 5}) line.push(0, offset);
  EXPECT_EQ(line.offsets(5), (Offsets{5, 7, 9, 1, 3}));
}

TEST(WaitingLine, AnOlderBucketGoesFirst) {
  Line line(true);
  line.push(2 << kBucketBits, 6);
  line.push(1 << kBucketBits, 9);
  line.push(2 << kBucketBits, 5);
  line.push(1 << kBucketBits, 1);
  EXPECT_EQ(line.offsets(4), (Offsets{9, 1, 5, 6}));
}

TEST(WaitingLine, EqualOffsetsKeepTheirOrder) {
  Line line(true);
  std::vector<Request*> came;
  for (int i = 0; i < 8; ++i) came.push_back(&line.push(0, 4));
  for (Request* expected : came) {
    EXPECT_EQ(&line.line.next(4), expected);
    line.line.remove(*expected);
  }
}

TEST(WaitingLine, AnybodyMayLeaveAndTheOthersKeepTheirOrder) {
  for (const bool by_offset : {false, true}) {
    Line line(by_offset);
    for (const std::uint64_t offset : {1, 2, 3, 4, 5}) line.push(0, offset);
    line.line.remove(*line.requests[2]);
    line.line.remove(*line.requests[0]);
    EXPECT_EQ(line.offsets(0), (Offsets{2, 4, 5}));
  }
}

TEST(WaitingLine, WithdrawTakesTheOwnersInOrder) {
  for (const bool by_offset : {false, true}) {
    Line line(by_offset, false);
    auto* const ours = reinterpret_cast<Mailbox*>(1);
    for (const std::uint64_t offset : {5, 4, 3, 2, 1}) {
      line.push(0, offset).owner = offset % 2 == 0 ? ours : nullptr;
    }
    RequestList out;
    unsigned left = 0;
    line.line.withdraw(ours, out, [&](Request&) { ++left; });
    Offsets offsets;
    for (const Request& r : out) offsets.push_back(r.offset);
    out.clear();
    EXPECT_EQ(left, 2U);
    EXPECT_EQ(offsets, by_offset ? (Offsets{2, 4}) : (Offsets{4, 2}));
    EXPECT_EQ(line.offsets(0), by_offset ? (Offsets{1, 3, 5}) : (Offsets{5, 3, 1}));
  }
}

// The stated bound: whoever goes came at most a bucket's time after whoever still waits. Also while
// a stream of neighbours arrives without end, just ahead of the device.
TEST(WaitingLine, NobodyIsOvertakenByWhoCameABucketLater) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Prng prng(seed);
    Line line(true);
    std::uint64_t now = 0;
    std::uint64_t position = 0;
    for (int step = 0; step < 1000; ++step) {
      now += prng.below(200);
      line.push(now, prng.chance(0.2) ? prng.below(1000) : position + prng.below(2));
      if (prng.chance(0.1)) continue;  // the line grows
      Request& next = line.line.next(position);
      line.line.remove(next);
      for (const auto& r : line.requests) {
        if (!r->line_link.is_linked()) continue;
        ASSERT_LT(next.arrived_ns, r->arrived_ns + (1U << kBucketBits));
      }
      position = next.offset + next.length;
    }
  }
}

}  // namespace
}  // namespace sluice
