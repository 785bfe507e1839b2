#include "engine/devices/delay.h"

#include "scheduler/base/units.h"

namespace sluice {
namespace {

class DelayChannel final : public Decorator {
 public:
  DelayChannel(std::unique_ptr<Channel> inner, const Clock& clock, unsigned depth,
               const DelayConfig& config)
      : Decorator(std::move(inner), clock, depth), config_(config) {}

 private:
  Before before(const Request&) override { return {}; }

  After after(Request& request, std::uint64_t now_ns) override {
    const std::uint64_t issued_ns = request.issued_ns.load(std::memory_order_relaxed);
    const bool known = issued_ns != 0 && issued_ns < now_ns;
    return {.hold_ns = config_.added_ns(request.op, known ? now_ns - issued_ns : 0)};
  }

  const DelayConfig config_;
};

}  // namespace

DelayConfig delay_config(const Tunables& tunables) {
  return {.time_ns = tunables.delay_time_us * kNsPerUs,
          .percent = tunables.delay_percent,
          .ops = static_cast<enum sluice_delay_ops>(tunables.delay_ops)};
}

Result<std::unique_ptr<Channel>> DelayChannelFactory::open(const ChannelConfig& config,
                                                           std::string& note) {
  auto inner = inner_->open(config, note);
  if (!inner) return inner.error();
  return std::unique_ptr<Channel>(
      std::make_unique<DelayChannel>(std::move(inner.value()), clock_, config.depth, config_));
}

}  // namespace sluice
