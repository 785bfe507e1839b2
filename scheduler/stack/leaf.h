// Leaf: one file or device with its queue, shared by all jobs that name it.
#pragma once

#include <atomic>
#include <memory>
#include <string>

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
        tunables_(without_strings(tunables)),
        handle_(std::move(handle)),
        queue_(limits),
        bypass_(tunables.bypass) {}

  const std::string& path() const noexcept { return path_; }
  const std::string& first_job() const noexcept { return first_job_; }
  const Tunables& tunables() const noexcept { return tunables_; }
  Device& device() const noexcept { return *handle_.device; }
  const DeviceHandle& handle() const noexcept { return handle_; }
  LeafQueue& queue() noexcept { return queue_; }
  const LeafQueue& queue() const noexcept { return queue_; }

  /// Whether this request skips the queue. Flushes always do: they order, they don't compete
  /// (OpenZFS's ZIO_PRIORITY_NOW).
  bool bypasses(const Request& request) const noexcept {
    return bypass_.load(std::memory_order_relaxed) == SLUICE_bypass_all ||
           request.op == Op::flush || request.op == Op::data_sync;
  }
  /// May change while I/O is in flight.
  void set_bypass(enum sluice_bypass mode) noexcept {
    bypass_.store(mode, std::memory_order_relaxed);
  }

 private:
  // fio frees a job's strings with the job; leaves live longer.
  static Tunables without_strings(Tunables tunables) {
    tunables.stats_json = nullptr;
    return tunables;
  }

  std::string path_;
  std::string first_job_;
  Tunables tunables_;
  DeviceHandle handle_;
  LeafQueue queue_;
  std::atomic<unsigned> bypass_;
};

}  // namespace sluice
