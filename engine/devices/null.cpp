#include "engine/devices/null.h"

#include <algorithm>
#include <bit>
#include <cerrno>

#include "engine/devices/wake_event.h"
#include "scheduler/io/parts.h"

namespace sluice {
namespace {

/// One ring; three positions that only grow: polled_ <= committed_ <= submitted_.
class NullChannel final : public Channel {
 public:
  explicit NullChannel(unsigned depth)
      : depth_(depth),
        mask_(std::bit_ceil(depth) - 1),
        ring_(std::make_unique<Request*[]>(std::size_t{mask_} + 1)) {}

  Status open() { return wake_event_.open(); }

  void attach(Target&) override {}
  void detach(Target&) override {}

  bool submit(Request& request) override {
    if (in_flight_ == depth_) return false;
    ring_[submitted_++ & mask_] = &request;
    ++unpushed_;
    ++in_flight_;
    return true;
  }

  int commit() override {
    if (unpushed_ == 0) return 0;
    counters_.commits.add(1);
    committed_ = submitted_;
    unpushed_ = 0;
    return 0;
  }

  unsigned poll(Request** ended, unsigned max) override {
    const unsigned count = std::min(max, committed_ - polled_);
    for (unsigned i = 0; i < count; ++i) {
      Request* const request = ring_[polled_++ & mask_];
      const bool transfers = request->op == Op::read || request->op == Op::write;
      request->result = transfers ? static_cast<std::int32_t>(request->length) : 0;
      if (is_aggregate(*request)) [[unlikely]]
        request->result = static_cast<std::int32_t>(span(*request).length);
      ended[i] = request;
    }
    in_flight_ -= count;
    return count;
  }

  int wait(unsigned want, bool wakeable) override {
    commit();
    if (want == 0 || polled_ != committed_ || !wakeable) return 0;
    counters_.waits.add(1);
    const auto ended = wake_event_.sleep(WakeEvent::kForever);
    return ended == WakeEvent::Ended::interrupted ? -EINTR : 0;
  }

  int wait_for(std::uint64_t timeout_ns, bool) override {
    commit();
    if (polled_ != committed_) return 0;
    counters_.waits.add(1);
    const auto ended = wake_event_.sleep(timeout_ns);
    return ended == WakeEvent::Ended::interrupted ? -EINTR : 0;
  }

  void wake() noexcept override { wake_event_.wake(); }

 private:
  // Unsigned 32-bit positions wrap, their differences do not: depth_ is far below 2^32.
  unsigned submitted_ = 0;
  unsigned committed_ = 0;
  unsigned polled_ = 0;
  const unsigned depth_;
  const unsigned mask_;
  const std::unique_ptr<Request*[]> ring_;
  WakeEvent wake_event_;
};

}  // namespace

Result<std::unique_ptr<Channel>> NullChannelFactory::open(const ChannelConfig& config,
                                                          std::string&) {
  if (config.depth == 0) return Error{EINVAL, "null: depth is 0; it must be at least 1"};
  auto channel = std::make_unique<NullChannel>(config.depth);
  if (Status opened = channel->open(); !opened) return opened.error();
  return std::unique_ptr<Channel>(std::move(channel));
}

}  // namespace sluice
