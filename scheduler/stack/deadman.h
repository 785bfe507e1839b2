// Deadman: which of a job's I/Os hang, when to say so and when to give one up. Pure: it looks at
// the slots with a time that it is given.
//
// Age counts from the issue to the device, never time spent queued: OpenZFS's deadman looked at the
// time since a request had entered its queue, and took busy pools for dead ones (its issue 9714).
//
// What is given up:
//   - deadman_action=cancel: what is older than deadman_ms;
//   - report: nothing while the job gets anywhere. When all that it has at devices is older than
//     twice deadman_ms, it only waits for what hangs, as at its end: then all of that;
//   - after an interrupt: what is still there kGraceNs later, and as old.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "scheduler/io/sighting.h"

namespace sluice {

struct DeadmanLimits {
  std::uint64_t deadman_ns = 0;  ///< 0: never
  std::uint64_t check_ns = 0;    ///< between looks
  bool cancel = false;
};

/// Threads: one at a time. Allocates in the constructor, and in look() when there is news.
class Deadman {
 public:
  static constexpr std::uint64_t kGraceNs = 2'000'000'000;

  Deadman(const DeadmanLimits& limits, std::size_t slots)
      : limits_(limits), prodded_(slots, 0), told_(slots, 0) {}

  struct Findings {
    unsigned in_flight = 0;         ///< at devices, without what was abandoned
    unsigned overdue = 0;           ///< of those
    std::vector<Sighting> news;     ///< overdue, and not told of before
    std::optional<Sighting> still;  ///< without news: the oldest overdue one, every deadman_ms
    std::vector<Sighting> give_up;
    /// The owner should poll: an I/O that looks old may be done, while the owner waits for several
    /// at once. Nothing is told of or given up before a look that came after this.
    bool prod = false;
    bool look_again = false;  ///< soon: something overdue was not prodded for before
    /// Since when the job has had nothing at a device but what is overdue, or nothing at all.
    std::uint64_t stuck_since_ns = 0;
  };

  /// Looks at the slots. `hurried`: the job was interrupted.
  Findings look(std::span<const Request> slots, std::uint64_t now_ns, bool hurried);

  const DeadmanLimits& limits() const noexcept { return limits_; }

 private:
  bool is_suspect(std::uint64_t age_ns) const noexcept;
  bool is_lost(const Sighting& seen, const Findings& findings, std::uint64_t youngest_ns,
               std::uint64_t now_ns) const noexcept;

  const DeadmanLimits limits_;
  std::vector<std::uint64_t> prodded_;  ///< by slot: issued_ns of the I/O whose owner was prodded
  std::vector<std::uint64_t> told_;     ///< by slot: issued_ns of the I/O that was told of
  std::uint64_t spoke_ns_ = 0;
  std::uint64_t hurried_ns_ = 0;
  std::uint64_t moving_ns_ = 0;
};

}  // namespace sluice
