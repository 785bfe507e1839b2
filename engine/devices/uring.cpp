#include "engine/devices/uring.h"

#include <fcntl.h>
#include <liburing.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>
#include <vector>

#include "engine/devices/uring_setup.h"
#include "scheduler/base/attributes.h"
#include "scheduler/base/check.h"
#include "scheduler/base/clock.h"
#include "scheduler/base/units.h"
#include "scheduler/io/parts.h"

namespace sluice {

namespace {

// user_data of the read that lets another thread's wake() end our wait.
constexpr std::uint64_t kWakeTag = 0;

class UringChannel final : public Channel {
 public:
  explicit UringChannel(const ChannelConfig& config) : config_(config) {}

  ~UringChannel() override {
    if (ring_open_) {
      if (!disowned_) await_kernel();
      // A read on the eventfd may still be armed: closing the ring cancels it.
      io_uring_queue_exit(&ring_);
    }
    if (wake_fd_ >= 0) close(wake_fd_);
  }

  Status open(std::string& note) {
    // One more entry for the wake-up read.
    if (const int status = open_ring(ring_, config_.depth + 1); status < 0) {
      return ring_error(status);
    }
    ring_open_ = true;
    // The kernel clamps (32768); submit() counts on an entry for each request.
    if (ring_.sq.ring_entries < config_.depth + 1) {
      return Error{EINVAL, "io_uring takes at most " + std::to_string(ring_.sq.ring_entries - 1) +
                               " requests at once, not " + std::to_string(config_.depth) +
                               "; lower iodepth"};
    }
    wake_fd_ = eventfd(0, EFD_CLOEXEC);
    if (wake_fd_ < 0) return Error{errno, "no eventfd: too many open files (ulimit -n)"};
    if (config_.aggregates && !vectors_.open(ring_.sq.ring_entries)) {
      return Error{ENOMEM, "no memory to merge I/O; use aggregation_limit=1, or a lower iodepth"};
    }
    buffers_ = register_buffers(ring_, config_, note);
    if (config_.register_files) {
      files_registered_ = io_uring_register_files_sparse(&ring_, config_.files) == 0;
      slot_used_.assign(config_.files, false);
    }
    usual_ = buffers_.single && files_registered_ && config_.force_async == 0;
    // Spares the kernel looking up the ring's own fd at each call (5.18).
    if (io_uring_register_ring_fd(&ring_) == 1) enter_flags_ = IORING_ENTER_REGISTERED_RING;
    for (unsigned i = 0; i < ring_.sq.ring_entries; ++i) ring_.sq.array[i] = i;
    finished_.reserve(config_.depth);
    return Done{};
  }

  void attach(Target& target) override {
    target.fixed_slot = -1;
    const int flags = fcntl(target.fd, F_GETFL);
    target.mode = flags < 0 ? 0 : static_cast<unsigned>(flags & (O_DIRECT | O_DSYNC | O_SYNC));
    if (!files_registered_) return;
    for (unsigned slot = 0; slot < slot_used_.size(); ++slot) {
      if (slot_used_[slot]) continue;
      if (io_uring_register_files_update(&ring_, slot, &target.fd, 1) != 1) return;
      slot_used_[slot] = true;
      target.fixed_slot = static_cast<int>(slot);
      return;
    }
  }

  void detach(Target& target) override {
    if (target.fixed_slot < 0) return;
    int none = -1;
    io_uring_register_files_update(&ring_, static_cast<unsigned>(target.fixed_slot), &none, 1);
    slot_used_[static_cast<unsigned>(target.fixed_slot)] = false;
    target.fixed_slot = -1;
  }

  bool submit(Request& request) override {
    if (in_flight_ >= config_.depth) return false;
    if (request.op > Op::write || is_aggregate(request)) [[unlikely]]
      return submit_other(request);
    prepare_rw(next_sqe(), request);
    ++in_flight_;
    return true;
  }

  int commit() override {
    if (unpushed_ == 0) return 0;
    counters_.commits.add(1);
    const int status = enter(0);
    if (status == static_cast<int>(unpushed_)) [[likely]] {
      unpushed_ = 0;
      return 0;
    }
    return commit_rest(status);
  }

  unsigned poll(Request** ended, unsigned max) override {
    const unsigned count = take(ended, max);
    in_flight_ -= count;
    return count != 0 ? count : poll_rare(ended, max);
  }

  int wait(unsigned want, bool wakeable) override {
    if (!finished_.empty()) [[unlikely]]
      return commit();
    want = std::min(want, in_flight_);
    if (wakeable) [[unlikely]] {
      arm_wake();
      // With a wake-up armed the first completion of any kind must return.
      want = 1;
    }
    counters_.waits.add(1);
    const int status = enter(want);
    if (status < 0) [[unlikely]]
      return pushed(status);
    unpushed_ -= static_cast<unsigned>(status);
    return 0;
  }

  int wait_for(std::uint64_t timeout_ns, bool wakeable) override {
    if (!finished_.empty()) return commit();
    if (wakeable) arm_wake();
    counters_.waits.add(1);
    const int status = enter_for(timeout_ns);
    if (status == -ETIME) return 0;
    if (status < 0) return status == -EINTR ? status : pushed(status);
    unpushed_ -= static_cast<unsigned>(status);
    return 0;
  }

  void wake() noexcept override {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_fd_, &one, sizeof one);
  }

  void disown() noexcept override { disowned_ = true; }

  std::uint64_t enters() const noexcept override {
    return counters_.commits.load() + counters_.waits.load() + counters_.extra_enters.load();
  }

 private:
  // All fields that a read or write uses, and no more stores than that needs. Usually the buffer is
  // in the one registered chunk, the file is registered and nothing is forced: one branch for that.
  void prepare_rw(io_uring_sqe& sqe, Request& request) {
    static_assert(IORING_OP_WRITE_FIXED == IORING_OP_READ_FIXED + 1 &&
                  IORING_OP_WRITE == IORING_OP_READ + 1);
    sqe.ioprio = 0;
    sqe.off = request.offset;
    sqe.addr = reinterpret_cast<std::uint64_t>(request.buffer);
    sqe.len = request.length;
    sqe.rw_flags = 0;
    sqe.user_data = reinterpret_cast<std::uint64_t>(&request);
    sqe.buf_index = 0;
    sqe.personality = 0;
    sqe.file_index = 0;
    sqe.addr3 = 0;
    sqe.__pad2[0] = 0;
    const int slot = request.target->fixed_slot;
    if (usual_ && slot >= 0 && buffers_.covers(request.buffer, request.length)) [[likely]] {
      sqe.opcode = static_cast<std::uint8_t>(IORING_OP_READ_FIXED + static_cast<int>(request.op));
      sqe.fd = slot;
      sqe.flags = IOSQE_FIXED_FILE;
    } else {
      prepare_unusual(sqe, request);
    }
  }

  SLUICE_NOINLINE void prepare_unusual(io_uring_sqe& sqe, Request& request) {
    const int chunk = buffers_.index(request.buffer, request.length);
    const int base = chunk >= 0 ? IORING_OP_READ_FIXED : IORING_OP_READ;
    sqe.opcode = static_cast<std::uint8_t>(base + static_cast<int>(request.op));
    sqe.buf_index = static_cast<std::uint16_t>(chunk >= 0 ? chunk : 0);
    if (chunk < 0) counters_.unregistered.add(1);
    set_file(sqe, *request.target);
    finish(sqe, request);
  }

  void finish(io_uring_sqe& sqe, Request& request) {
    sqe.user_data = reinterpret_cast<std::uint64_t>(&request);
    if (config_.force_async != 0 && ++since_async_ == config_.force_async) {
      since_async_ = 0;
      sqe.flags |= IOSQE_ASYNC;
    }
  }

  /// An aggregate's parts may lie in other jobs' memory, so their buffers are none of the
  /// registered.
  void prepare_vector(Request& request) {
    iovec* const vector = vectors_.of(ring_.sq.sqe_tail & ring_.sq.ring_mask);
    const unsigned count = gather(request, vectors_.scrap(), vector);
    const std::uint64_t offset = request.first_part->offset;
    io_uring_sqe& sqe = next_sqe();
    if (request.op == Op::read) {
      io_uring_prep_readv(&sqe, 0, vector, count, offset);
    } else {
      io_uring_prep_writev(&sqe, 0, vector, count, offset);
    }
    set_file(sqe, *request.target);
    finish(sqe, request);
  }

  void prepare_other(io_uring_sqe& sqe, Request& request) {
    switch (request.op) {
      case Op::flush: io_uring_prep_fsync(&sqe, 0, 0); break;
      case Op::data_sync: io_uring_prep_fsync(&sqe, 0, IORING_FSYNC_DATASYNC); break;
      default:
        // A trim of a regular file gives its blocks back and keeps its size. Reads then return
        // zeros, which is what a discard promises at most.
        io_uring_prep_fallocate(&sqe, 0, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                static_cast<off_t>(request.offset), request.length);
        break;
    }
    set_file(sqe, *request.target);
    finish(sqe, request);
  }

  void set_file(io_uring_sqe& sqe, const Target& target) const noexcept {
    // The slot belongs to the owner's ring: the courier's has none.
    const bool fixed = files_registered_ && target.fixed_slot >= 0;
    sqe.fd = fixed ? target.fixed_slot : target.fd;
    sqe.flags = fixed ? IOSQE_FIXED_FILE : 0;
  }

  /// Closing a ring doesn't wait for its I/O, which would then end in memory that is freed. What
  /// was not pushed is dropped; nobody wants the results.
  SLUICE_COLD void await_kernel() {
    auto pending = static_cast<std::size_t>(in_flight_) - finished_.size() -
                   std::min<std::size_t>(unpushed_, in_flight_ - finished_.size());
    while (pending > 0) {
      const int status = io_uring_enter(static_cast<unsigned>(ring_.enter_ring_fd), 0, 1,
                                        enter_flags_ | IORING_ENTER_GETEVENTS, nullptr);
      if (status < 0 && status != -EINTR) return;
      unsigned head = 0;
      unsigned seen = 0;
      io_uring_cqe* cqe = nullptr;
      io_uring_for_each_cqe(&ring_, head, cqe) {
        ++seen;
        if (cqe->user_data != kWakeTag) --pending;
      }
      io_uring_cq_advance(&ring_, seen);
    }
  }

  /// Gives the kernel what is unpushed and, with `want`, waits for that many completions; as
  /// io_uring_submit_and_wait(), whose copy of the entry numbers we spare: they never change.
  int enter(unsigned want) noexcept {
    std::atomic_ref<unsigned>(*ring_.sq.ktail).store(ring_.sq.sqe_tail, std::memory_order_release);
    const bool reap = want > 0 || kernel_has_work();
    return io_uring_enter(static_cast<unsigned>(ring_.enter_ring_fd), unpushed_, want,
                          enter_flags_ | (reap ? IORING_ENTER_GETEVENTS : 0U), nullptr);
  }

  /// enter(1) with a limit of time; -ETIME when it ended by that with nothing to push.
  SLUICE_COLD int enter_for(std::uint64_t timeout_ns) noexcept {
    if (timeout_ns == kForever) return enter(1);
    if ((ring_.features & IORING_FEAT_EXT_ARG) == 0) {
      // Before 5.11 a wait knows no limit; short sleeps come close.
      const int status = enter(0);
      if (*ring_.cq.khead ==
          std::atomic_ref<unsigned>(*ring_.cq.ktail).load(std::memory_order_acquire)) {
        sleep_ns(std::min(timeout_ns, 50 * kNsPerUs));
      }
      return status;
    }
    std::atomic_ref<unsigned>(*ring_.sq.ktail).store(ring_.sq.sqe_tail, std::memory_order_release);
    __kernel_timespec limit{.tv_sec = static_cast<long long>(timeout_ns / kNsPerSecond),
                            .tv_nsec = static_cast<long long>(timeout_ns % kNsPerSecond)};
    io_uring_getevents_arg arg{};
    arg.ts = reinterpret_cast<std::uint64_t>(&limit);
    return io_uring_enter2(static_cast<unsigned>(ring_.enter_ring_fd), unpushed_, 1,
                           enter_flags_ | IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
                           reinterpret_cast<sigset_t*>(&arg), sizeof arg);
  }

  /// The ring has an entry for every request in flight and one for the wake-up, so one is free.
  io_uring_sqe& next_sqe() noexcept {
    ++unpushed_;
    return ring_.sq.sqes[ring_.sq.sqe_tail++ & ring_.sq.ring_mask];
  }

  SLUICE_NOINLINE bool submit_other(Request& request) {
    if (is_aggregate(request)) {
      prepare_vector(request);
    } else if (request.op != Op::trim || !discard(request)) {
      prepare_other(next_sqe(), request);
    }
    ++in_flight_;
    return true;
  }

  /// Block devices: BLKDISCARD, which io_uring learned only in 6.12, so synchronously, as fio's own
  /// engines do it. False if the target is no block device.
  bool discard(Request& request) {
    struct stat status {};
    if (fstat(request.target->fd, &status) != 0 || !S_ISBLK(status.st_mode)) return false;
    std::uint64_t range[2] = {request.offset, request.length};
    request.result = ioctl(request.target->fd, BLKDISCARD, range) == 0 ? 0 : -errno;
    finished_.push_back(&request);
    return true;
  }

  SLUICE_COLD void arm_wake() {
    if (wake_armed_) return;
    io_uring_sqe& sqe = next_sqe();
    io_uring_prep_read(&sqe, wake_fd_, &wake_count_, sizeof wake_count_, 0);
    sqe.user_data = kWakeTag;
    wake_armed_ = true;
  }

  /// The kernel stops behind an entry that it refuses; the rest must not wait for our next call.
  SLUICE_COLD int commit_rest(int status) {
    while (true) {
      const unsigned before = unpushed_;
      const int outcome = pushed(status);
      if (outcome < 0 || unpushed_ == 0 || unpushed_ == before) return outcome;
      counters_.extra_enters.add(1);
      status = enter(0);
    }
  }

  /// Accounts for what the kernel took of the staged entries.
  SLUICE_COLD int pushed(int status) {
    if (status >= 0) {
      unpushed_ -= static_cast<unsigned>(status);
      return 0;
    }
    // No room or memory right now: what is staged stays and goes with the next call, after a reap.
    if (status == -EAGAIN || status == -EBUSY || status == -EINTR) return 0;
    return status;
  }

  bool kernel_has_work() const noexcept {
    const unsigned flags =
        std::atomic_ref<unsigned>(*ring_.sq.kflags).load(std::memory_order_acquire);
    return (flags & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
  }

  /// Nothing on the ring: requests that ended at submit(), and completions that the kernel makes
  /// only when we enter (with entries unpushed, pushing them will).
  SLUICE_NOINLINE unsigned poll_rare(Request** ended, unsigned max) {
    unsigned count = 0;
    while (count < max && !finished_.empty()) {
      ended[count++] = finished_.back();
      finished_.pop_back();
    }
    if (count == 0 && in_flight_ > 0 && unpushed_ == 0 && kernel_has_work()) {
      counters_.extra_enters.add(1);
      io_uring_get_events(&ring_);
      count = take(ended, max);
    }
    in_flight_ -= count;
    return count;
  }

  unsigned take(Request** ended, unsigned max) {
    const unsigned first = *ring_.cq.khead;
    const unsigned last =
        std::atomic_ref<unsigned>(*ring_.cq.ktail).load(std::memory_order_acquire);
    const unsigned mask = ring_.cq.ring_mask;
    unsigned head = first;
    unsigned count = 0;
    for (; head != last && count < max; ++head) {
      const io_uring_cqe& cqe = ring_.cq.cqes[head & mask];
      if (cqe.user_data == kWakeTag) [[unlikely]] {
        wake_armed_ = false;
        continue;
      }
      auto* const request = reinterpret_cast<Request*>(cqe.user_data);
      request->result = cqe.res;
      ended[count++] = request;
    }
    if (head != first) {
      std::atomic_ref<unsigned>(*ring_.cq.khead).store(head, std::memory_order_release);
    }
    return count;
  }

  ChannelConfig config_;
  io_uring ring_{};
  bool ring_open_ = false;
  bool disowned_ = false;
  int wake_fd_ = -1;
  bool wake_armed_ = false;
  std::uint64_t wake_count_ = 0;
  VectorArena vectors_;
  RegisteredBuffers buffers_;
  bool usual_ = false;  // one chunk of buffers, files registered, nothing forced to a worker
  bool files_registered_ = false;
  std::vector<bool> slot_used_;
  std::vector<Request*> finished_;  // done at submit(): discards
  unsigned since_async_ = 0;
  unsigned enter_flags_ = 0;
};

}  // namespace

Result<std::unique_ptr<Channel>> UringChannelFactory::open(const ChannelConfig& config,
                                                           std::string& note) {
  auto channel = std::make_unique<UringChannel>(config);
  if (const Status status = channel->open(note); !status) return status.error();
  return std::unique_ptr<Channel>(std::move(channel));
}

}  // namespace sluice
