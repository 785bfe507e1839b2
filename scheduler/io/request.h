// Request: one I/O on its way from fio to a device and back.
//
// Life: idle -> staged -> (waiting -> granted ->) at_device -> (found ->) idle. A request lives in
// a fixed slot of its session (fio's io_u index); nothing is allocated per I/O. It completes
// exactly once, with the bytes transferred or -errno; Session checks that, in release builds too.
#pragma once

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set_hook.hpp>
#include <boost/intrusive/slist.hpp>

#include <atomic>
#include <cstdint>

#include "scheduler/base/relaxed.h"
#include "scheduler/config/io_class.h"

namespace sluice {

class Device;
class Leaf;
class Mailbox;
class Seat;

enum class Op : std::uint8_t { read, write, flush, data_sync, trim };
inline constexpr unsigned kOps = 5;

enum class RequestState : std::uint8_t {
  idle,       ///< the slot is free, or its request is in the hands of reap()'s caller
  staged,     ///< taken from fio, not yet handed to the stack
  waiting,    ///< in the leaf's queue
  granted,    ///< may go to the device; in the owner's mailbox or about to be issued
  at_device,  ///< submitted
  found,      ///< completion seen by the courier, not yet by the owner
  abandoned,  ///< told to fio as timed out; the device may still do it, into its old buffer
};

/// What was done to a request decides how it completes, never what the mode is by then
/// (OpenZFS #16591: toggling the mode in flight).
enum class Path : std::uint8_t {
  bypassed,  ///< holds no permission of the queue
  queued,    ///< holds one of the queue: to be given back at completion
  leased,    ///< uses one that its seat holds
  merged,    ///< a part of an aggregate, whose head held one for all
};

/// A session's view of one open file. Owned by the session; stable while I/O is in flight on it.
struct Target {
  Leaf* leaf = nullptr;      ///< whose queue the I/O passes
  Seat* seat = nullptr;      ///< the session's place there
  Device* device = nullptr;  ///< where it ends
  int fd = -1;               ///< -1 for devices without files
  int fixed_slot = -1;       ///< index in the owner's ring of registered files, or -1
  /// How the file was opened, as far as it changes what an I/O does (O_DIRECT, O_DSYNC): requests
  /// of unlike modes are never merged. Set by Channel::attach(); means something to its kind only.
  unsigned mode = 0;
};

/// Threads: the owner's, except while a queue or the courier holds it (state waiting or granted;
/// hand-over is by the leaf's or the mailbox's mutex). Observers: sighting.h.
struct Request {
  // What fio asked for.
  void* buffer = nullptr;
  Relaxed<std::uint64_t> offset = 0;  ///< bytes
  Relaxed<std::uint32_t> length = 0;  ///< bytes
  Relaxed<Op> op = Op::read;
  Relaxed<IoClass> io_class = IoClass::sync_read;
  // Where it stands.
  RequestState state = RequestState::idle;
  Relaxed<Path> path = Path::bypassed;
  bool direct = false;     ///< O_DIRECT
  bool important = false;  ///< never bypasses in hybrid mode
  bool busy = false;       ///< counted by Leaf::busy()
  bool alone = false;  ///< never merged with others: a part of an aggregate that failed, done again
  Relaxed<bool> abandoned = false;   ///< as `state` says, for observers
  Relaxed<bool> by_courier = false;  ///< at the device on the courier's channel
  std::uint16_t ahead = 0;           ///< the job's own I/Os at the device when it was issued
  std::uint32_t slot = 0;            ///< index in the owner's array == fio's io_u->index
  std::int32_t result = 0;  ///< bytes, or -errno; valid from the end until the next submit()
  Relaxed<Target*> target = nullptr;
  Mailbox* owner = nullptr;

  std::uint64_t arrived_ns = 0;  ///< handed to the stack
  /// Handed to the device; 0 while it is not there. The in-flight table: an observer that scans
  /// the slots sees every I/O at a device with its age, bypassed or not, at no cost to the owner
  /// but a plain store.
  ///
  /// It is also the version of what an observer reads with it (sighting.h): the owner changes the
  /// Relaxed fields only while it is 0.
  std::atomic<std::uint64_t> issued_ns{0};
  // What the courier leaves for the owner, who may come much later.
  std::uint64_t carried_ns = 0;  ///< issued_ns as it was; by now it is 0 again
  std::uint64_t found_ns = 0;    ///< completion seen

  boost::intrusive::slist_member_hook<> link;

  // The parts of an aggregate (io/parts.h), from the grant to the completion. Null for all others.
  Request* first_part = nullptr;  ///< the head's only: the part at the lowest offset
  Request* next_part = nullptr;   ///< every part's: the next by offset

  // While it waits in a queue that sorts or merges; untouched by all others, hence at the end.
  using TreeHook = boost::intrusive::set_member_hook<boost::intrusive::optimize_size<true>>;
  std::uint64_t order_key = 0;                  ///< queue/waiting_line.h
  TreeHook line_link;                           ///< queue/waiting_line.h
  TreeHook offset_link;                         ///< queue/aggregate.h
  boost::intrusive::list_member_hook<> active;  ///< of the leaf's active list (queue=classic)

  // When it hangs.
  /// Equal to issued_ns: whoever issued it shall abandon it. Written by the overseer.
  std::atomic<std::uint64_t> condemned_ns{0};
};

/// FIFO of requests; O(1) splice; knows its size. Links live in the requests.
using RequestList = boost::intrusive::slist<
    Request,
    boost::intrusive::member_hook<Request, boost::intrusive::slist_member_hook<>, &Request::link>,
    boost::intrusive::cache_last<true>, boost::intrusive::constant_time_size<true>>;

}  // namespace sluice
