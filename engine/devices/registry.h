// Registry: from the tunable `device` to a device.
#pragma once

#include "scheduler/base/clock.h"
#include "scheduler/io/device_source.h"

namespace sluice {

/// Threads: any. `clock` outlives it and all that it made.
class DeviceRegistry final : public DeviceSource {
 public:
  explicit DeviceRegistry(const Clock& clock) : clock_(clock) {}
  Result<DeviceHandle> open(const Tunables& tunables) override;

 private:
  const Clock& clock_;
};

}  // namespace sluice
