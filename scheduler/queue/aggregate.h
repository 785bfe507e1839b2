// Aggregator: which waiting requests are done together as one larger I/O. Pure: no lock, no I/O.
//
// After OpenZFS (vdev_queue_aggregate): the request that goes next is the trigger; its neighbours
// by offset, of whatever class, join it as long as the span stays within the limit. So a lower
// class is pulled along when it lies next to a higher one, and the aggregate counts in the
// trigger's class.
//   - Same operation only, reads or writes; never trims or flushes.
//   - Reads may bridge a gap: what lies in it is read for nobody. Writes touch each other: the gaps
//     that OpenZFS bridges there belong to optional I/O, of which there is none here.
//   - Never a part of an aggregate that failed (Request::alone), never files opened in unlike
//   modes.
//   - Scrub and rebuild merge only with their own, as their flags forbid it in OpenZFS.
//   - Never a write past an earlier one that it overlaps: see Strays.
// io/parts.h says what an aggregate is and what becomes of it.
//
// Bound: one grant carries at most size_bytes and kMaxParts requests.
#pragma once

#include <boost/intrusive/set.hpp>

#include <array>
#include <cstdint>

#include "scheduler/io/request.h"
#include "scheduler/queue/queue_limits.h"

namespace sluice {

/// Waiting writes that overlap an earlier waiting one. They go alone, in the order of their line,
/// and so does what overlaps them in turn. Beyond a few, every write counts as one: exactness costs
/// a look at each, and who overlaps that much does not write in sequence.
class Strays {
 public:
  bool overlap(const Request& write) const noexcept;
  void add(const Request& write) noexcept;
  /// Requires that it was added.
  void remove(const Request& write) noexcept;

 private:
  std::array<const Request*, 16> known_{};
  std::uint32_t known_count_ = 0;
  std::uint32_t others_ = 0;
};

/// Threads: one at a time. Requests are linked by their offset_link.
class Aggregator {
 public:
  /// May be called at any time: what waits is judged by the new limits.
  void configure(const AggregationLimits& limits) noexcept { limits_ = limits; }
  bool on() const noexcept { return limits_.size_bytes > 1; }

  /// A request waits; a request waits no more.
  void add(Request& request);
  void remove(Request& request);

  /// Takes out `trigger` and, as its parts, all that join it. With none, trigger.first_part is
  /// null. The caller takes the parts out of their lines.
  void merge(Request& trigger);

 private:
  struct ByOffset {
    bool operator()(const Request& a, const Request& b) const noexcept {
      return a.offset < b.offset;
    }
  };
  /// All waiting requests of one operation that don't overlap one that was there before.
  using Tree = boost::intrusive::multiset<
      Request, boost::intrusive::member_hook<Request, Request::TreeHook, &Request::offset_link>,
      boost::intrusive::compare<ByOffset>, boost::intrusive::constant_time_size<false>>;

  Tree& tree(const Request& request) noexcept { return request.op == Op::read ? reads_ : writes_; }
  bool lie_close(const Request& left, const Request& right) const noexcept;

  AggregationLimits limits_;
  Tree reads_;
  Tree writes_;
  Strays strays_;
};

}  // namespace sluice
