// StampedBlocks: what the blocks of a store may hold, for tests that check what they read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "scheduler/base/check.h"

namespace sluice::conformance {

/// Each change stamps its blocks anew, zeros being stamp 0, so that a misplaced, torn or stale
/// block betrays itself. A read may overlap one change in flight, and then sees either stamp,
/// word by word. Zeros at first. Threads: one.
class StampedBlocks {
 public:
  /// For each block of a read the stamps that it may find.
  struct Candidates {
    std::vector<std::uint64_t> old_stamps;
    std::vector<std::uint64_t> new_stamps;
  };

  StampedBlocks(std::uint32_t block_bytes, std::uint64_t count)
      : block_words_(block_bytes / sizeof(std::uint64_t)), blocks_(count) {}

  /// False: a change or a read is in flight there.
  bool may_change(std::uint64_t from, std::uint64_t count) const {
    for (std::uint64_t i = from; i < from + count; ++i) {
      if (blocks_[i].changing || blocks_[i].readers > 0) return false;
    }
    return true;
  }

  /// Fills `data` with what to write; null: the blocks become zeros. Requires may_change().
  void begin_change(std::uint64_t from, std::uint64_t count, std::byte* data) {
    SLUICE_CHECK(may_change(from, count));
    for (std::uint64_t i = from; i < from + count; ++i) {
      blocks_[i].changing = true;
      blocks_[i].next = data == nullptr ? 0 : ++last_stamp_;
      for (std::uint64_t k = 0; data != nullptr && k < block_words_; ++k, data += sizeof k) {
        const std::uint64_t word = expected(blocks_[i].next, k);
        std::memcpy(data, &word, sizeof word);
      }
    }
  }

  void end_change(std::uint64_t from, std::uint64_t count) {
    for (std::uint64_t i = from; i < from + count; ++i) {
      SLUICE_CHECK(blocks_[i].changing);
      blocks_[i].changing = false;
      blocks_[i].now = blocks_[i].next;
    }
  }

  Candidates begin_read(std::uint64_t from, std::uint64_t count) {
    Candidates candidates;
    for (std::uint64_t i = from; i < from + count; ++i) {
      ++blocks_[i].readers;
      candidates.old_stamps.push_back(blocks_[i].now);
      candidates.new_stamps.push_back(blocks_[i].changing ? blocks_[i].next : blocks_[i].now);
    }
    return candidates;
  }

  void end_read(std::uint64_t from, std::uint64_t count) {
    for (std::uint64_t i = from; i < from + count; ++i) --blocks_[i].readers;
  }

  /// The first block, counted from the start of the read, that holds none of its candidates.
  std::optional<std::uint64_t> first_wrong(const Candidates& candidates,
                                           const std::byte* data) const {
    for (std::uint64_t i = 0; i < candidates.old_stamps.size(); ++i) {
      for (std::uint64_t k = 0; k < block_words_; ++k, data += sizeof k) {
        std::uint64_t word = 0;
        std::memcpy(&word, data, sizeof word);
        if (word != expected(candidates.old_stamps[i], k) &&
            word != expected(candidates.new_stamps[i], k)) {
          return i;
        }
      }
    }
    return std::nullopt;
  }

 private:
  struct Block {
    std::uint64_t now = 0;   ///< stamp
    std::uint64_t next = 0;  ///< stamp of the change in flight
    unsigned readers = 0;
    bool changing = false;
  };

  static std::uint64_t expected(std::uint64_t stamp, std::uint64_t word_index) {
    return stamp == 0 ? 0 : stamp * 0x9E37'79B9'7F4A'7C15 + word_index;
  }

  const std::uint64_t block_words_;
  std::uint64_t last_stamp_ = 0;
  std::vector<Block> blocks_;
};

}  // namespace sluice::conformance
