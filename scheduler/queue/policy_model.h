// PolicyModel: the rule of ClassPolicy once more, for tests: slow, without cleverness, written from
// the description of OpenZFS's vdev queue and not from our code. Everything is a look at all that
// waits.
#pragma once

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "scheduler/io/request.h"
#include "scheduler/queue/queue_limits.h"
#include "scheduler/queue/write_scaling.h"

namespace sluice {

class PolicyModel {
 public:
  explicit PolicyModel(const QueueLimits& limits) : limits_(limits) {}

  void set_limits(const QueueLimits& limits) {
    limits_ = limits;
    std::stable_sort(waiting_.begin(), waiting_.end(),
                     [](auto* a, auto* b) { return a->arrived_ns < b->arrived_ns; });
    std::vector<Request*> all;
    all.swap(waiting_);
    solitary_.clear();
    for (Request* request : all) came(*request);
  }
  void set_dirty(const DirtyData& dirty) { dirty_ = dirty; }

  void came(Request& request) {
    if (overlaps_earlier(request)) solitary_.insert(&request);
    waiting_.push_back(&request);
  }

  /// Whether a request that comes now may go at once, before it is counted.
  bool is_free(const Request& request) const {
    return waiting_.empty() && below_cap() && active_[index(request)] < max_now(index(request));
  }
  void passed(const Request& request) {
    issue(index(request));
    position_ = end_of(request);
  }

  /// Who must go now: the head first, then all parts of its aggregate by offset, if it is one.
  std::vector<Request*> next() {
    const unsigned c = pick();
    if (c == kIoClasses) return {};
    Request* const head = first_of(c);
    std::vector<Request*> out{head};
    const std::vector<Request*> parts = neighbours(*head);
    if (parts.size() > 1) out.insert(out.end(), parts.begin(), parts.end());
    for (Request* part : parts) leave(*part);
    issue(c);
    position_ = end_of(*parts.back());
    return out;
  }

  void ended(unsigned c) {
    --active_[c];
    if (limits_.background.credit == 0) return;
    if (!is_nia(c)) {
      credit_ = interactive() == 0 ? 0 : limits_.background.credit;
    } else if (interactive() == 0) {
      ++credit_;
    }
  }

  std::vector<Request*> withdraw(const Mailbox* owner) {
    std::vector<Request*> out;
    for (Request* request : waiting_) {
      if (request->owner == owner) out.push_back(request);
    }
    for (Request* request : out) leave(*request);
    return out;
  }

  // What holds now, for tests of bounds.
  unsigned active(unsigned c) const { return active_[c]; }
  unsigned active() const {
    unsigned sum = 0;
    for (const unsigned a : active_) sum += a;
    return sum;
  }
  unsigned interactive() const { return active() - active_[4] - active_[5]; }
  bool waits(unsigned c) const {
    return std::any_of(waiting_.begin(), waiting_.end(),
                       [&](const Request* r) { return index(*r) == c; });
  }
  std::size_t waiting() const { return waiting_.size(); }
  const std::vector<Request*>& all_waiting() const { return waiting_; }
  bool below_cap() const { return active() < limits_.max_active; }

  static unsigned index(const Request& r) { return static_cast<unsigned>(r.io_class); }
  static std::uint64_t end_of(const Request& r) { return r.offset + r.length; }

  unsigned min_now(unsigned c) const {
    const unsigned min = limits_.classes[c].min_active;
    if (!is_nia(c) || limits_.background.credit == 0 || interactive() == 0) return min;
    return std::min(credit_, min);
  }

  unsigned max_now(unsigned c) const {
    const ClassLimits& l = limits_.classes[c];
    if (c == 3 && dirty_.max_bytes > 0) {
      const std::uint64_t from = dirty_.max_bytes * limits_.dirty.min_percent / 100;
      const std::uint64_t to = dirty_.max_bytes * limits_.dirty.max_percent / 100;
      if (dirty_.bytes < from) return l.min_active;
      if (dirty_.bytes >= to) return l.max_active;
      return static_cast<unsigned>(l.min_active + (dirty_.bytes - from) *
                                                      (l.max_active - l.min_active) / (to - from));
    }
    if (!is_nia(c) || limits_.background.credit == 0) return l.max_active;
    if (interactive() > 0) return std::min(credit_, l.min_active);
    if (credit_ < limits_.background.delay) return std::max(1U, l.min_active);
    return l.max_active;
  }

 private:
  static bool is_nia(unsigned c) { return c == 4 || c == 5; }  // scrub, rebuild
  static bool has_lba_order(unsigned c) { return c >= 2 && c <= 5; }
  static bool overlap(const Request& a, const Request& b) {
    return std::max(a.offset, b.offset) < std::min(end_of(a), end_of(b));
  }

  void issue(unsigned c) {
    last_ = c;
    ++active_[c];
    if (limits_.background.credit == 0) return;
    if (!is_nia(c) && interactive() == 1) credit_ = 1;
    if (is_nia(c) && interactive() > 0) --credit_;
  }

  unsigned pick() const {
    if (!below_cap()) return kIoClasses;
    for (unsigned turn = 0; turn < kIoClasses; ++turn) {
      const unsigned c = (last_ + 1 + turn) % kIoClasses;
      if (waits(c) && active_[c] < min_now(c)) return c;
    }
    for (unsigned c = 0; c < kIoClasses; ++c) {
      if (waits(c) && active_[c] < max_now(c)) return c;
    }
    return kIoClasses;
  }

  std::uint64_t bucket(const Request& r) const { return r.arrived_ns >> limits_.bucket_bits; }

  Request* first_of(unsigned c) const {
    std::vector<Request*> mine;
    for (Request* r : waiting_) {
      if (index(*r) == c) mine.push_back(r);
    }
    if (!limits_.by_offset || !has_lba_order(c)) return mine.front();
    std::uint64_t oldest = bucket(*mine.front());
    for (const Request* r : mine) oldest = std::min(oldest, bucket(*r));
    Request* lowest = nullptr;
    Request* ahead = nullptr;
    for (Request* r : mine) {
      if (bucket(*r) != oldest) continue;
      if (lowest == nullptr || r->offset < lowest->offset) lowest = r;
      if (r->offset >= position_ && (ahead == nullptr || r->offset < ahead->offset)) ahead = r;
    }
    return ahead != nullptr ? ahead : lowest;
  }

  /// A write that overlaps one that waits goes alone. Of reads that overlap, one can be a
  /// neighbour.
  bool overlaps_earlier(const Request& request) const {
    return std::any_of(waiting_.begin(), waiting_.end(), [&](Request* r) {
      return r->op == request.op && overlap(*r, request) &&
             (request.op == Op::write || solitary_.count(r) == 0);
    });
  }

  static unsigned flags(const Request& r) {
    return index(r) == 4 ? 1 : index(r) == 5 ? 2 : 0;  // SCRUB, RESILVER are inherited
  }

  std::vector<Request*> neighbours(Request& head) const {
    const std::uint64_t limit = limits_.aggregation.size_bytes;
    const std::uint64_t gap = head.op == Op::read ? limits_.aggregation.read_gap_bytes : 0;
    const bool transfers = head.op == Op::read || head.op == Op::write;
    if (!transfers || limit < 2 || head.alone || solitary_.count(&head) != 0) return {&head};
    std::vector<Request*> line;
    for (Request* r : waiting_) {
      if (r->op == head.op && solitary_.count(r) == 0) line.push_back(r);
    }
    std::sort(line.begin(), line.end(), [](auto* a, auto* b) { return a->offset < b->offset; });
    const auto joins = [&](const Request& r) {
      return !r.alone && flags(r) == flags(head) && r.target->mode == head.target->mode;
    };
    auto first = std::find(line.begin(), line.end(), &head);
    auto last = first;
    while (first != line.begin()) {
      const Request& r = **(first - 1);
      if (!joins(r) || (*first)->offset > end_of(r) + gap || end_of(**last) > r.offset + limit)
        break;
      --first;
    }
    while (last + 1 != line.end()) {
      const Request& r = **(last + 1);
      if (!joins(r) || r.offset > end_of(**last) + gap || end_of(r) > (*first)->offset + limit)
        break;
      ++last;
    }
    return {first, last + 1};
  }

  void leave(Request& request) {
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &request));
    solitary_.erase(&request);
  }

  QueueLimits limits_;
  DirtyData dirty_;
  std::vector<Request*> waiting_;  ///< by arrival
  std::set<Request*> solitary_;    ///< of those: not to be merged
  std::array<unsigned, kIoClasses> active_{};
  unsigned last_ = kIoClasses - 1;
  unsigned credit_ = 0;
  std::uint64_t position_ = 0;
};

}  // namespace sluice
