// WaitingLine: the waiting requests of one class, and which of them is first. Pure.
//
// By arrival: first come, first served. By offset: an elevator with a deadline, after OpenZFS
// (vdev_queue_io_to_issue; its pull request 14925): requests are sorted by bucket of arrival time
// (2^bucket_bits ns, 0.54 s there), then by offset; of the oldest bucket the next is the one at or
// after the place where the device was last sent, else the lowest.
//
// Bound: a request is overtaken only by requests that came before its bucket ended, so by none that
// came 2^bucket_bits ns after it. Requests of one bucket and one offset keep their order.
#pragma once

#include <boost/intrusive/set.hpp>

#include <cstdint>

#include "scheduler/io/request.h"
#include "scheduler/queue/queue_limits.h"

namespace sluice {

/// The classes whose order may be that of their offsets, as in OpenZFS. For the synchronous ones
/// somebody waits, one I/O at a time; trims aren't worth sorting.
constexpr bool may_sort(IoClass c) noexcept {
  return c == IoClass::async_read || c == IoClass::async_write || c == IoClass::scrub ||
         c == IoClass::rebuild;
}

/// Threads: one at a time. Requests belong to their sessions; links live in them.
class WaitingLine {
 public:
  struct Config {
    bool by_offset = false;
    unsigned bucket_bits = 0;
    bool any_may_leave = false;  ///< remove() is called for others than the first, too
  };
  /// Requires an empty line.
  void configure(const Config& config);

  bool empty() const noexcept { return sorted_ ? tree_.empty() : list_.empty(); }

  /// Appends `request`; its arrived_ns counts.
  void push(Request& request) {
    if (sorted_) [[unlikely]] {
      push_sorted(request);
    } else {
      list_.push_back(request);
    }
  }

  /// Who goes next if the device was last sent to just before `position`. Requires !empty().
  Request& next(std::uint64_t position) noexcept {
    return sorted_ ? next_sorted(position) : list_.front();
  }

  /// Takes `request`, which waits here, out. Without any_may_leave only the first.
  void remove(Request& request);

  /// Moves those of `owner` to the end of `out`, in the order of the line, and calls `left` for
  /// each. With a null owner: all.
  template <typename Left>
  void withdraw(const Mailbox* owner, RequestList& out, Left left);

 private:
  struct Before {
    bool operator()(const Request& a, const Request& b) const noexcept {
      return a.order_key != b.order_key ? a.order_key < b.order_key : a.offset < b.offset;
    }
  };
  using Tree = boost::intrusive::multiset<
      Request, boost::intrusive::member_hook<Request, Request::TreeHook, &Request::line_link>,
      boost::intrusive::compare<Before>, boost::intrusive::constant_time_size<false>>;

  void push_sorted(Request& request);
  Request& next_sorted(std::uint64_t position) noexcept;

  RequestList list_;  ///< the plain line: nobody leaves but the first
  /// Sorted by order_key, then offset. The key is the bucket, or a number when the order is that of
  /// arrival and any may leave.
  Tree tree_;
  bool sorted_ = false;
  bool by_offset_ = false;
  unsigned bucket_bits_ = 0;
  std::uint64_t arrivals_ = 0;
};

template <typename Left>
void WaitingLine::withdraw(const Mailbox* owner, RequestList& out, Left left) {
  const auto is_his = [&](const Request& r) { return owner == nullptr || r.owner == owner; };
  RequestList others;
  while (!list_.empty()) {
    Request& request = list_.front();
    list_.pop_front();
    if (is_his(request)) left(request);
    (is_his(request) ? out : others).push_back(request);
  }
  list_.swap(others);
  for (auto it = tree_.begin(); it != tree_.end();) {
    Request& request = *it;
    if (!is_his(request)) {
      ++it;
      continue;
    }
    it = tree_.erase(it);
    left(request);
    out.push_back(request);
  }
}

}  // namespace sluice
