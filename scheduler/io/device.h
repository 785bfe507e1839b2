// THE seam between the stack and whatever stores bytes. Everything below it is a device (a file, a
// block device, a model, later a composite of devices); nothing above it knows which.
//
// Device  = one store: identity, limits, capabilities. Shared by all threads.
// Channel = one thread's way to devices of one kind, with a ring or list of its own. A job has one
//           channel whatever the number of its files, so one wait covers them all.
//
// Every device passes engine/devices/conformance_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "scheduler/base/counter.h"
#include "scheduler/base/result.h"
#include "scheduler/io/request.h"

namespace sluice {

struct DeviceLimits {
  std::uint64_t size_bytes = 0;           ///< 0: not known (a file that fio may extend)
  std::uint32_t logical_block_bytes = 1;  ///< O_DIRECT granularity; 1: any
};

struct DeviceCapabilities {
  bool volatile_cache = true;  ///< a flush is needed for durability
  bool trim = true;
  bool needs_file = true;   ///< requests carry a Target with an open fd
  bool stores_data = true;  ///< a read returns what was written
  bool rotational = false;  ///< seeks cost time: the order by offset pays
};

/// Threads: any; immutable but for what a kind keeps inside behind its own lock.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view kind() const noexcept = 0;  ///< "uring", "model", "null"
  virtual const DeviceLimits& limits() const noexcept = 0;
  virtual const DeviceCapabilities& capabilities() const noexcept = 0;
};

/// Counts that only the channel can know. Written by the channel's thread, read by anyone.
struct ChannelCounters {
  Counter commits;       ///< batches pushed by commit(); wait() pushes what is left then
  Counter waits;         ///< waits that were not satisfied at once
  Counter extra_enters;  ///< io_uring_enter calls for neither
  Counter unregistered;  ///< reads and writes whose buffer was not a registered one
};

/// Threads: all calls from the thread that opened it, except wake(). Errors: an I/O error is the
/// request's result. No call throws.
class Channel {
 public:
  virtual ~Channel() = default;

  /// Called after a file is opened and before it is closed. A channel that registers files sets
  /// target.fixed_slot; failing to is not an error (the plain fd is used). One for which it matters
  /// how a file was opened sets target.mode.
  virtual void attach(Target& target) = 0;
  virtual void detach(Target& target) = 0;

  /// Takes the request, or the aggregate (io/parts.h) whose head it is, as one; it reaches the
  /// device at commit() or wait() at the latest. False when there is no room: nothing was taken,
  /// commit and poll first.
  virtual bool submit(Request& request) = 0;

  /// Pushes what submit() staged. 0 or -errno; on error the staged requests stay staged.
  virtual int commit() = 0;

  /// Collects up to `max` ended requests without blocking: sets `result`, leaves times and state to
  /// the caller. Each is returned exactly once.
  virtual unsigned poll(Request** ended, unsigned max) = 0;

  /// Pushes what is staged and blocks until `want` requests can be polled, but for no more than are
  /// in flight, or a signal arrives. want >= 1. `wakeable` says that wake() may be called from now
  /// on, which ends the wait too; such a wait may return with one request where more were wanted.
  /// It can cost a system call, so it is set only when somebody else's grant is awaited. Without it
  /// and with nothing in flight the wait returns at once. 0 or -errno; -EINTR is no error: look
  /// again.
  virtual int wait(unsigned want, bool wakeable) = 0;

  /// As wait(1, wakeable), but ends after `timeout_ns` at the latest (kForever: no limit), also
  /// with nothing in flight. May return early without anything to poll: look, and wait again. For
  /// decorators, which hold requests that the device has done.
  static constexpr std::uint64_t kForever = ~std::uint64_t{0};
  virtual int wait_for(std::uint64_t timeout_ns, bool wakeable) = 0;

  /// Ends a wait(…, true) that is under way, or the next one. Threads: any. Async-signal-safe.
  virtual void wake() noexcept = 0;

  /// What is in flight keeps its buffers when the channel goes: the destructor needn't wait for it.
  virtual void disown() noexcept {}

  /// Requests taken by submit() and not yet returned by poll().
  unsigned in_flight() const noexcept { return in_flight_; }

  /// Requests taken by submit() that the device has not been given yet.
  unsigned unpushed() const noexcept { return unpushed_; }

  virtual const ChannelCounters& counters() const noexcept { return counters_; }
  /// io_uring_enter calls so far; 0 for kinds without a kernel ring.
  virtual std::uint64_t enters() const noexcept { return 0; }

 protected:
  // Kept by the kinds; here so that a look costs no call.
  unsigned unpushed_ = 0;
  unsigned in_flight_ = 0;
  ChannelCounters counters_;
};

/// What a channel needs to know of the job that opens it.
struct ChannelConfig {
  unsigned depth = 1;       ///< most requests in flight at once
  unsigned files = 1;       ///< most files attached at once
  void* buffers = nullptr;  ///< the job's I/O memory, registered where possible; may be null
  std::uint64_t buffer_bytes = 0;
  std::uint64_t buffer_unit_bytes = 0;  ///< no request's buffer crosses a multiple of this
  bool register_files = true;
  unsigned force_async = 0;  ///< every Nth request carries IOSQE_ASYNC; 0: none
  /// Aggregates (io/parts.h) are submitted too; they need memory for their vectors.
  bool aggregates = false;
};

/// Makes channels of one kind. Implemented in engine/devices, handed to the stack by the bridge.
class ChannelFactory {
 public:
  virtual ~ChannelFactory() = default;
  /// `note` receives lines worth telling the user once (a fallback); may stay empty.
  virtual Result<std::unique_ptr<Channel>> open(const ChannelConfig& config, std::string& note) = 0;
};

}  // namespace sluice
