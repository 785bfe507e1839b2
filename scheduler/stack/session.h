// Session: one fio job's way through the stack. fio's thread stages requests, commits them, reaps.
//
// Hot path: no allocation, no lock of its own, one clock read per submit batch and one per reap
// batch. bypass=all touches nothing that another thread writes; a queued I/O, while no limit binds,
// writes to lines of its seat only.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/base/tsc_clock.h"
#include "scheduler/stack/courier.h"
#include "scheduler/stack/leaf.h"
#include "scheduler/stack/mailbox.h"

namespace sluice {

struct SessionConfig {
  std::string job;      ///< name and number, for messages and statistics
  unsigned depth = 1;   ///< slots: fio's iodepth
  bool direct = false;  ///< O_DIRECT: sync classes; buffered: async classes
  Tunables tunables{};
  void* buffers = nullptr;  ///< fio's I/O memory
  std::uint64_t buffer_bytes = 0;
  std::uint64_t buffer_unit_bytes = 0;
  unsigned files = 1;
};

/// Threads: the job's, all calls. Ownership: targets and requests belong to the session; leaves
/// must outlive it. Every request handed to submit() comes back once through ended().
class Session {
 public:
  /// `note` receives a line worth telling the user once. Allocates everything it will ever need.
  static Result<std::unique_ptr<Session>> open(const SessionConfig& config, const Clock& clock,
                                               const DeviceHandle& device, Courier& courier,
                                               std::string& note);
  /// Drains: the kernel would write into memory that fio frees.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// A file was opened / is about to be closed. No I/O may be in flight on it at close.
  Target& open_file(Leaf& leaf, int fd);
  void close_file(Target& target);

  /// Stages one I/O in `slot`, which must be idle.
  void submit(unsigned slot, Op op, Target& target, void* buffer, std::uint32_t length,
              std::uint64_t offset);

  /// Hands what is staged to the stack. With `deferrable` the push to the device may wait for
  /// reap(), which must then follow at once: one system call serves both. 0 or -errno.
  int commit(bool deferrable);

  /// Collects between `min` and `max` ended requests, blocking for `min`. Count or -errno.
  int reap(unsigned min, unsigned max);

  /// The i-th request of the last reap(); its slot may be used again.
  struct Ended {
    unsigned slot;
    std::int32_t result;
  };
  Ended ended(unsigned i) const {
    const Request& request = *ended_[i];
    return {request.slot, request.result};
  }

  unsigned outstanding() const noexcept { return outstanding_; }
  const JobStats& stats() const noexcept { return *stats_; }
  /// Hands the statistics over; requires drain() before and no further I/O.
  std::unique_ptr<JobStats> take_stats() { return std::move(stats_); }
  const SessionConfig& config() const noexcept { return config_; }
  const Request& slot(unsigned i) const { return requests_[i]; }

  /// fio was interrupted: what waits for a limit goes at once, past the queue, since fio waits for
  /// all of it before it ends. Threads: any, also a signal handler; the caller sees to it that the
  /// session stays until this returns.
  void hurry() noexcept {
    hurry_.store(true, std::memory_order_relaxed);
    mailbox_.poke();
  }

  /// Waits for what is outstanding and forgets it. Idempotent.
  void drain();

  /// Brings counters that others keep (channel, CPU) up to date.
  void refresh_stats();

 private:
  Session(const SessionConfig& config, const Clock& clock, std::unique_ptr<Channel> channel,
          Courier& courier);

  std::uint64_t now_ns() const noexcept { return tsc_ != nullptr ? tsc_->read() : clock_.now_ns(); }
  IoClass class_of(Op op) const noexcept;
  void issue(Request& request, std::uint64_t now_ns);
  void bypass_queue(Request& request, std::uint64_t now);
  void commit_batch(std::uint64_t now);
  /// The first `count` of batch_ ask their leaves for leave.
  void enter_queues(unsigned count, std::uint64_t now_ns);
  /// Takes grants and carried requests out of the mailbox.
  void collect_mail(unsigned max);
  void issue_list(RequestList& list, std::uint64_t now_ns);
  void issue_waiting(std::uint64_t now_ns);
  /// Accounts for requests that the channel returned and gives their permissions back.
  void settle(Request** ended, unsigned count);
  void record(Request& request, std::uint64_t issued_ns, std::uint64_t found_ns);
  static void record_odd(ClassStats& stats, const Request& request);
  void leave_queues(unsigned count, std::uint64_t now_ns);
  /// Gives a queued or leased request's permission back, sooner or later in this reap.
  void give_back(Request& request, std::uint64_t now_ns);
  /// Tells the queue of what Seat::put() said.
  void tell_left(std::uint64_t now_ns);
  void hand_out(Grants& grants, std::uint64_t now_ns);
  int reap_more(unsigned min, unsigned max);
  int told() const noexcept { return static_cast<int>(ended_count_); }
  int wait(unsigned missing);
  int wait_for_grant();

  SessionConfig config_;
  const Clock& clock_;
  const TscClock* const tsc_;  // clock_, if it is one: read without a virtual call
  Courier& courier_;
  std::unique_ptr<Channel> channel_;
  Mailbox mailbox_;
  std::unique_ptr<Request[]> requests_;
  /// One open file and the session's place at its leaf's queue.
  struct OpenFile {
    OpenFile(Leaf& leaf, Mailbox& mailbox) : seat(&mailbox, leaf.queue()) {}
    Target target;
    Seat seat;
  };
  void close(OpenFile& file);

  /// What a request of an Op is.
  struct OpTraits {
    IoClass io_class;
    bool important;
  };
  std::array<OpTraits, kOps> traits_{};
  std::vector<std::unique_ptr<OpenFile>> files_;
  std::vector<Request*> staged_;
  std::vector<Request*> batch_;  // on its way into, or out of, a queue
  std::vector<Request*> ended_;
  unsigned queued_count_ = 0;  // in batch_, of this reap: to leave the queue
  Seat* left_seat_ = nullptr;  // whose put() says that somebody waits, and for which class
  unsigned left_class_ = 0;
  std::atomic<bool> hurry_{false};
  unsigned staged_count_ = 0;
  unsigned ended_count_ = 0;
  unsigned outstanding_ = 0;                        // taken by submit(), not yet in ended_
  unsigned waiting_ = 0;                            // of those: not at our own channel
  std::array<std::uint64_t, kIoClasses> queued_{};  // passed the queue, by class
  std::uint64_t first_ns_ = 0;
  std::uint64_t last_ns_ = 0;
  std::unique_ptr<JobStats> stats_;
};

}  // namespace sluice
