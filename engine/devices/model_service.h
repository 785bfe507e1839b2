// ModelService: when a request is done. Queueing theory's G/G/N with one queue: a request goes to
// the server that is free first, at the time when it is committed.
//
//   start = max(now, when that server is free)     due = start + service
//   service = (base + bytes / rate) * (1 + jitter * (X - 1)),   X exponential with mean 1
// and what `delay` adds to it.
//
// The mean is exact for every jitter, so throughput does not move when jitter is turned up, and
// no clamp is needed: X >= 0 bounds service below by (1 - jitter) of the mean, and X < 60 above.
//
// A flush takes every server: it starts when the last of them is free and lasts
// flush_ns + dirty bytes / flush_bytes_per_second, during which nothing else is served, as a drive
// programs its flash with all its channels. So it never ends before a request that was committed
// earlier. Without a volatile write cache it costs nothing, as the kernel drops it there.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "engine/devices/model_config.h"
#include "scheduler/base/prng.h"
#include "scheduler/io/request.h"

namespace sluice {

/// Threads: any. With one thread and a stepped clock the same seed gives the same times.
class ModelService {
 public:
  explicit ModelService(const ModelConfig& config);

  /// Assigns a request that is committed at `now_ns`; when it is due. `dirty_bytes` matters to a
  /// flush only.
  std::uint64_t admit(Op op, std::uint32_t length_bytes, std::uint64_t dirty_bytes,
                      std::uint64_t now_ns);

  const DelayConfig& delay() const noexcept { return config_.delay; }

  /// All servers are free at once (power was cut). The random sequence goes on.
  void reset();

  /// Most servers that were busy at the same time so far.
  unsigned busy_max() const;

 private:
  std::uint64_t mean_ns(Op op, std::uint32_t length_bytes, std::uint64_t dirty_bytes) const;
  std::uint64_t service_ns(std::uint64_t mean_ns);
  double exponential();

  const ModelConfig config_;
  mutable std::mutex mutex_;
  Prng prng_;
  std::vector<std::uint64_t> free_at_ns_;  ///< one a server
  unsigned busy_max_ = 0;
};

}  // namespace sluice
