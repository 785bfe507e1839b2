// Leaf: one file or device with its queue, shared by all jobs that name it.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "scheduler/config/owned_tunables.h"
#include "scheduler/io/device_source.h"
#include "scheduler/queue/leaf_queue.h"

namespace sluice {

/// Lives as long as its Stack. Threads: any.
class Leaf {
 public:
  Leaf(std::string path, std::string first_job, const Tunables& tunables, const QueueLimits& limits,
       DeviceHandle handle)
      : path_(std::move(path)),
        first_job_(std::move(first_job)),
        tunables_(tunables),
        handle_(std::move(handle)),
        queue_(make_leaf_queue(static_cast<enum sluice_queue>(tunables.queue), limits)),
        bypass_(tunables.bypass),
        hybrid_rule_(tunables.hybrid_rule) {}

  const std::string& path() const noexcept { return path_; }
  const std::string& first_job() const noexcept { return first_job_; }
  const Tunables& tunables() const noexcept { return tunables_.get(); }
  Device& device() const noexcept { return *handle_.device; }
  const DeviceHandle& handle() const noexcept { return handle_; }
  LeafQueue& queue() noexcept { return *queue_; }
  const LeafQueue& queue() const noexcept { return *queue_; }

  /// Whether this request skips the queue. Flushes always do: they order, they don't compete
  /// (OpenZFS's ZIO_PRIORITY_NOW).
  bool bypasses(const Request& request) const noexcept {
    const unsigned mode = bypass_.load(std::memory_order_relaxed);
    if (mode == SLUICE_bypass_all) return true;
    if (mode == SLUICE_bypass_off) [[likely]]
      return is_flush(request);
    return bypasses_now(mode, request);
  }

  enum sluice_bypass bypass() const noexcept {
    return static_cast<enum sluice_bypass>(bypass_.load(std::memory_order_relaxed));
  }
  enum sluice_hybrid_rule hybrid_rule() const noexcept {
    return static_cast<enum sluice_hybrid_rule>(hybrid_rule_.load(std::memory_order_relaxed));
  }
  /// Permissions that abandoned I/O holds: the device may never give them back.
  void abandon(int change) noexcept { abandoned_.fetch_add(change, std::memory_order_relaxed); }
  int abandoned() const noexcept { return abandoned_.load(std::memory_order_relaxed); }

  /// May change while I/O is in flight.
  void set_bypass(enum sluice_bypass mode) noexcept {
    bypass_.store(mode, std::memory_order_relaxed);
  }
  void set_hybrid_rule(enum sluice_hybrid_rule rule) noexcept {
    hybrid_rule_.store(rule, std::memory_order_relaxed);
  }

  // What the hybrid rules look at.

  /// A request is about to enter the queue, and was not let go at once; and: it goes to the device.
  void important_waits() noexcept { important_waiting_.fetch_add(1, std::memory_order_relaxed); }
  void important_goes() noexcept { important_waiting_.fetch_sub(1, std::memory_order_relaxed); }

  /// Under the rule `idle` what passes the queue is counted from its entry to its end; the request
  /// remembers, so that the mode may change in between.
  bool counts_busy() const noexcept {
    return bypass() == SLUICE_bypass_hybrid && hybrid_rule() == SLUICE_hybrid_rule_idle;
  }
  void busy(std::int32_t change) noexcept { busy_.fetch_add(change, std::memory_order_relaxed); }

 private:
  static bool is_flush(const Request& request) noexcept {
    return request.op == Op::flush || request.op == Op::data_sync;
  }
  bool bypasses_now(unsigned mode, const Request& request) const noexcept;

  std::string path_;
  std::string first_job_;
  OwnedTunables tunables_;  // leaves live longer than a job
  DeviceHandle handle_;
  const std::unique_ptr<LeafQueue> queue_;
  std::atomic<unsigned> bypass_;
  std::atomic<int> abandoned_{0};
  std::atomic<unsigned> hybrid_rule_;
  // Written per I/O by the modes that need them only.
  alignas(kFalseSharingBytes) std::atomic<std::int32_t> important_waiting_{0};
  std::atomic<std::int32_t> busy_{0};
};

}  // namespace sluice
