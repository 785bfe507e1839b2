#include "engine/devices/decorator.h"

#include <algorithm>

#include "scheduler/base/check.h"

namespace sluice {
namespace {

std::uint64_t later(std::uint64_t now_ns, std::uint64_t by_ns) {
  return by_ns < Channel::kForever - now_ns ? now_ns + by_ns : Channel::kForever;
}

}  // namespace

Decorator::Decorator(std::unique_ptr<Channel> inner, const Clock& clock, unsigned depth)
    : inner_(std::move(inner)),
      clock_(clock),
      depth_(depth),
      before_(depth),
      after_(depth),
      done_(std::make_unique<Request*[]>(depth)) {}

bool Decorator::submit(Request& request) {
  if (in_flight_ == depth_) return false;
  ++in_flight_;
  const Before todo = before(request);
  if (todo.hold_ns == 0 && !todo.ends) {
    SLUICE_CHECK(inner_->submit(request));
    unpushed_ = inner_->unpushed();
    return true;
  }
  const Held held{later(clock_.now_ns(), todo.hold_ns), &request, todo.result, todo.ends};
  (todo.ends ? after_ : before_).insert(held);
  return true;
}

int Decorator::push() {
  const int status = inner_->unpushed() > 0 ? inner_->commit() : 0;
  unpushed_ = inner_->unpushed();
  return status;
}

int Decorator::commit() { return push(); }

void Decorator::advance(std::uint64_t now_ns) {
  while (!before_.empty() && before_[0].due_ns <= now_ns) {
    SLUICE_CHECK(inner_->submit(*before_.pop().request));
  }
  // On an error they stay staged; it comes again at the next commit().
  push();
  const unsigned count = inner_->poll(done_.get(), depth_);
  for (unsigned i = 0; i < count; ++i) {
    Request& request = *done_[i];
    after_.insert({later(now_ns, after(request, now_ns).hold_ns), &request});
  }
}

unsigned Decorator::poll(Request** ended, unsigned max) {
  if (in_flight_ == 0) return 0;
  const std::uint64_t now_ns = clock_.now_ns();
  advance(now_ns);
  unsigned count = 0;
  while (count < max && !after_.empty() && after_[0].due_ns <= now_ns) {
    const Held done = after_.pop();
    if (done.has_result) done.request->result = done.result;
    ended[count++] = done.request;
  }
  in_flight_ -= count;
  return count;
}

unsigned Decorator::ready(std::uint64_t now_ns, unsigned most) const noexcept {
  unsigned count = 0;
  while (count < std::min(most, after_.size()) && after_[count].due_ns <= now_ns) ++count;
  return count;
}

std::uint64_t Decorator::next_ns(unsigned want) const noexcept {
  const std::uint64_t before = before_.empty() ? kForever : before_[0].due_ns;
  const std::uint64_t after = after_.size() < want ? kForever : after_[want - 1].due_ns;
  return std::min(before, after);
}

int Decorator::wait_for(std::uint64_t timeout_ns, bool wakeable) {
  return wait_until(1, wakeable, later(clock_.now_ns(), timeout_ns));
}

int Decorator::wait_until(unsigned want, bool wakeable, std::uint64_t end_ns) {
  if (in_flight_ == 0 && !wakeable && end_ns == kForever) return 0;
  // With nothing in flight a timed wait, or one for a wake-up, waits for just that.
  want = std::clamp(wakeable ? 1 : want, 1U, std::max(in_flight_, 1U));
  while (true) {
    if (wakeable && woken_.exchange(false, std::memory_order_seq_cst)) return push();
    std::uint64_t now_ns = clock_.now_ns();
    // What is staged goes with the wait, in one call, if there is one.
    if (inner_->unpushed() == 0 || !after_.empty() || !before_.empty()) {
      advance(now_ns);
      now_ns = clock_.now_ns();
    }
    if (ready(now_ns, want) >= want || now_ns >= end_ns) return push();
    const std::uint64_t next = std::min(next_ns(want), end_ns);
    if (next != kForever && next < now_ns + kSpinNs + kSleepMinNs) {
      if (const int status = push(); status < 0) return status;
      continue;
    }
    const std::uint64_t sleep_ns = next == kForever ? kForever : next - now_ns - kSpinNs;
    // What is held for ever ends no wait of the device: only a wake-up or a signal does.
    const bool lonely = inner_->in_flight() == 0;
    const int status = inner_->wait_for(sleep_ns, wakeable || lonely);
    unpushed_ = inner_->unpushed();
    if (status < 0) return status;
  }
}

// The flag is ours: what the inner channel's wait ends with doesn't tell a wake-up from the rest.
void Decorator::wake() noexcept {
  woken_.store(true, std::memory_order_seq_cst);
  inner_->wake();
}

}  // namespace sluice
