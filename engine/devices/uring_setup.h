// Setting up a ring: flags with fallback, registration of buffers, and errors a user can act on.
#pragma once

#include <liburing.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "scheduler/base/result.h"
#include "scheduler/io/device.h"
#include "scheduler/io/parts.h"

namespace sluice {

/// Opens `ring` with the most helpful flags that this kernel takes. 0 or -errno.
int open_ring(io_uring& ring, unsigned entries);

/// The line for a failed open_ring().
Error ring_error(int status);

/// I/O memory registered as a few equal chunks, none larger than the kernel takes (1 GiB), each a
/// multiple of the unit, so that no request's buffer crosses two.
struct RegisteredBuffers {
  char* base = nullptr;
  std::uint64_t bytes = 0;  ///< 0: nothing is registered
  std::uint64_t chunk_bytes = 0;
  bool single = false;  ///< one chunk: no division needed

  bool covers(const void* buffer, std::uint32_t length) const noexcept {
    const std::uint64_t offset = offset_of(buffer);
    return offset < bytes && length <= bytes - offset;
  }
  /// Index of the chunk that holds the range, or -1.
  int index(const void* buffer, std::uint32_t length) const noexcept {
    return covers(buffer, length) ? static_cast<int>(offset_of(buffer) / chunk_bytes) : -1;
  }

 private:
  std::uint64_t offset_of(const void* buffer) const noexcept {
    return static_cast<std::uint64_t>(static_cast<const char*>(buffer) - base);
  }
};

/// The vectors of aggregates, one an entry of the submission ring: the kernel copies it when it
/// takes the entry (IORING_FEAT_SUBMIT_STABLE, 5.5), so it is free again when the entry is. Memory
/// that is never used costs address space only.
class VectorArena {
 public:
  bool open(unsigned entries);
  /// Room for kMaxVector, of the entry with this index. Requires open().
  iovec* of(unsigned entry) const noexcept {
    return vectors_.get() + std::size_t{entry} * kMaxVector;
  }
  /// Where reads put what lies in a gap; holds the largest gap.
  void* scrap() const noexcept { return scrap_.get(); }

 private:
  struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };
  std::unique_ptr<iovec[], Free> vectors_;
  std::unique_ptr<void, Free> scrap_;
};

/// Registers what `config` names. Where the memory-lock limit or the kernel forbids it, nothing is
/// registered, I/O works all the same, and `note` says so.
RegisteredBuffers register_buffers(io_uring& ring, const ChannelConfig& config, std::string& note);

}  // namespace sluice
