// Aggregates: several requests that wait for one device, done as one larger I/O.
//
// One request is the head: it was granted, holds the permission (in its own class), goes to the
// device on its owner's channel with its own file, and comes back from poll(). Its first_part
// begins the list of all parts, the head among them, by ascending offset, linked by next_part;
// parts don't overlap, and reads may leave gaps between them. Parts may belong to other sessions.
//
// What a channel does with a request whose first_part is set: one vectored I/O over the span, with
// the buffers of gather(). The kernel copies the vector when it takes the entry. `result` of the
// head is that of the whole span.
//
// What the stack does with it:
//   - At the issue: state, path and issued_ns of every part as of the head: each is visible to
//     whoever looks at I/O in flight. Only the head holds a permission.
//   - At the end: it gives the head's permission back, takes the aggregate apart with
//   settle_parts()
//     and tells every part's owner: through the owner's mailbox, as for what the courier carried,
//     since owners reap in threads of their own.
//   - A part that wasn't transferred whole is `unfinished`: an error or a short transfer somewhere
//   in
//     the span isn't this request's result. It enters its queue again, `alone`, and gets a result
//     of its own. So merging never changes what a user sees: the last block before the end of a
//     file, a bad sector. (OpenZFS does the same: parts fail with their aggregate, and their
//     retries carry DONT_AGGREGATE.)
#pragma once

#include <sys/uio.h>

#include <cstdint>

#include "scheduler/io/request.h"

namespace sluice {

/// Most parts of an aggregate. Each needs an entry of the vector, and so does each gap; the kernel
/// takes 1024.
inline constexpr unsigned kMaxParts = 256;
inline constexpr unsigned kMaxVector = 2 * kMaxParts - 1;
/// Largest gap between two parts: the bound of the tunable read_gap_limit.
inline constexpr std::uint32_t kMaxGapBytes = 1 << 20;

inline bool is_aggregate(const Request& request) noexcept { return request.first_part != nullptr; }

/// What goes to the device. For a request that is no aggregate: its own extent.
struct Span {
  std::uint64_t offset = 0;  ///< bytes
  std::uint32_t length = 0;  ///< bytes
  unsigned parts = 1;
  std::uint32_t gap_bytes = 0;  ///< of length: read for nobody
};
Span span(const Request& head) noexcept;

/// Calls `body` with each part by ascending offset; with the request itself if it is no aggregate.
template <typename Body>
void for_each_part(const Request& head, Body body) {
  if (!is_aggregate(head)) {
    body(head);
    return;
  }
  for (const Request* part = head.first_part; part != nullptr; part = part->next_part) body(*part);
}

/// Fills `vector`, which has room for kMaxVector, with the buffers of the parts. Gaps are read into
/// `scrap`, which holds the largest gap and may serve any number of I/Os at once: nobody reads it.
/// Returns the number of entries.
unsigned gather(const Request& head, void* scrap, iovec* vector) noexcept;

/// Takes an ended aggregate apart: unlinks the parts (which are no aggregate from then on), sets
/// their results and calls `finished` for those that were transferred whole, `unfinished`, with
/// `alone` set, for the others. Either may end the request, also the head.
template <typename Finished, typename Unfinished>
void settle_parts(Request& head, Finished finished, Unfinished unfinished) {
  Request* part = head.first_part;
  const std::uint64_t from = part->offset;
  const std::uint64_t to = from + static_cast<std::uint64_t>(head.result > 0 ? head.result : 0);
  head.first_part = nullptr;
  while (part != nullptr) {
    Request& request = *part;
    part = request.next_part;
    request.next_part = nullptr;
    if (request.offset + request.length <= to) {
      request.result = static_cast<std::int32_t>(request.length);
      finished(request);
    } else {
      request.alone = true;
      unfinished(request);
    }
  }
}

}  // namespace sluice
