// Session: one fio job's way through the stack. fio's thread stages requests, commits them, reaps.
//
// Hot path: no allocation, no lock of its own, one clock read per submit batch and one per reap
// batch. bypass=all touches nothing that another thread writes; a queued I/O, while no limit binds,
// writes to lines of its seat only.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scheduler/base/tsc_clock.h"
#include "scheduler/stack/courier.h"
#include "scheduler/stack/deadman.h"
#include "scheduler/stack/leaf.h"
#include "scheduler/stack/mailbox.h"
#include "scheduler/stack/nudge.h"
#include "scheduler/stack/tail.h"

namespace sluice {

struct FreeDeleter {
  void operator()(void* memory) const noexcept { std::free(memory); }
};

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

  /// The slowest I/Os so far, and what trace= keeps. Requires no further I/O.
  std::vector<IoRecord> tail() const { return tail_.sorted(); }
  std::vector<IoRecord> take_trace() { return trace_.take(); }
  /// When the first I/O was handed over.
  std::uint64_t first_ns() const noexcept { return first_ns_; }

  unsigned outstanding() const noexcept { return outstanding_; }
  const JobStats& stats() const noexcept { return *stats_; }
  /// Hands the statistics over; requires drain() before and no further I/O.
  std::unique_ptr<JobStats> take_stats() { return std::move(stats_); }
  const SessionConfig& config() const noexcept { return config_; }
  /// The in-flight table. Observers: io/sighting.h.
  std::span<const Request> slots() const noexcept { return {requests_.get(), slot_count_}; }

  // ---- what hangs: the overseer's thread, under whose lock the session stays ----

  DeadmanLimits deadman_limits() const noexcept;
  bool hurried() const noexcept { return hurry_.load(std::memory_order_relaxed); }
  /// The file of an I/O that was sighted; empty when that is closed by now.
  std::string path_of(const Sighting& seen) const;
  void count_overdue(std::size_t count) { stats_->deadman_events.add(count); }
  /// Orders that this I/O be abandoned, if it is still there when the order arrives.
  void condemn(const Sighting& seen);
  bool is_condemned(const Sighting& seen) const noexcept {
    return requests_[seen.slot].condemned_ns.load(std::memory_order_relaxed) == seen.issued_ns;
  }
  /// The job's thread polls soon, though it may wait for more I/Os than have ended.
  void hasten() noexcept { nudge(thread_); }
  /// Orders that permissions which abandoned I/O holds are given back, and that what waits goes
  /// past the queue: nothing might ever move again.
  void unblock();
  /// Hurries whoever has an order of condemn() to carry out; false when nobody has.
  bool prod();

  // ---- what was abandoned: the job's thread ----

  /// I/Os that ended as timed out and that the device may still do.
  unsigned abandoned() const noexcept { return abandoned_; }
  /// What stands in for a slot whose I/O was abandoned, and for its buffer.
  struct Replacement {
    unsigned slot;
    void* buffer;  ///< as large as the largest I/O, page-aligned; belongs to the session
  };
  /// For an abandoned `slot`, whose io_u has `buffer`. Nothing when too many slots were lost for
  /// good (to the courier or to aggregates): this one takes no I/O any more.
  std::optional<Replacement> replace(unsigned slot, void* buffer);
  /// Instead of the destructor, for a session with abandoned I/O: all that these may touch stays.
  /// Requires drain() before.
  void bury();

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
  /// Returns how many of them are for fio: parts of aggregates come by mailbox, late ones not at
  /// all.
  unsigned settle(Request** ended, unsigned count);
  void take_apart(Request& head, std::uint64_t now_ns);
  void record(Request& request, std::uint64_t issued_ns, std::uint64_t found_ns);
  void record_rare(Request& request, std::uint64_t issued_ns, std::uint64_t found_ns);
  /// An ended I/O that is slow, the slowest yet, or traced: rare, or asked for.
  void remark(Request& request, ClassStats& stats, std::uint64_t issued_ns, std::uint64_t found_ns);
  void remark_waited(const Request& request, std::uint64_t issued_ns, std::uint64_t found_ns);
  IoRecord io_record(const Request& request, std::uint64_t issued_ns,
                     std::uint64_t found_ns) const noexcept;
  static void record_odd(ClassStats& stats, const Request& request);
  void leave_queues(unsigned count, std::uint64_t now_ns);
  static void end_busy(Request& request);
  /// Gives a queued or leased request's permission back, sooner or later in this reap.
  void give_back(Request& request, std::uint64_t now_ns);
  /// Tells the queue of what Seat::put() said.
  void tell_left(std::uint64_t now_ns);
  void hand_out(Grants& grants, std::uint64_t now_ns);
  int reap_more(unsigned min, unsigned max);
  int told() const noexcept { return static_cast<int>(ended_count_); }
  int wait(unsigned missing);
  int wait_for_grant();

  // session_abandon.cpp
  void carry_out_orders(unsigned room, std::uint64_t now_ns);
  void account_abandoned(Request& request);
  void drop_late_aggregate(Request& head, std::uint64_t now_ns);
  void release_permission(Request& request, std::uint64_t now_ns);
  void release_permissions();
  void give_back_now(Request& request, std::uint64_t now_ns);
  /// The device has done the abandoned request ended[which] after all: takes it out of the `count`
  /// that poll() gave; how many are left.
  unsigned drop_late(Request** ended, unsigned count, unsigned which, std::uint64_t now_ns);
  /// The channel is full of abandoned I/O: the request ends at once.
  void refuse(Request& request);
  void end_refused(unsigned room, std::uint64_t now_ns);
  bool hangs_on(const Target& target) const noexcept;

  SessionConfig config_;
  const Clock& clock_;
  const TscClock* const tsc_;  // clock_, if it is one: read without a virtual call
  Courier& courier_;
  std::unique_ptr<Channel> channel_;
  Mailbox mailbox_;
  /// Of these the courier and aggregates may keep some for good.
  static constexpr unsigned kLostSlotsMax = 64;
  const unsigned slot_count_;  // enough for fio's I/Os beside a channel full of abandoned ones
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
  mutable std::mutex files_mutex_;  // for observers: the owner takes it to change the next two
  std::vector<std::unique_ptr<OpenFile>> files_;
  std::vector<std::unique_ptr<OpenFile>> kept_files_;  // closed, with abandoned I/O
  std::vector<Request*> staged_;
  std::vector<Request*> batch_;  // on its way into, or out of, a queue
  std::vector<Request*> ended_;
  unsigned queued_count_ = 0;  // in batch_, of this reap: to leave the queue
  Seat* left_seat_ = nullptr;  // whose put() says that somebody waits, and for which class
  unsigned left_class_ = 0;
  std::atomic<bool> hurry_{false};
  std::atomic<bool> unblock_{false};
  std::atomic<bool> ordered_{false};
  const pthread_t thread_;
  unsigned abandoned_ = 0;
  bool buried_ = false;
  std::vector<unsigned> spare_slots_;
  std::vector<std::unique_ptr<std::byte, FreeDeleter>> spare_buffers_;  // all that were made
  struct Replaced {
    unsigned slot;
    void* buffer;
  };
  std::vector<Replaced> replaced_;   // what abandoned I/O keeps
  std::vector<void*> idle_buffers_;  // that no io_u has and no device may touch
  std::vector<Request*> refused_;    // to end at once
  unsigned staged_count_ = 0;
  unsigned ended_count_ = 0;
  unsigned outstanding_ = 0;                        // taken by submit(), not yet in ended_
  unsigned waiting_ = 0;                            // of those: not at our own channel
  std::array<std::uint64_t, kIoClasses> queued_{};  // passed the queue, by class
  std::uint64_t first_ns_ = 0;
  std::uint64_t last_ns_ = 0;
  const std::uint64_t slow_ns_;
  Tail tail_;
  TraceRing trace_;
  std::unique_ptr<JobStats> stats_;
};

}  // namespace sluice
