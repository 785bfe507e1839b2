// ModelConfig: what a model device is like. Defaults resemble a mid-range NVMe drive.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>

#include "engine/devices/delay_config.h"
#include "scheduler/base/result.h"
#include "scheduler/base/units.h"
#include "scheduler/io/request.h"

namespace sluice {

struct ModelConfig {
  std::uint64_t size_bytes = kGiB;          ///< a multiple of logical_block_bytes
  std::uint32_t logical_block_bytes = 512;  ///< power of two, 512 to 65536; the atomic sector
  unsigned channels = 16;                   ///< requests served at the same time, 1 to 1024
  std::uint64_t read_ns = 70 * kNsPerUs;    ///< base service times
  std::uint64_t write_ns = 15 * kNsPerUs;
  std::uint64_t trim_ns = 50 * kNsPerUs;
  std::uint64_t flush_ns = 500 * kNsPerUs;
  std::uint64_t bytes_per_second = 250 * kMiB;      ///< reads and writes, per server; 0: no limit
  std::uint64_t flush_bytes_per_second = 1 * kGiB;  ///< of dirty bytes, whole device; 0: no limit
  double jitter = 0.2;                              ///< 0 (exact) to 1 (exponential)
  std::uint64_t seed = 1;
  DelayConfig delay;        ///< added to each service time
  bool write_cache = true;  ///< volatile: what no flush has covered is lost in a crash
  /// Keeps a second image and a copy of every write that is not durable, so that crash() works.
  /// For tests: allocates per I/O.
  bool crashable = false;
};

/// data_sync is a flush: the model has no metadata to leave out.
inline bool is_flush(Op op) noexcept { return op == Op::flush || op == Op::data_sync; }

/// Error: names the field and what it may be.
inline Status check_model_config(const ModelConfig& config) {
  const std::uint64_t block = config.logical_block_bytes;
  if (block < 512 || block > 64 * kKiB || (block & (block - 1)) != 0) {
    return Error{EINVAL, "model: logical_block_bytes is " + std::to_string(block) +
                             "; it must be a power of two from 512 to 65536"};
  }
  if (config.size_bytes == 0 || config.size_bytes % block != 0) {
    return Error{EINVAL, "model: size_bytes is " + std::to_string(config.size_bytes) +
                             "; it must be a multiple of " + std::to_string(block) + " and not 0"};
  }
  if (config.channels < 1 || config.channels > 1024) {
    return Error{EINVAL, "model: channels is " + std::to_string(config.channels) +
                             "; it must be from 1 to 1024"};
  }
  if (!(config.jitter >= 0.0 && config.jitter <= 1.0)) {
    return Error{EINVAL,
                 "model: jitter is " + std::to_string(config.jitter) + "; it must be from 0 to 1"};
  }
  return Done{};
}

}  // namespace sluice
