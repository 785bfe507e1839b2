#include "engine/devices/model.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>

#include "engine/devices/due_queue.h"
#include "engine/devices/wake_event.h"
#include "scheduler/io/parts.h"

namespace sluice {
namespace {

struct InFlight {
  std::uint64_t due_ns = 0;
  Request* request = nullptr;
  ModelStore::Ticket ticket;
};

ModelDevice& device_of(const Request& request) {
  return static_cast<ModelDevice&>(*request.target->device);
}

class ModelChannel final : public Channel {
 public:
  ModelChannel(unsigned depth, const Clock& clock, ModelChannelFactory::SleepUntil sleep_until)
      : depth_(depth),
        clock_(clock),
        sleep_until_(std::move(sleep_until)),
        staged_(std::make_unique<Request*[]>(depth)),
        at_device_(depth) {}

  Status open() { return wake_event_.open(); }

  void attach(Target&) override {}
  void detach(Target&) override {}

  bool submit(Request& request) override {
    if (in_flight_ == depth_) return false;
    staged_[unpushed_++] = &request;
    ++in_flight_;
    return true;
  }

  int commit() override {
    if (unpushed_ == 0) return 0;
    const std::uint64_t now_ns = clock_.now_ns();
    for (unsigned i = 0; i < unpushed_; ++i) admit(*staged_[i], now_ns);
    counters_.commits.add(1);
    unpushed_ = 0;
    return 0;
  }

  unsigned poll(Request** ended, unsigned max) override {
    if (at_device_.empty()) return 0;
    const std::uint64_t now_ns = clock_.now_ns();
    unsigned count = 0;
    while (count < max && !at_device_.empty() && at_device_[0].due_ns <= now_ns) {
      const InFlight done = at_device_.pop();
      done.request->result = device_of(*done.request).store().finish(*done.request, done.ticket);
      ended[count++] = done.request;
    }
    in_flight_ -= count;
    return count;
  }

  int wait(unsigned want, bool wakeable) override {
    commit();
    if (want == 0) return 0;
    if (at_device_.empty()) return wakeable ? sleep_for(WakeEvent::kForever) : 0;
    return sleep_until_due(at_device_[std::min(want, at_device_.size()) - 1]);
  }

  int wait_for(std::uint64_t timeout_ns, bool) override {
    commit();
    const std::uint64_t now_ns = clock_.now_ns();
    const std::uint64_t end_ns = timeout_ns < kForever - now_ns ? now_ns + timeout_ns : kForever;
    if (!at_device_.empty() && at_device_[0].due_ns <= end_ns)
      return sleep_until_due(at_device_[0]);
    return end_ns == kForever ? sleep_for(WakeEvent::kForever) : sleep_until(end_ns);
  }

  void wake() noexcept override { wake_event_.wake(); }

 private:
  void admit(Request& request, std::uint64_t now_ns) {
    ModelDevice& device = device_of(request);
    const std::uint64_t dirty_bytes = is_flush(request.op) ? device.store().take_dirty() : 0;
    const ModelStore::Ticket ticket = device.store().begin(request);
    const std::uint64_t due_ns =
        device.service().admit(request.op, span(request).length, dirty_bytes, now_ns);
    at_device_.insert({.due_ns = due_ns, .request = &request, .ticket = ticket});
  }

  int sleep_until_due(const InFlight& first) {
    if (clock_.now_ns() >= first.due_ns) return 0;
    const int status = sleep_until(first.due_ns);
    const DelayConfig& delay = device_of(*first.request).service().delay();
    if (delay.percent == 0 || !delay.covers(first.request->op)) return status;
    // The timer is late, which is device time to whoever waits: it too is N % longer. So a device
    // that is N % slower is just that where service times are short against the lateness.
    const std::uint64_t now_ns = clock_.now_ns();
    if (now_ns > first.due_ns) spin_until(now_ns + delay.percent_of(now_ns - first.due_ns));
    return status;
  }

  void spin_until(std::uint64_t end_ns) {
    while (!sleep_until_ && clock_.now_ns() < end_ns) {
    }
  }

  int sleep_until(std::uint64_t due_ns) {
    std::uint64_t now_ns = clock_.now_ns();
    if (now_ns >= due_ns) return 0;
    counters_.waits.add(1);
    // A timer may end early by the clock's reckoning, so look again.
    for (; now_ns < due_ns; now_ns = clock_.now_ns()) {
      if (sleep_until_) {
        if (wake_event_.take()) return 0;
        sleep_until_(due_ns);
        continue;
      }
      const auto ended = wake_event_.sleep(due_ns - now_ns);
      if (ended == WakeEvent::Ended::interrupted) return -EINTR;
      if (ended == WakeEvent::Ended::woken) return 0;
    }
    return 0;
  }

  int sleep_for(std::uint64_t timeout_ns) {
    counters_.waits.add(1);
    const auto ended = wake_event_.sleep(timeout_ns);
    return ended == WakeEvent::Ended::interrupted ? -EINTR : 0;
  }

  const unsigned depth_;
  const Clock& clock_;
  const ModelChannelFactory::SleepUntil sleep_until_;
  const std::unique_ptr<Request*[]> staged_;
  DueQueue<InFlight> at_device_;
  WakeEvent wake_event_;
};

}  // namespace

ModelDevice::ModelDevice(const ModelConfig& config, std::unique_ptr<ModelStore> store)
    : limits_{.size_bytes = config.size_bytes, .logical_block_bytes = config.logical_block_bytes},
      capabilities_{.volatile_cache = config.write_cache,
                    .trim = true,
                    .needs_file = false,
                    .stores_data = true},
      service_(config),
      store_(std::move(store)) {}

Result<std::unique_ptr<ModelDevice>> ModelDevice::open(const ModelConfig& config) {
  Result<std::unique_ptr<ModelStore>> store = ModelStore::open(config);
  if (!store) return store.error();
  return std::unique_ptr<ModelDevice>(new ModelDevice(config, std::move(store.value())));
}

void ModelDevice::crash(Prng& prng) {
  store_->crash(prng);
  service_.reset();
}

Result<std::unique_ptr<Channel>> ModelChannelFactory::open(const ChannelConfig& config,
                                                           std::string&) {
  if (config.depth == 0) return Error{EINVAL, "model: depth is 0; it must be at least 1"};
  auto channel = std::make_unique<ModelChannel>(config.depth, clock_, sleep_until_);
  if (Status opened = channel->open(); !opened) return opened.error();
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  return std::unique_ptr<Channel>(std::move(channel));
}

}  // namespace sluice
