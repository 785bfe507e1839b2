// uring: files and block devices by io_uring.
//
// Registered files and buffers, one submission per batch, completions taken in user space; set-up
// flags are tried best first and dropped one by one where the kernel doesn't know them. A wait and
// a push are one system call. The ring for flushes and trims that IOPOLL needs comes with polling.
#pragma once

#include <linux/fs.h>

#include <memory>

#include "scheduler/io/device.h"

namespace sluice {

/// What is behind an open fd; the channel needs nothing else of it. Threads: any (immutable).
class UringDevice final : public Device {
 public:
  UringDevice(DeviceLimits limits, DeviceCapabilities capabilities)
      : limits_(limits), capabilities_(capabilities) {}
  std::string_view kind() const noexcept override { return "uring"; }
  const DeviceLimits& limits() const noexcept override { return limits_; }
  const DeviceCapabilities& capabilities() const noexcept override { return capabilities_; }

 private:
  DeviceLimits limits_;
  DeviceCapabilities capabilities_;
};

class UringChannelFactory final : public ChannelFactory {
 public:
  Result<std::unique_ptr<Channel>> open(const ChannelConfig& config, std::string& note) override;
};

/// Whether this process may use io_uring at all; the error names the sysctl or says what to do.
Status probe_io_uring();

}  // namespace sluice
