// Decorator: a channel around another one that holds requests back, before the device sees them or
// after it is done, and may change what came of them. What is done to which request is the derived
// class's business: delay.h, fault.h.
//
// A held request is found when it is due, by polling or by a wait that ends then. The last
// microseconds of a hold are spun, since the kernel's timers are later than a hold may be long.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "engine/devices/due_queue.h"
#include "scheduler/base/clock.h"
#include "scheduler/io/device.h"

namespace sluice {

/// Threads: as Channel's. Allocates nothing after construction.
class Decorator : public Channel {
 public:
  /// `depth` as that of `inner`. `clock` outlives the channel.
  Decorator(std::unique_ptr<Channel> inner, const Clock& clock, unsigned depth);

  void attach(Target& target) override { inner_->attach(target); }
  void detach(Target& target) override { inner_->detach(target); }
  bool submit(Request& request) final;
  int commit() final;
  unsigned poll(Request** ended, unsigned max) final;
  int wait(unsigned want, bool wakeable) final { return wait_until(want, wakeable, kForever); }
  int wait_for(std::uint64_t timeout_ns, bool wakeable) final;
  void wake() noexcept final;
  void disown() noexcept final { inner_->disown(); }

  const ChannelCounters& counters() const noexcept final { return inner_->counters(); }
  std::uint64_t enters() const noexcept final { return inner_->enters(); }

 protected:
  /// What happens to a request before the device sees it.
  struct Before {
    std::uint64_t hold_ns = 0;  ///< kForever: the device never sees it
    bool ends = false;          ///< it ends after the hold, with `result`, without the device
    std::int32_t result = 0;
  };
  /// What happens when the device is done with it; request.result may be changed.
  struct After {
    std::uint64_t hold_ns = 0;
  };

 private:
  virtual Before before(const Request& request) = 0;
  virtual After after(Request& request, std::uint64_t now_ns) = 0;

  /// The last of a hold is spun: a timer of a virtual machine is about 60 us late.
  static constexpr std::uint64_t kSpinNs = 100'000;
  static constexpr std::uint64_t kSleepMinNs = 20'000;  ///< shorter is not worth a system call

  struct Held {
    std::uint64_t due_ns = 0;
    Request* request = nullptr;
    std::int32_t result = 0;
    bool has_result = false;
  };

  int wait_until(unsigned want, bool wakeable, std::uint64_t end_ns);
  /// Moves on what is due before the device, and takes in what the device has done.
  void advance(std::uint64_t now_ns);
  unsigned ready(std::uint64_t now_ns, unsigned most) const noexcept;
  /// When the next thing happens by itself that a wait for `want` is about.
  std::uint64_t next_ns(unsigned want) const noexcept;
  int push();

  const std::unique_ptr<Channel> inner_;
  const Clock& clock_;
  const unsigned depth_;
  DueQueue<Held> before_;  ///< the device hasn't seen them
  DueQueue<Held> after_;
  const std::unique_ptr<Request*[]> done_;  ///< scratch
  std::atomic<bool> woken_{false};
};

}  // namespace sluice
