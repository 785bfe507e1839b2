// ModelStore: the bytes of a model device, which of them are dirty, and what a crash leaves.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "engine/devices/model_config.h"
#include "engine/devices/model_crash.h"
#include "engine/devices/sparse_memory.h"
#include "scheduler/base/prng.h"
#include "scheduler/base/units.h"
#include "scheduler/io/request.h"

namespace sluice {

/// Each request passes begin() when it is committed and, at most once, finish() when its
/// completion is found. Threads: any; a request's own two calls by one thread.
///
/// Data moves in finish(), in pieces that end at multiples of 64 KiB, each under its stripe's
/// lock: a read that overlaps a write in flight sees old or new bytes, piece by piece.
///
/// Dirty is a sector that was written since the last take_dirty(), counted once however often it
/// was written; trims do not count. Of writes that finish during a take_dirty(), a sector may be
/// counted before it, after it, or twice.
class ModelStore {
 public:
  /// What begin() hands to finish().
  struct Ticket {
    /// Write and trim: id in the crash log, of an aggregate that of its first part, the others
    /// follow; flush: what it covers.
    std::uint64_t value = 0;
    std::uint32_t lifetime = 0;  ///< crashes before it
  };

  static Result<std::unique_ptr<ModelStore>> open(const ModelConfig& config);

  /// When a flush is committed, before its begin(): the bytes that it has to write back. They are
  /// its own from now on, so that no other flush pays for them.
  std::uint64_t take_dirty();

  Ticket begin(const Request& request);
  /// Bytes transferred, or -errno: -EINVAL for an offset or length off the sector grid, -ENOSPC
  /// for a write wholly past the end, -EIO when the request was in flight at a crash. Transfers
  /// are short at the end of the device; reads past it give 0. Flush and trim give 0, and a trim
  /// past the end does nothing there. An aggregate gives what a vectored transfer would.
  std::int32_t finish(const Request& request, Ticket ticket);

  std::uint64_t dirty_bytes() const noexcept {
    return dirty_bytes_.load(std::memory_order_relaxed);
  }

  /// Cuts the power: see model_crash.h. Requires config.crashable. What was begun and not finished
  /// ends with -EIO. Not during another call.
  void crash(Prng& prng);

 private:
  static constexpr std::uint64_t kStripeBytes = 64 * kKiB;
  static constexpr std::size_t kStripes = 64;
  struct alignas(kFalseSharingBytes) Stripe {
    std::mutex mutex;
  };

  ModelStore(const ModelConfig& config, SparseMemory image, SparseMemory epochs);

  std::int64_t usable_bytes(const Request& request) const noexcept;
  std::uint64_t log_change(const Request& request);
  std::int64_t finish_part(const Request& request, std::uint64_t& record);
  void move(const Request& request, std::uint64_t length);
  void mark_dirty(std::uint64_t offset, std::uint64_t length) noexcept;

  const ModelConfig config_;
  SparseMemory image_;   ///< what reads see
  SparseMemory epochs_;  ///< a uint32 a sector: the epoch of its last write; guarded by stripes_
  std::array<Stripe, kStripes> stripes_;
  std::atomic<std::uint32_t> epoch_{1};  ///< calls of take_dirty(), plus 1
  std::atomic<std::uint64_t> dirty_bytes_{0};

  std::mutex crash_mutex_;               ///< guards the next two, and orders all of finish()
  std::unique_ptr<CrashLog> crash_log_;  ///< only when crashable
  std::uint32_t crashes_ = 0;
};

}  // namespace sluice
