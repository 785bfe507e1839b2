// Courier: sees to grants whose owner is busy elsewhere.
//
// A grant that its owner doesn't collect holds a slot of the leaf that nobody uses, and starves the
// other jobs while the owner verifies, logs, or isn't scheduled. So after a grace period:
//   - queue=classic, where a grant is a request: a thread with a channel of its own carries it to
//     the device, and its completion back to the owner's mailbox;
//   - queue=fast, where a grant is a permission: others may have it (LeafQueue::reclaim()).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "scheduler/base/clock.h"
#include "scheduler/io/device.h"
#include "scheduler/queue/leaf_queue.h"

namespace sluice {

/// Threads: all calls any; the work is done on the courier's own thread, which ends with the object
/// and opens a channel when it first needs one. One courier serves one kind of device.
class Courier {
 public:
  /// Long enough that a job in fio's own code comes back first, short against any thinktime.
  static constexpr std::uint64_t kGraceNs = 200'000;
  static constexpr unsigned kDepth = 256;

  Courier(std::shared_ptr<ChannelFactory> channels, const Clock& clock)
      : channels_(std::move(channels)), clock_(clock) {}
  ~Courier();
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  /// Readies the courier for `mailboxes`: what can fail is done here, so that watch() can't. Starts
  /// the thread when there are two: a lone session collects its own grants. May throw.
  void prepare(unsigned mailboxes);

  /// The mailbox has grants that may stay uncollected. Requires forget() before it is destroyed.
  void watch(Mailbox& mailbox) noexcept;
  void forget(Mailbox& mailbox);

  /// Looks for condemned requests among those at the device, and abandons them. Threads: any.
  void carry_out_orders() noexcept;

 private:
  void run();
  void carry();
  void give_up_carrying();
  bool open_channel();
  /// Moves overdue grants to to_issue_.
  void collect_overdue();
  void issue();
  void settle(Request** ended, unsigned count);
  void abandon_condemned();

  const std::shared_ptr<ChannelFactory> channels_;
  const Clock& clock_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable visited_;
  std::vector<Mailbox*> watched_;     // guarded by mutex_
  bool visiting_ = false;             // guarded by mutex_: visits_ is being worked through
  bool stop_ = false;                 // guarded by mutex_
  std::thread thread_;                // guarded by mutex_
  std::unique_ptr<Channel> channel_;  // set once by the thread, under mutex_
  std::vector<Mailbox*> visits_;      // the thread's
  RequestList to_issue_;              // the thread's
  bool can_carry_ = true;             // the thread's
  std::vector<Request*> at_device_;   // the thread's
  std::deque<Target> kept_targets_;   // of abandoned requests
  std::atomic<bool> ordered_{false};
};

}  // namespace sluice
