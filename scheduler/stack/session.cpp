#include "scheduler/stack/session.h"

#include <algorithm>
#include <bit>
#include <cerrno>

#include "scheduler/base/attributes.h"
#include "scheduler/base/check.h"
#include "scheduler/base/units.h"
#include "scheduler/stack/grants.h"
#include "scheduler/stack/merged.h"

namespace sluice {

namespace {

/// Room at the channel: beside fio's own for a few abandoned I/Os, as many as make the ring no
/// larger than it is anyway, which io_uring rounds up to a power of two, but some.
unsigned room_for(unsigned depth) {
  constexpr unsigned kMin = 4;
  constexpr unsigned kRingMax = 32768;  // the kernel's; one entry is for the wake-up
  const unsigned ring = std::min(std::bit_ceil(depth + kMin + 1), kRingMax);
  return std::max(depth, ring - 1);
}

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const SessionConfig& config, const Clock& clock,
                                               const DeviceHandle& device, Courier& courier,
                                               std::string& note) {
  ChannelConfig channel_config;
  channel_config.depth = room_for(config.depth);
  channel_config.files = config.files;
  channel_config.register_files = config.tunables.registerfiles != 0;
  channel_config.force_async = config.tunables.force_async;
  auto limits = queue_limits(config.tunables, true);
  channel_config.aggregates = limits.ok() && limits.value().aggregation.size_bytes > 1;
  if (config.tunables.fixedbufs != 0) {
    channel_config.buffers = config.buffers;
    channel_config.buffer_bytes = config.buffer_bytes;
    channel_config.buffer_unit_bytes = config.buffer_unit_bytes;
  }
  auto channel = device.channels->open(channel_config, note);
  if (!channel) return channel.error();
  return std::unique_ptr<Session>(new Session(config, clock, std::move(channel.value()), courier));
}

Session::Session(const SessionConfig& config, const Clock& clock, std::unique_ptr<Channel> channel,
                 Courier& courier)
    : config_(config),
      clock_(clock),
      tsc_(dynamic_cast<const TscClock*>(&clock)),
      courier_(courier),
      channel_(std::move(channel)),
      mailbox_(*channel_, courier),
      slot_count_(room_for(config.depth) + config.depth + kLostSlotsMax),
      requests_(std::make_unique<Request[]>(slot_count_)),
      staged_(config.depth),
      batch_(config.depth),
      ended_(config.depth),
      thread_(pthread_self()),
      slow_ns_(config.tunables.slow_io_ms == 0 ? Channel::kForever
                                               : config.tunables.slow_io_ms * kNsPerMs),
      tail_(config.tunables.tail_ios),
      trace_(config.tunables.trace == nullptr ? 0 : config.tunables.trace_ios),
      stats_(std::make_unique<JobStats>()) {
  files_.reserve(config.files);
  for (unsigned op = 0; op < kOps; ++op) {
    const IoClass io_class = class_of(static_cast<Op>(op));
    traits_[op] = {io_class, config.tunables.important != 0 || is_background(io_class)};
  }
  refused_.reserve(config.depth);
  for (unsigned i = slot_count_; i > config.depth; --i) spare_slots_.push_back(i - 1);
  for (unsigned i = 0; i < slot_count_; ++i) {
    requests_[i].slot = i;
    requests_[i].owner = &mailbox_;
    requests_[i].direct = config.direct;
  }
}

Session::~Session() {
  if (buried_) return;
  drain();
  for (const auto& file : files_) close(*file);
  courier_.forget(mailbox_);
}

void Session::drain() {
  if (staged_count_ > 0) commit(false);
  while (outstanding_ > 0) {
    if (reap(1, config_.depth) < 0) break;
  }
  SLUICE_CHECK(outstanding_ == 0);
}

Target& Session::open_file(Leaf& leaf, int fd) {
  auto file = std::make_unique<OpenFile>(leaf, mailbox_);
  file->target.leaf = &leaf;
  file->target.seat = &file->seat;
  file->target.device = &leaf.device();
  file->target.fd = fd;
  channel_->attach(file->target);
  leaf.queue().join(file->seat);
  const std::lock_guard lock(files_mutex_);
  files_.push_back(std::move(file));
  return files_.back()->target;
}

void Session::close_file(Target& target) {
  const auto file = std::find_if(files_.begin(), files_.end(),
                                 [&](const auto& owned) { return &owned->target == &target; });
  // What hangs may hold a permission of the seat.
  if (!hangs_on(target)) close(**file);
  channel_->detach(target);
  const std::lock_guard lock(files_mutex_);
  if (hangs_on(target)) [[unlikely]] {
    // Its number may soon be that of another file.
    target.fd = -1;
    kept_files_.push_back(std::move(*file));
  }
  files_.erase(file);
}

void Session::close(OpenFile& file) {
  Grants freed;
  file.target.leaf->queue().quit(file.seat, freed);
  deliver_grants(freed);
  mailbox_.forget(file.seat);
}

IoClass Session::class_of(Op op) const noexcept {
  if (op == Op::trim) return IoClass::trim;
  const unsigned chosen = config_.tunables.io_class;
  if (chosen != SLUICE_io_class_auto) {
    static_assert(SLUICE_io_class_sync_read == 1 + static_cast<int>(IoClass::sync_read));
    static_assert(SLUICE_io_class_rebuild == 1 + static_cast<int>(IoClass::rebuild));
    return static_cast<IoClass>(chosen - 1);
  }
  if (op == Op::read) return config_.direct ? IoClass::sync_read : IoClass::async_read;
  // Flushes are counted with the writes that they make durable.
  return config_.direct ? IoClass::sync_write : IoClass::async_write;
}

void Session::submit(unsigned slot, Op op, Target& target, void* buffer, std::uint32_t length,
                     std::uint64_t offset) {
  Request& request = requests_[slot];
  SLUICE_CHECK(request.state == RequestState::idle);
  request.buffer = buffer;
  request.offset = offset;
  request.length = length;
  request.op = op;
  request.io_class = traits_[static_cast<unsigned>(op)].io_class;
  request.important = traits_[static_cast<unsigned>(op)].important;
  request.target = &target;
  request.alone = false;
  request.state = RequestState::staged;
  staged_[staged_count_++] = &request;
}

inline void Session::issue(Request& request, std::uint64_t now_ns) {
  request.state = RequestState::at_device;
  request.ahead = static_cast<std::uint16_t>(channel_->in_flight());
  // After all that an observer reads with it.
  request.issued_ns.store(now_ns, std::memory_order_release);
  // It has room for all that fio may have in flight, unless abandoned requests fill it.
  if (!channel_->submit(request)) [[unlikely]]
    refuse(request);
}

int Session::commit(bool deferrable) {
  if (staged_count_ > 0) {
    const std::uint64_t now = now_ns();
    if (first_ns_ == 0) [[unlikely]]
      first_ns_ = now;
    outstanding_ += staged_count_;
    // fio's default is one I/O a batch (iodepth_batch=1).
    Request& first = *staged_[0];
    if (staged_count_ == 1 && first.target->leaf->bypasses(first)) {
      bypass_queue(first, now);
    } else {
      commit_batch(now);
    }
    staged_count_ = 0;
  }
  return deferrable || channel_->unpushed() == 0 ? 0 : channel_->commit();
}

inline void Session::bypass_queue(Request& request, std::uint64_t now) {
  request.arrived_ns = now;
  request.path = Path::bypassed;
  issue(request, now);
}

SLUICE_NOINLINE void Session::commit_batch(std::uint64_t now) {
  unsigned queued = 0;
  for (unsigned i = 0; i < staged_count_; ++i) {
    Request& request = *staged_[i];
    Leaf& leaf = *request.target->leaf;
    if (leaf.bypasses(request)) {
      bypass_queue(request, now);
      continue;
    }
    request.arrived_ns = now;
    if (leaf.counts_busy()) [[unlikely]] {
      request.busy = true;
      leaf.busy(1);
    }
    // With a permission at hand, and nobody of ours before it, it goes.
    Seat& seat = *request.target->seat;
    const auto c = static_cast<unsigned>(request.io_class);
    if (queued == 0 && seat.waiting[c].empty() && seat.take(c)) [[likely]] {
      request.path = Path::leased;
      seat.granted.add(1);
      issue(request, now);
    } else {
      batch_[queued++] = &request;
    }
  }
  if (queued > 0) enter_queues(queued, now);
}

SLUICE_NOINLINE void Session::enter_queues(unsigned count, std::uint64_t now_ns) {
  // Runs of one file enter together: nearly always all of them.
  unsigned from = 0;
  while (from < count) {
    Target& target = *batch_[from]->target;
    unsigned to = from;
    for (; to < count && batch_[to]->target == &target; ++to) {
      if (batch_[to]->important) [[unlikely]]
        target.leaf->important_waits();
    }
    const unsigned length = to - from;
    // Counted before: as soon as they are in, others may grant them.
    waiting_ += length;
    Grants grants;
    target.leaf->queue().enter(*target.seat, batch_.data() + from, length, grants);
    if (grants.own.size() < length) stats_->waited.add(length - grants.own.size());
    hand_out(grants, now_ns);
    from = to;
  }
}

void Session::issue_list(RequestList& list, std::uint64_t now_ns) {
  while (!list.empty()) {
    Request& request = list.front();
    list.pop_front();
    --waiting_;
    if (request.important) [[unlikely]]
      request.target->leaf->important_goes();
    if (is_aggregate(request)) [[unlikely]]
      issue_parts(request, now_ns, channel_->in_flight());
    issue(request, now_ns);
  }
}

SLUICE_COLD void Session::collect_mail(unsigned max) {
  const unsigned end = ended_count_ + max;
  RequestList granted;
  RequestList found;
  mailbox_.collect(granted, found, max);
  const std::uint64_t now = now_ns();
  stats_->granted_by_others.add(granted.size());
  issue_list(granted, now);
  while (Seat* seat = mailbox_.next_seat()) {
    Grants grants;
    seat->queue().collect(*seat, grants);
    stats_->granted_by_others.add(grants.own.size());
    hand_out(grants, now);
  }
  const bool unblock = unblock_.exchange(false, std::memory_order_relaxed);
  if (unblock) release_permissions();
  if (unblock || hurry_.load(std::memory_order_relaxed)) issue_waiting(now);
  while (!found.empty()) {
    Request& request = found.front();
    found.pop_front();
    --waiting_;
    request.by_courier = false;
    SLUICE_CHECK(request.state == RequestState::found);
    (request.path == Path::merged ? stats_->merged : stats_->carried).add(1);
    last_ns_ = now;
    // What was abandoned is busy until its permission is given back.
    if (!request.abandoned || request.path == Path::merged) end_busy(request);
    record(request, request.carried_ns, request.found_ns);
    if (request.abandoned) account_abandoned(request);
    stats_->classes[static_cast<unsigned>(request.io_class)].reap_ns.add(now - request.found_ns);
    ++queued_[static_cast<unsigned>(request.io_class)];
    ended_[ended_count_++] = &request;
  }
  // First those that are at no device, lest they be given up as well.
  if (!refused_.empty()) end_refused(end - ended_count_, now);
  if (ordered_.load(std::memory_order_acquire)) carry_out_orders(end - ended_count_, now);
}

SLUICE_COLD void Session::issue_waiting(std::uint64_t now_ns) {
  Grants grants;
  for (const auto& file : files_) file->seat.queue().withdraw(file->seat, grants);
  // They hold no permission, so they have none to give back.
  for (Request& request : grants.own) request.path = Path::bypassed;
  hand_out(grants, now_ns);
}

SLUICE_INLINE void Session::record(Request& request, std::uint64_t issued_ns,
                                   std::uint64_t found_ns) {
  // Here, not when fio is told: a device that returns it again is caught.
  request.state = RequestState::idle;
  ClassStats& stats = stats_->classes[static_cast<unsigned>(request.io_class)];
  if (stats.device_ns.add_marked(found_ns - issued_ns)) [[unlikely]]
    remark(request, stats, issued_ns, found_ns);
  // Mostly nothing: refresh_stats() adds the zeros.
  if (issued_ns != request.arrived_ns) {
    stats.queue_ns.add(issued_ns - request.arrived_ns);
    if (found_ns - request.arrived_ns >= tail_.mark_ns()) [[unlikely]]
      remark_waited(request, issued_ns, found_ns);
  }
  // Trims and flushes end with 0.
  if (static_cast<std::uint32_t>(request.result) == request.length) [[likely]] {
    stats.bytes.add(request.length);
  } else {
    record_odd(stats, request);
  }
  --outstanding_;
}

SLUICE_COLD void Session::remark(Request& request, ClassStats& stats, std::uint64_t issued_ns,
                                 std::uint64_t found_ns) {
  const std::uint64_t device_ns = found_ns - issued_ns;
  stats.device_ns.note_max(device_ns);
  if (device_ns >= slow_ns_) stats.slow_ios.add(1);
  const IoRecord record = io_record(request, issued_ns, found_ns);
  // Of those that waited the total counts, which is another's business.
  if (issued_ns == request.arrived_ns) tail_.offer(record);
  if (trace_.on()) trace_.add(record);
  const std::uint64_t mark = std::min({stats.device_ns.max() + 1, slow_ns_, tail_.mark_ns()});
  stats.device_ns.set_mark(trace_.on() ? 0 : mark);
}

SLUICE_COLD void Session::remark_waited(const Request& request, std::uint64_t issued_ns,
                                        std::uint64_t found_ns) {
  tail_.offer(io_record(request, issued_ns, found_ns));
}

IoRecord Session::io_record(const Request& request, std::uint64_t issued_ns,
                            std::uint64_t found_ns) const noexcept {
  return {.arrived_ns = request.arrived_ns,
          .issued_ns = issued_ns,
          .found_ns = found_ns,
          .told_ns = last_ns_,
          .offset = request.offset,
          .length = request.length,
          .ahead = request.ahead,
          .slot = request.slot,
          .result = request.result,
          .op = request.op,
          .io_class = request.io_class,
          .path = request.path,
          .leaf = request.target->leaf};
}

SLUICE_COLD void Session::record_rare(Request& request, std::uint64_t issued_ns,
                                      std::uint64_t found_ns) {
  record(request, issued_ns, found_ns);
}

SLUICE_NOINLINE void Session::record_odd(ClassStats& stats, const Request& request) {
  if (request.result < 0) {
    stats.errors.add(1);
  } else if (request.op <= Op::write) {
    stats.bytes.add(static_cast<std::uint64_t>(request.result));
    stats.short_transfers.add(1);
  } else if (request.op == Op::trim) {
    stats.bytes.add(request.length);
  }
}

SLUICE_INLINE unsigned Session::settle(Request** ended, unsigned count) {
  const std::uint64_t now = now_ns();
  last_ns_ = now;
  for (unsigned i = 0; i < count;) {
    Request& request = *ended[i];
    if (is_aggregate(request)) [[unlikely]] {
      take_apart(request, now);
      std::move(ended + i + 1, ended + count, ended + i);
      --count;
      continue;
    }
    if (request.state != RequestState::at_device) [[unlikely]] {
      count = drop_late(ended, count, i, now);
      continue;
    }
    ++i;
    const std::uint64_t issued = request.issued_ns.load(std::memory_order_relaxed);
    request.issued_ns.store(0, std::memory_order_relaxed);
    record(request, issued, now);
    if (request.path != Path::bypassed) give_back(request, now);
  }
  if (left_seat_ != nullptr) [[unlikely]]
    tell_left(now);
  if (queued_count_ > 0) leave_queues(queued_count_, now);
  return count;
}

SLUICE_COLD void Session::take_apart(Request& head, std::uint64_t now_ns) {
  if (head.abandoned) {
    drop_late_aggregate(head, now_ns);
    return;
  }
  SLUICE_CHECK(head.state == RequestState::at_device);
  ++waiting_;  // for its place in the mailbox
  Request* const one = &head;
  Grants grants;
  head.target->leaf->queue().leave(*head.target->seat, &one, 1, grants);
  end_aggregate(head, now_ns, grants);
  hand_out(grants, now_ns);
}

inline void Session::end_busy(Request& request) {
  if (request.busy) [[unlikely]] {
    request.busy = false;
    request.target->leaf->busy(-1);
  }
}

inline void Session::give_back(Request& request, std::uint64_t now_ns) {
  ++queued_[static_cast<unsigned>(request.io_class)];
  end_busy(request);
  if (request.path == Path::queued) {
    // batch_ is free here: nothing is on its way into the queue during a reap.
    batch_[queued_count_++] = &request;
    return;
  }
  Seat& seat = *request.target->seat;
  const auto c = static_cast<unsigned>(request.io_class);
  if (seat.put(c)) [[likely]]
    return;
  // Once for all that end together.
  if (left_seat_ != nullptr && (left_seat_ != &seat || left_class_ != c)) tell_left(now_ns);
  left_seat_ = &seat;
  left_class_ = c;
}

SLUICE_NOINLINE void Session::tell_left(std::uint64_t now_ns) {
  Grants grants;
  left_seat_->queue().left(*left_seat_, left_class_, grants);
  left_seat_ = nullptr;
  hand_out(grants, now_ns);
}

SLUICE_NOINLINE void Session::leave_queues(unsigned count, std::uint64_t now_ns) {
  unsigned from = 0;
  while (from < count) {
    Target& target = *batch_[from]->target;
    unsigned to = from;
    while (to < count && batch_[to]->target == &target) ++to;
    Grants grants;
    target.leaf->queue().leave(*target.seat, batch_.data() + from, to - from, grants);
    hand_out(grants, now_ns);
    from = to;
  }
  queued_count_ = 0;
}

inline void Session::hand_out(Grants& grants, std::uint64_t now_ns) {
  issue_list(grants.own, now_ns);
  if (!grants.others.empty() || !grants.seats.empty()) [[unlikely]]
    deliver_grants(grants);
}

inline int Session::wait(unsigned missing) {
  if (waiting_ > 0) [[unlikely]]
    return wait_for_grant();
  return channel_->wait(missing, false);
}

SLUICE_NOINLINE int Session::wait_for_grant() {
  int status = 0;
  // For one, however many are missing: the permission of the first to end may let another go, of
  // ours or of somebody else.
  if (mailbox_.fall_asleep()) status = channel_->wait(1, true);
  mailbox_.awake();
  return status;
}

int Session::reap(unsigned min, unsigned max) {
  // With entries unpushed and something to wait for, pushing and waiting come first: one call. If
  // nothing will block, what was deferred must go now.
  if (channel_->unpushed() > 0) {
    const int status = min > 0 ? wait(min) : channel_->commit();
    if (status < 0 && status != -EINTR) [[unlikely]]
      return status;
  }
  unsigned found = channel_->poll(ended_.data(), max);
  if (found > 0) found = settle(ended_.data(), found);
  ended_count_ = found;
  if (found < min || mailbox_.pending() || channel_->unpushed() > 0) [[unlikely]] {
    return reap_more(min, max);
  }
  return static_cast<int>(found);
}

SLUICE_NOINLINE int Session::reap_more(unsigned min, unsigned max) {
  while (true) {
    if (mailbox_.pending()) collect_mail(max - ended_count_);
    if (ended_count_ >= min) break;
    SLUICE_CHECK(outstanding_ > 0);  // waiting for nothing would be for ever
    const int status = wait(min - ended_count_);
    // What has ended is told first, or fio would miss it for ever; the error comes again.
    if (status < 0 && status != -EINTR) return ended_count_ > 0 ? told() : status;
    Request** const room = ended_.data() + ended_count_;
    unsigned found = channel_->poll(room, max - ended_count_);
    if (found > 0) found = settle(room, found);
    ended_count_ += found;
  }
  // Grants that this reap issued must not wait for fio's next call.
  if (channel_->unpushed() > 0) {
    const int status = channel_->commit();
    if (status < 0 && ended_count_ == 0) return status;
  }
  return told();
}

void Session::refresh_stats() {
  const ChannelCounters& counters = channel_->counters();
  stats_->commits.set(counters.commits.load());
  stats_->enters.set(channel_->enters());
  stats_->waits.set(counters.waits.load());
  stats_->unregistered.set(counters.unregistered.load());
  const ThreadCpu cpu = thread_cpu();
  stats_->cpu_user_ns.set(cpu.user_ns);
  stats_->cpu_system_ns.set(cpu.system_ns);
  stats_->elapsed_ns.set(last_ns_ > first_ns_ ? last_ns_ - first_ns_ : 0);
  // Little's law without its limit: the integral of a number in a place over time is the sum of
  // the times that each spent there.
  std::uint64_t queue_sum = 0;
  std::uint64_t device_sum = 0;
  for (ClassStats& c : stats_->classes) {
    c.ops.set(c.device_ns.count());
    c.queued.set(queued_[static_cast<std::size_t>(&c - stats_->classes.data())]);
    c.queue_ns.add(0, c.ops.load() - c.queue_ns.count());
    c.reap_ns.add(0, c.ops.load() - c.reap_ns.count());
    queue_sum += c.queue_ns.sum();
    device_sum += c.device_ns.sum();
  }
  stats_->queue_integral_ns.set(queue_sum);
  stats_->depth_integral_ns.set(device_sum);
}

}  // namespace sluice
