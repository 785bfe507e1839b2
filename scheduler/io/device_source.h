// DeviceSource: from the tunables to a device. Implemented in engine/devices, used by the stack.
#pragma once

#include <memory>
#include <string>

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
  /// `path` is the file's resolved name, which need not exist yet; empty where only the way to open
  /// channels is wanted.
  virtual Result<DeviceHandle> open(const Tunables& tunables, const std::string& path) = 0;
  /// Devices of equal text share their channels: a job can have I/O on many of them by one.
  virtual std::string channel_kind(const Tunables& tunables) const = 0;
};

}  // namespace sluice
