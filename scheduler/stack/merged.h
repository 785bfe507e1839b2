// What the stack does with aggregates (io/parts.h): at their issue, at their end, and when they
// hang.
#pragma once

#include <cstdint>

#include "scheduler/io/parts.h"
#include "scheduler/queue/leaf_queue.h"

namespace sluice {

/// An aggregate goes to the device: each part but the head is seen to be there. `ahead` as the
/// head's.
void issue_parts(const Request& head, std::uint64_t now_ns, unsigned ahead);

/// An aggregate has ended, and its head's permission was given back. Parts that are finished, the
/// head too, go to their owners' mailboxes; the others enter their queues again, each alone, and
/// what that lets go is appended to out.others. Threads: whoever polled the head; the owner of a
/// finished part may end and free it before this returns.
void end_aggregate(Request& head, std::uint64_t found_ns, Grants& out);

/// Puts an ended request into its owner's mailbox. It has left the device, though the owner may not
/// hear of it for long. From here on the owner may end and free it.
void tell_owner(Request& request, std::uint64_t found_ns);

/// A request, or an aggregate with all its parts, hangs: it ends with -ETIMEDOUT for its owner, who
/// keeps slot and buffer for the device. A head stays one, so that it is known when it comes back
/// after all. Threads: whoever issued it.
void abandon(Request& head, std::uint64_t now_ns);

/// Whether whoever issued it shall abandon it: some owner's deadman said so.
bool is_condemned(const Request& head) noexcept;

/// What was abandoned came back: no part is at the device any more.
void forget_parts(const Request& head) noexcept;

}  // namespace sluice
