#include "scheduler/stack/courier.h"

#include <algorithm>
#include <cerrno>
#include <string>

#include "scheduler/base/check.h"
#include "scheduler/stack/grants.h"
#include "scheduler/stack/leaf.h"
#include "scheduler/stack/mailbox.h"
#include "scheduler/stack/merged.h"

namespace sluice {

Courier::~Courier() {
  {
    const std::lock_guard lock(mutex_);
    SLUICE_CHECK(watched_.empty());
    stop_ = true;
    if (channel_) channel_->wake();
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Courier::prepare(unsigned mailboxes) {
  std::unique_lock lock(mutex_);
  // Both lists: they are swapped.
  visited_.wait(lock, [this] { return !visiting_; });
  watched_.reserve(mailboxes);
  visits_.reserve(mailboxes);
  if (mailboxes > 1 && !thread_.joinable()) thread_ = std::thread([this] { run(); });
}

void Courier::watch(Mailbox& mailbox) noexcept {
  if (mailbox.watched.exchange(true, std::memory_order_acq_rel)) return;
  const std::lock_guard lock(mutex_);
  watched_.push_back(&mailbox);
  if (channel_) channel_->wake();
  changed_.notify_one();
}

void Courier::forget(Mailbox& mailbox) {
  std::unique_lock lock(mutex_);
  visited_.wait(lock, [this] { return !visiting_; });
  std::erase(watched_, &mailbox);
  mailbox.watched.store(false, std::memory_order_release);
}

bool Courier::open_channel() {
  at_device_.reserve(kDepth);
  ChannelConfig config;
  config.depth = kDepth;
  config.register_files = false;
  config.aggregates = true;
  std::string note;
  auto opened = channels_->open(config, note);
  if (!opened) return false;
  const std::lock_guard lock(mutex_);
  channel_ = std::move(opened.value());
  return true;
}

void Courier::collect_overdue() {
  // Not under mutex_: deliver_grants() takes the mailbox's mutex first and ours second.
  {
    const std::lock_guard lock(mutex_);
    visits_.swap(watched_);
    visiting_ = true;
  }
  Grants freed;
  for (Mailbox* mailbox : visits_) {
    // Cleared first: a grant that arrives from now on is watched anew.
    mailbox->watched.store(false, std::memory_order_release);
    if (can_carry_) mailbox->take_grants(to_issue_);
    mailbox->reclaim(freed);
  }
  visits_.clear();
  // While the visits last, so that no owner of a seat in the list is gone.
  deliver_grants(freed);
  {
    const std::lock_guard lock(mutex_);
    visiting_ = false;
  }
  visited_.notify_all();
}

void Courier::issue() {
  while (!to_issue_.empty() && channel_->in_flight() < kDepth) {
    Request& request = to_issue_.front();
    to_issue_.pop_front();
    if (request.important) request.target->leaf->important_goes();
    const std::uint64_t now = clock_.now_ns();
    if (is_aggregate(request)) issue_parts(request, now, channel_->in_flight());
    request.state = RequestState::at_device;
    request.by_courier = true;
    request.ahead = static_cast<std::uint16_t>(channel_->in_flight());
    request.issued_ns.store(now, std::memory_order_release);
    SLUICE_CHECK(channel_->submit(request));
    at_device_.push_back(&request);
  }
}

void Courier::settle(Request** ended, unsigned count) {
  const std::uint64_t now = clock_.now_ns();
  for (unsigned i = 0; i < count; ++i) {
    Request& request = *ended[i];
    if (request.abandoned) [[unlikely]] {
      // The owners may have ended; their slots stay. They don't use these again.
      request.issued_ns.store(0, std::memory_order_relaxed);
      forget_parts(request);
      continue;
    }
    SLUICE_CHECK(request.state == RequestState::at_device);
    std::erase(at_device_, &request);
    Grants grants;
    Request* const one = &request;
    request.target->leaf->queue().leave(*request.target->seat, &one, 1, grants);
    grants.others.splice_after(grants.others.last(), grants.own);
    // From here on the owners may end and free what was found.
    if (is_aggregate(request)) {
      end_aggregate(request, now, grants);
    } else {
      tell_owner(request, now);
    }
    deliver_grants(grants);
  }
}

void Courier::carry_out_orders() noexcept {
  ordered_.store(true, std::memory_order_release);
  const std::lock_guard lock(mutex_);
  if (channel_) channel_->wake();
}

void Courier::abandon_condemned() {
  const std::uint64_t now = clock_.now_ns();
  for (std::size_t i = 0; i < at_device_.size();) {
    Request& request = *at_device_[i];
    if (!is_condemned(request)) {
      ++i;
      continue;
    }
    at_device_.erase(at_device_.begin() + static_cast<std::ptrdiff_t>(i));
    // The owner may close the file, whose number may then be that of another.
    kept_targets_.push_back(*request.target);
    kept_targets_.back().fd = -1;
    kept_targets_.back().fixed_slot = -1;
    request.target = &kept_targets_.back();
    abandon(request, now);
  }
}

void Courier::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const bool busy = (channel_ && channel_->in_flight() > 0) || !to_issue_.empty();
    if (watched_.empty() && !busy) {
      changed_.wait(lock);
      continue;
    }
    const bool overdue = !watched_.empty();
    lock.unlock();
    if (overdue) {
      sleep_ns(kGraceNs);
      collect_overdue();
    }
    if (!to_issue_.empty() && !channel_ && !open_channel()) {
      give_up_carrying();
    }
    if (channel_) carry();
    lock.lock();
  }
  // All owners have ended. What is left hangs, and its buffers stay.
  if (channel_ && channel_->in_flight() > 0) channel_->disown();
  // A channel is its thread's, to the end.
  channel_.reset();
}

void Courier::carry() {
  issue();
  if (ordered_.exchange(false, std::memory_order_acquire)) abandon_condemned();
  if (channel_->in_flight() > 0) channel_->wait(1, true);
  Request* ended[kDepth];
  settle(ended, channel_->poll(ended, kDepth));
}

// Without a channel of its own the courier can't carry; grants stay with their owners.
void Courier::give_up_carrying() {
  can_carry_ = false;
  Grants back;
  back.others.swap(to_issue_);
  deliver_grants(back);
}

}  // namespace sluice
