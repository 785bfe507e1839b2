#include "scheduler/stack/courier.h"

#include <algorithm>
#include <cerrno>
#include <string>

#include "scheduler/base/check.h"
#include "scheduler/stack/grants.h"
#include "scheduler/stack/leaf.h"
#include "scheduler/stack/mailbox.h"

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
  ChannelConfig config;
  config.depth = kDepth;
  config.register_files = false;
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
  for (Mailbox* mailbox : visits_) {
    // Cleared first: a grant that arrives from now on is watched anew.
    mailbox->watched.store(false, std::memory_order_release);
    mailbox->take_grants(to_issue_);
  }
  visits_.clear();
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
    request.state = RequestState::at_device;
    request.issued_ns.store(clock_.now_ns(), std::memory_order_relaxed);
    SLUICE_CHECK(channel_->submit(request));
  }
}

void Courier::settle(Request** ended, unsigned count) {
  const std::uint64_t now = clock_.now_ns();
  for (unsigned i = 0; i < count; ++i) {
    Request& request = *ended[i];
    SLUICE_CHECK(request.state == RequestState::at_device);
    request.state = RequestState::found;
    request.carried_ns = request.issued_ns.load(std::memory_order_relaxed);
    request.found_ns = now;
    // It has left the device, though the owner may not hear of it for long.
    request.issued_ns.store(0, std::memory_order_relaxed);
    RequestList granted;
    request.target->leaf->queue().leave(&ended[i], 1, granted);
    // From here on the owner may end and free the request.
    RequestList found;
    found.push_back(request);
    request.owner->deliver_found(found);
    RequestList own;
    deliver_grants(granted, nullptr, own);
  }
}

void Courier::run() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stop_ || !watched_.empty(); });
  if (stop_) return;
  lock.unlock();
  // Without a channel of its own the courier can't help; the grants stay with their owners.
  if (!open_channel()) return;
  lock.lock();
  while (!stop_) {
    const bool busy = channel_->in_flight() > 0 || !to_issue_.empty();
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
    issue();
    if (channel_->in_flight() > 0) channel_->wait(1, true);
    Request* ended[kDepth];
    settle(ended, channel_->poll(ended, kDepth));
    lock.lock();
  }
  // A channel is its thread's, to the end.
  channel_.reset();
}

}  // namespace sluice
