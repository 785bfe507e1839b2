// WakeEvent: what the owner of a channel without a kernel ring sleeps on.
#pragma once

#include <atomic>
#include <cstdint>

#include "scheduler/base/result.h"

namespace sluice {

/// Threads: wake() from any, and from signal handlers; the rest by the owner.
/// A wake() is never lost: it ends the sleep under way or the next one. Several may count as one.
class WakeEvent {
 public:
  static constexpr std::uint64_t kForever = ~std::uint64_t{0};
  enum class Ended : std::uint8_t { woken, timed_out, interrupted };

  WakeEvent() = default;
  ~WakeEvent();
  WakeEvent(const WakeEvent&) = delete;
  WakeEvent& operator=(const WakeEvent&) = delete;

  /// Before anything else. Error: no file descriptor to be had.
  Status open();

  /// A system call only when the owner sleeps.
  void wake() noexcept;

  /// Takes a wake() that came since the last sleep, without sleeping.
  bool take() noexcept { return pending_.exchange(false, std::memory_order_seq_cst); }

  /// Sleeps until wake(), a signal or `timeout_ns` from now.
  Ended sleep(std::uint64_t timeout_ns) noexcept;

 private:
  int event_fd_ = -1;
  std::atomic<bool> pending_{false};   ///< somebody called wake()
  std::atomic<bool> sleeping_{false};  ///< wake() has to write to event_fd_
};

}  // namespace sluice
