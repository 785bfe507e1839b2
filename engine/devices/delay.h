// delay: a device that is slower than it is, by N us or N % of each I/O's device time. It injects a
// regression of known size: a harness that can't find it can't be trusted.
//
// On a model the service times grow: the servers are busy for longer, so throughput at full load
// falls as well, as it would with a slower drive. On every other kind the completion is held back
// (decorator.h): that is latency alone. A job whose throughput is depth / latency slows down by as
// much; one that already saturates its device doesn't.
#pragma once

#include "engine/devices/decorator.h"
#include "engine/devices/delay_config.h"

namespace sluice {

/// Channels to the devices of `inner`, whose completions they hold back. Device time is counted
/// from Request::issued_ns; where that is 0 it counts as none. `clock` outlives the channels.
class DelayChannelFactory final : public ChannelFactory {
 public:
  DelayChannelFactory(std::shared_ptr<ChannelFactory> inner, const Clock& clock,
                      const DelayConfig& config)
      : inner_(std::move(inner)), clock_(clock), config_(config) {}
  Result<std::unique_ptr<Channel>> open(const ChannelConfig& config, std::string& note) override;

 private:
  const std::shared_ptr<ChannelFactory> inner_;
  const Clock& clock_;
  const DelayConfig config_;
};

}  // namespace sluice
