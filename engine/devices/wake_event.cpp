#include "engine/devices/wake_event.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "scheduler/base/units.h"

namespace sluice {

WakeEvent::~WakeEvent() {
  if (event_fd_ >= 0) ::close(event_fd_);
}

Status WakeEvent::open() {
  SLUICE_CHECK(event_fd_ < 0);
  event_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event_fd_ >= 0) return Done{};
  const int code = errno;
  return Error{code, std::string("eventfd: ") + std::strerror(code) +
                         "; raise the limit on open files (ulimit -n)"};
}

// Either the owner sees pending_ after it set sleeping_, or the waker sees sleeping_ after it set
// pending_: the four accesses have one order, so that not both can miss.
void WakeEvent::wake() noexcept {
  pending_.store(true, std::memory_order_seq_cst);
  if (!sleeping_.load(std::memory_order_seq_cst)) return;
  const int saved_errno = errno;  // in a signal handler it is somebody else's
  const std::uint64_t one = 1;
  // Fails only when the count is full, and then the event is set already.
  [[maybe_unused]] const ssize_t written = ::write(event_fd_, &one, sizeof one);
  errno = saved_errno;
}

WakeEvent::Ended WakeEvent::sleep(std::uint64_t timeout_ns) noexcept {
  sleeping_.store(true, std::memory_order_seq_cst);
  if (take()) {
    sleeping_.store(false, std::memory_order_relaxed);
    return Ended::woken;
  }
  pollfd event{event_fd_, POLLIN, 0};
  const timespec timeout{static_cast<time_t>(timeout_ns / kNsPerSecond),
                         static_cast<long>(timeout_ns % kNsPerSecond)};
  const int ready = ::ppoll(&event, 1, timeout_ns == kForever ? nullptr : &timeout, nullptr);
  sleeping_.store(false, std::memory_order_relaxed);
  if (ready > 0) {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(event_fd_, &count, sizeof count);
  }
  // A waker that was held up between its two steps leaves the event set for a later sleep, which
  // then ends early: allowed, and rare.
  if (take() || ready > 0) return Ended::woken;
  return ready == 0 ? Ended::timed_out : Ended::interrupted;
}

}  // namespace sluice
