// What a session does with I/O that hangs: tell fio that it timed out, and keep all that the device
// may still touch, since block I/O in flight can't be cancelled.
//
// The slot stays with the device, and fio's io_u goes on with a spare one; so does the buffer. The
// queue's permission stays taken, as the device still has the I/O, until it comes after all, the
// job ends, or the job has had nothing else at a device for deadman_ms: a limit of 1 would stop it
// for ever. When it comes, slot and buffer serve again.
#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "scheduler/base/check.h"
#include "scheduler/base/units.h"
#include "scheduler/stack/grants.h"
#include "scheduler/stack/merged.h"
#include "scheduler/stack/nudge.h"
#include "scheduler/stack/session.h"

namespace sluice {

namespace {
bool holds_permission(const Request& request) noexcept {
  return request.path == Path::queued || request.path == Path::leased;
}
}  // namespace

DeadmanLimits Session::deadman_limits() const noexcept {
  const Tunables& tunables = config_.tunables;
  return {.deadman_ns = tunables.deadman_ms * kNsPerMs,
          .check_ns = tunables.deadman_check_ms * kNsPerMs,
          .cancel = tunables.deadman_action == SLUICE_deadman_action_cancel};
}

std::string Session::path_of(const Sighting& seen) const {
  const std::lock_guard lock(files_mutex_);
  for (const auto* list : {&files_, &kept_files_}) {
    for (const auto& file : *list) {
      if (&file->target == seen.target) return file->target.leaf->path();
    }
  }
  return {};
}

void Session::condemn(const Sighting& seen) {
  requests_[seen.slot].condemned_ns.store(seen.issued_ns, std::memory_order_relaxed);
  ordered_.store(true, std::memory_order_release);
}

void Session::unblock() {
  bool held = false;
  {
    const std::lock_guard lock(files_mutex_);
    for (const auto& file : files_) held |= file->target.leaf->abandoned() > 0;
  }
  if (!held) return;
  unblock_.store(true, std::memory_order_relaxed);
  mailbox_.poke();
}

bool Session::prod() {
  if (!ordered_.load(std::memory_order_relaxed)) return false;
  bool here = false;
  bool carried = false;
  for (const Request& request : slots()) {
    const std::uint64_t condemned = request.condemned_ns.load(std::memory_order_relaxed);
    const auto seen = condemned == 0 ? std::nullopt : sight(request);
    if (!seen || seen->issued_ns != condemned) continue;
    (request.by_courier.peek() ? carried : here) = true;
  }
  if (carried) courier_.carry_out_orders();
  if (here) {
    mailbox_.poke();
    nudge(thread_);
  }
  if (!here && !carried) ordered_.store(false, std::memory_order_relaxed);
  return here || carried;
}

void Session::carry_out_orders(unsigned room, std::uint64_t now_ns) {
  for (unsigned i = 0; i < slot_count_; ++i) {
    Request& request = requests_[i];
    const std::uint64_t condemned = request.condemned_ns.load(std::memory_order_relaxed);
    if (condemned == 0 || request.abandoned) continue;
    // Whatever the courier issues is marked before it has a time of issue.
    const bool there = request.issued_ns.load(std::memory_order_acquire) == condemned;
    if (!there || request.by_courier) continue;
    if (is_aggregate(request)) {
      // Its owners hear of it as of what ended. The permission stays with the head.
      ++waiting_;
      abandon(request, now_ns);
      continue;
    }
    if (room == 0) {
      mailbox_.poke();  // again at the next reap
      return;
    }
    --room;
    SLUICE_CHECK(request.state == RequestState::at_device);
    request.result = -ETIMEDOUT;
    last_ns_ = now_ns;
    record_rare(request, condemned, now_ns);
    if (request.path != Path::bypassed) ++queued_[static_cast<unsigned>(request.io_class)];
    request.abandoned = true;
    account_abandoned(request);
    ended_[ended_count_++] = &request;
  }
}

void Session::account_abandoned(Request& request) {
  request.state = RequestState::abandoned;
  ++abandoned_;
  stats_->cancelled.add(1);
  if (holds_permission(request)) request.target->leaf->abandon(1);
}

unsigned Session::drop_late(Request** ended, unsigned count, unsigned which, std::uint64_t now_ns) {
  Request& request = *ended[which];
  SLUICE_CHECK(request.state == RequestState::at_device ||
               request.state == RequestState::abandoned);
  std::move(ended + which + 1, ended + count, ended + which);
  request.state = RequestState::idle;
  request.issued_ns.store(0, std::memory_order_relaxed);
  request.abandoned = false;
  --abandoned_;
  stats_->late.add(1);
  release_permission(request, now_ns);
  const auto replaced = std::find_if(replaced_.begin(), replaced_.end(),
                                     [&](const Replaced& r) { return r.slot == request.slot; });
  if (replaced != replaced_.end()) {
    spare_slots_.push_back(replaced->slot);
    idle_buffers_.push_back(replaced->buffer);
    replaced_.erase(replaced);
  }
  return count - 1;
}

// As what the courier carried: the slots are not used again.
void Session::drop_late_aggregate(Request& head, std::uint64_t now_ns) {
  forget_parts(head);
  head.first_part = nullptr;
  stats_->late.add(1);
  // Told, but not heard yet: what is accounted for then has no permission any more.
  if (head.state == RequestState::found) head.target->leaf->abandon(1);
  release_permission(head, now_ns);
}

void Session::release_permission(Request& request, std::uint64_t now_ns) {
  if (!holds_permission(request)) return;
  request.target->leaf->abandon(-1);
  give_back_now(request, now_ns);
  request.path = Path::bypassed;
}

void Session::give_back_now(Request& request, std::uint64_t now_ns) {
  Target& target = *request.target;
  if (request.busy) target.leaf->busy(-1);
  request.busy = false;
  Grants grants;
  const auto c = static_cast<unsigned>(request.io_class);
  if (request.path == Path::queued) {
    Request* const one = &request;
    target.leaf->queue().leave(*target.seat, &one, 1, grants);
  } else if (!target.seat->put(c)) {
    target.leaf->queue().left(*target.seat, c, grants);
  }
  issue_list(grants.own, now_ns);
  deliver_grants(grants);
}

void Session::release_permissions() {
  if (abandoned_ == 0) return;
  const std::uint64_t now = now_ns();
  for (unsigned i = 0; i < slot_count_; ++i) {
    if (requests_[i].abandoned) release_permission(requests_[i], now);
  }
}

std::optional<Session::Replacement> Session::replace(unsigned slot, void* buffer) {
  SLUICE_CHECK(requests_[slot].state == RequestState::abandoned);
  if (spare_slots_.empty()) return std::nullopt;
  if (idle_buffers_.empty()) {
    constexpr std::size_t kPage = 4096;
    const std::size_t bytes = (config_.buffer_unit_bytes + kPage - 1) / kPage * kPage;
    void* const made = std::aligned_alloc(kPage, bytes);
    if (made == nullptr) return std::nullopt;
    spare_buffers_.emplace_back(static_cast<std::byte*>(made));
    idle_buffers_.push_back(made);
  }
  const Replacement out{spare_slots_.back(), idle_buffers_.back()};
  spare_slots_.pop_back();
  idle_buffers_.pop_back();
  replaced_.push_back({slot, buffer});
  return out;
}

void Session::refuse(Request& request) {
  request.result = -ETIMEDOUT;
  refused_.push_back(&request);
  mailbox_.poke();
}

void Session::end_refused(unsigned room, std::uint64_t now_ns) {
  for (; !refused_.empty(); --room) {
    if (room == 0) {
      mailbox_.poke();
      return;
    }
    Request& request = *refused_.back();
    refused_.pop_back();
    if (is_aggregate(request)) {  // its parts try again, each alone
      take_apart(request, now_ns);
      continue;
    }
    request.issued_ns.store(0, std::memory_order_relaxed);
    record_rare(request, request.arrived_ns, now_ns);
    if (request.path != Path::bypassed) {
      ++queued_[static_cast<unsigned>(request.io_class)];
      give_back_now(request, now_ns);
    }
    ended_[ended_count_++] = &request;
  }
}

bool Session::hangs_on(const Target& target) const noexcept {
  if (abandoned_ == 0) return false;
  const auto all = slots();
  return std::any_of(all.begin(), all.end(), [&](const Request& request) {
    return request.abandoned && request.target->seat == target.seat;
  });
}

void Session::bury() {
  SLUICE_CHECK(outstanding_ == 0);
  // The jobs that come later are not to be starved by what nobody waits for.
  release_permissions();
  for (const auto* list : {&files_, &kept_files_}) {
    for (const auto& file : *list) close(*file);
  }
  courier_.forget(mailbox_);
  buried_ = true;
}

}  // namespace sluice
