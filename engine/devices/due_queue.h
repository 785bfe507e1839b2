// DueQueue: the requests of one channel that are at the model, in the order in which they are due.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>

#include "scheduler/base/check.h"

namespace sluice {

/// A sorted ring of `Entry`, which has a member due_ns. Equal times keep the order of insertion.
/// Due times mostly come in order, so an insertion moves few entries; the n-th is found at once.
/// Threads: one. Allocates in the constructor only.
template <typename Entry>
class DueQueue {
 public:
  explicit DueQueue(unsigned capacity)
      : capacity_(capacity),
        mask_(std::bit_ceil(capacity) - 1),
        ring_(std::make_unique<Entry[]>(std::size_t{mask_} + 1)) {}

  unsigned size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  /// The i-th to fall due; i < size().
  const Entry& operator[](unsigned i) const noexcept { return ring_[(head_ + i) & mask_]; }

  /// Requires size() < capacity.
  void insert(const Entry& entry) noexcept {
    SLUICE_CHECK(size_ < capacity_);
    unsigned at = head_ + size_;
    while (at != head_ && ring_[(at - 1) & mask_].due_ns > entry.due_ns) {
      ring_[at & mask_] = ring_[(at - 1) & mask_];
      --at;
    }
    ring_[at & mask_] = entry;
    ++size_;
  }

  /// Requires !empty().
  Entry pop() noexcept {
    --size_;
    return ring_[head_++ & mask_];
  }

 private:
  const unsigned capacity_;
  const unsigned mask_;
  const std::unique_ptr<Entry[]> ring_;
  unsigned head_ = 0;
  unsigned size_ = 0;
};

}  // namespace sluice
