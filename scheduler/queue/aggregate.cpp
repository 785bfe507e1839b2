#include "scheduler/queue/aggregate.h"

#include <algorithm>
#include <iterator>

#include "scheduler/base/check.h"
#include "scheduler/io/parts.h"

namespace sluice {

namespace {

std::uint64_t end_of(const Request& r) noexcept { return r.offset + r.length; }

bool overlap(const Request& a, const Request& b) noexcept {
  return a.offset < end_of(b) && b.offset < end_of(a);
}

bool transfers(const Request& r) noexcept { return r.op == Op::read || r.op == Op::write; }

/// Classes that differ in it don't merge: those of the foreground are alike.
unsigned kin(IoClass c) noexcept { return c == IoClass::scrub ? 1 : c == IoClass::rebuild ? 2 : 0; }

bool may_join(const Request& a, const Request& trigger) noexcept {
  return !a.alone && kin(a.io_class) == kin(trigger.io_class) &&
         a.target->mode == trigger.target->mode;
}

}  // namespace

bool Strays::overlap(const Request& write) const noexcept {
  if (others_ > 0) return true;
  return std::any_of(known_.begin(), known_.begin() + known_count_,
                     [&](const Request* stray) { return sluice::overlap(*stray, write); });
}

void Strays::add(const Request& write) noexcept {
  if (known_count_ < known_.size()) {
    known_[known_count_++] = &write;
  } else {
    ++others_;
  }
}

void Strays::remove(const Request& write) noexcept {
  const auto end = known_.begin() + known_count_;
  const auto at = std::find(known_.begin(), end, &write);
  if (at != end) {
    *at = known_[--known_count_];
  } else {
    SLUICE_CHECK(others_ > 0);
    --others_;
  }
}

void Aggregator::add(Request& request) {
  if (!transfers(request)) return;
  Tree& waiting = tree(request);
  // The tree holds no overlap, so its two neighbours are all that it can overlap there.
  const auto right = waiting.upper_bound(request);
  bool overlaps = right != waiting.end() && overlap(*right, request);
  if (right != waiting.begin()) overlaps = overlaps || overlap(*std::prev(right), request);
  if (request.op == Op::write) {
    overlaps = overlaps || strays_.overlap(request);
    if (overlaps) strays_.add(request);
  }
  if (!overlaps) waiting.insert_before(right, request);
}

void Aggregator::remove(Request& request) {
  if (request.offset_link.is_linked()) {
    Tree& waiting = tree(request);
    waiting.erase(waiting.iterator_to(request));
  } else if (request.op == Op::write) {
    strays_.remove(request);
  }
}

bool Aggregator::lie_close(const Request& left, const Request& right) const noexcept {
  // No underflow: within a tree nothing overlaps.
  const std::uint64_t gap = right.offset - end_of(left);
  return gap <= (left.op == Op::read ? limits_.read_gap_bytes : 0);
}

void Aggregator::merge(Request& trigger) {
  trigger.first_part = nullptr;
  if (trigger.alone || !trigger.offset_link.is_linked()) {
    remove(trigger);
    return;
  }
  Tree& waiting = tree(trigger);
  const auto self = waiting.iterator_to(trigger);
  auto first = self;
  auto last = self;
  unsigned parts = 1;
  while (first != waiting.begin() && parts < kMaxParts) {
    const auto candidate = std::prev(first);
    if (!may_join(*candidate, trigger) || !lie_close(*candidate, *first) ||
        end_of(*last) - candidate->offset > limits_.size_bytes) {
      break;
    }
    first = candidate;
    ++parts;
  }
  while (parts < kMaxParts) {
    const auto candidate = std::next(last);
    if (candidate == waiting.end() || !may_join(*candidate, trigger) ||
        !lie_close(*last, *candidate) || end_of(*candidate) - first->offset > limits_.size_bytes) {
      break;
    }
    last = candidate;
    ++parts;
  }
  if (parts == 1) {
    waiting.erase(self);
    return;
  }
  trigger.first_part = &*first;
  const auto end = std::next(last);
  Request* previous = nullptr;
  for (auto it = first; it != end;) {
    Request& part = *it;
    it = waiting.erase(it);
    part.next_part = nullptr;
    if (previous != nullptr) previous->next_part = &part;
    previous = &part;
  }
}

}  // namespace sluice
