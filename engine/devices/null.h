// null: a device that does nothing, as fast as can be. The bench of the stack's own overhead.
//
// A request completes with its whole length (flush and trim: 0) at the first poll() after its
// commit(), never inline: with inline completion one I/O at most would be in flight, and nothing
// above would ever queue. Buffers are not touched, no time is read.
#pragma once

#include "scheduler/io/device.h"

namespace sluice {

class NullDevice final : public Device {
 public:
  explicit NullDevice(DeviceLimits limits = {}) noexcept : limits_(limits) {}

  std::string_view kind() const noexcept override { return "null"; }
  const DeviceLimits& limits() const noexcept override { return limits_; }
  const DeviceCapabilities& capabilities() const noexcept override { return capabilities_; }

 private:
  DeviceLimits limits_;
  DeviceCapabilities capabilities_{
      .volatile_cache = false, .trim = true, .needs_file = false, .stores_data = false};
};

/// Channels that take `depth` requests and allocate nothing after open().
/// wait() returns at once when anything is in flight; else it sleeps until wake(), or returns at
/// once when it is not wakeable, as nothing could end it.
class NullChannelFactory final : public ChannelFactory {
 public:
  Result<std::unique_ptr<Channel>> open(const ChannelConfig& config, std::string& note) override;
};

}  // namespace sluice
