// Sighting: what an observer sees of an I/O that is at a device, while its owner goes on.
#pragma once

#include <optional>

#include "scheduler/io/request.h"

namespace sluice {

struct Sighting {
  std::uint32_t slot = 0;
  std::uint64_t issued_ns = 0;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  Op op = Op::read;
  IoClass io_class = IoClass::sync_read;
  Path path = Path::bypassed;
  const Target* target = nullptr;  ///< may be gone: not to be followed without the owner's leave
};

/// Threads: any. Nothing when no I/O is at a device by this request, when that was abandoned, or
/// when it ended during the look. All that is seen belongs to one I/O: a field of a later one was
/// written after issued_ns had changed, and whoever saw the field sees that.
inline std::optional<Sighting> sight(const Request& request) noexcept {
  Sighting seen;
  seen.issued_ns = request.issued_ns.load(std::memory_order_acquire);
  if (seen.issued_ns == 0 || request.abandoned.peek()) return std::nullopt;
  seen.slot = request.slot;
  seen.offset = request.offset.peek();
  seen.length = request.length.peek();
  seen.op = request.op.peek();
  seen.io_class = request.io_class.peek();
  seen.path = request.path.peek();
  seen.target = request.target.peek();
  if (request.issued_ns.load(std::memory_order_relaxed) != seen.issued_ns) return std::nullopt;
  return seen;
}

}  // namespace sluice
