// Parts of an aggregate: what a channel makes of them, and how they come apart.
#include "scheduler/io/parts.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

namespace sluice {
namespace {

/// Parts of 10 bytes at 100, 110 and, past a gap, 125. The middle one is the head.
class Parts : public testing::Test {
 protected:
  Parts() {
    const std::uint64_t offsets[] = {100, 110, 125};
    for (unsigned i = 0; i < 3; ++i) {
      part[i].offset = offsets[i];
      part[i].length = 10;
      part[i].buffer = &buffers[i];
      part[i].next_part = i < 2 ? &part[i + 1] : nullptr;
    }
    head().first_part = &part[0];
  }
  Request& head() { return part[1]; }

  /// Takes the aggregate apart after the device said `result`.
  void settle(std::int32_t result) {
    head().result = result;
    settle_parts(
        head(), [this](Request& r) { finished.push_back(&r); },
        [this](Request& r) { unfinished.push_back(&r); });
    EXPECT_EQ(finished.size() + unfinished.size(), 3U);
    for (const Request& r : part) {
      EXPECT_EQ(r.first_part, nullptr);
      EXPECT_EQ(r.next_part, nullptr);
    }
    for (const Request* r : finished) {
      EXPECT_EQ(r->result, 10);
      EXPECT_FALSE(r->alone);
    }
    for (const Request* r : unfinished) EXPECT_TRUE(r->alone);
  }

  Request part[3];
  char buffers[3]{};
  std::vector<Request*> finished;
  std::vector<Request*> unfinished;
};

TEST_F(Parts, SpanCountsGaps) {
  const Span whole = span(head());
  EXPECT_EQ(whole.offset, 100U);
  EXPECT_EQ(whole.length, 35U);
  EXPECT_EQ(whole.parts, 3U);
  EXPECT_EQ(whole.gap_bytes, 5U);
  Request single;
  single.offset = 7;
  single.length = 9;
  EXPECT_EQ(span(single).offset, 7U);
  EXPECT_EQ(span(single).length, 9U);
  EXPECT_EQ(span(single).parts, 1U);
}

TEST_F(Parts, GatherListsBuffersAndReadsGapsIntoScrap) {
  iovec vector[kMaxVector];
  char scrap[5];
  ASSERT_EQ(gather(head(), scrap, vector), 4U);
  EXPECT_EQ(vector[0].iov_base, &buffers[0]);
  EXPECT_EQ(vector[1].iov_base, &buffers[1]);
  EXPECT_EQ(vector[2].iov_base, scrap);
  EXPECT_EQ(vector[2].iov_len, 5U);
  EXPECT_EQ(vector[3].iov_base, &buffers[2]);
  EXPECT_EQ(vector[3].iov_len, 10U);
}

TEST_F(Parts, AllAreFinishedAfterAFullTransfer) {
  settle(35);
  EXPECT_EQ(finished.size(), 3U);
}

TEST_F(Parts, AShortTransferFinishesWhatItReached) {
  settle(22);  // two parts, and into the gap
  EXPECT_EQ(finished, (std::vector<Request*>{&part[0], &part[1]}));
  EXPECT_EQ(unfinished, std::vector<Request*>{&part[2]});
}

TEST_F(Parts, APartThatWasHalfTransferredIsDoneAgain) {
  settle(15);
  EXPECT_EQ(finished, std::vector<Request*>{&part[0]});
}

TEST_F(Parts, AnErrorFinishesNone) {
  settle(-EIO);
  EXPECT_TRUE(finished.empty());
}

TEST_F(Parts, NothingTransferredFinishesNone) {
  settle(0);
  EXPECT_TRUE(finished.empty());
}

}  // namespace
}  // namespace sluice
