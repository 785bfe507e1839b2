// DeviceSource: from the tunables to a device. Implemented in engine/devices, used by the stack.
#pragma once

#include <memory>

#include "scheduler/config/describe.h"
#include "scheduler/io/device.h"

namespace sluice {

/// A device and the way to open channels to its kind.
struct DeviceHandle {
  std::shared_ptr<Device> device;
  std::shared_ptr<ChannelFactory> channels;
};

/// Threads: any.
class DeviceSource {
 public:
  virtual ~DeviceSource() = default;
  virtual Result<DeviceHandle> open(const Tunables& tunables) = 0;
};

}  // namespace sluice
