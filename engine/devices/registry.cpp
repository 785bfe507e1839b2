#include "engine/devices/registry.h"

#include <cerrno>

#include "engine/devices/delay.h"
#include "engine/devices/fault.h"
#include "engine/devices/model.h"
#include "engine/devices/null.h"
#include "engine/devices/rotational.h"
#include "engine/devices/uring.h"
#include "scheduler/base/units.h"

namespace sluice {

namespace {

ModelConfig model_config(const Tunables& tunables, std::uint64_t size_bytes) {
  ModelConfig config;
  config.size_bytes = size_bytes;
  config.channels = tunables.model_channels;
  config.read_ns = tunables.model_read_time_us * kNsPerUs;
  config.write_ns = tunables.model_write_time_us * kNsPerUs;
  config.trim_ns = tunables.model_trim_time_us * kNsPerUs;
  config.flush_ns = tunables.model_flush_time_us * kNsPerUs;
  config.bytes_per_second = tunables.model_bandwidth;
  config.flush_bytes_per_second = tunables.model_flush_bandwidth;
  config.jitter = static_cast<double>(tunables.model_jitter) / 100.0;
  config.seed = tunables.model_seed;
  config.delay = delay_config(tunables);
  config.write_cache = tunables.model_write_cache != 0;
  return config;
}

}  // namespace

std::string DeviceRegistry::channel_kind(const Tunables& tunables) const {
  const DelayConfig delay = delay_config(tunables);
  std::string kind = std::to_string(tunables.device);
  if (delay.any()) {
    kind += " delay " + std::to_string(delay.time_ns) + " " + std::to_string(delay.percent) + " " +
            std::to_string(delay.ops);
  }
  if (tunables.fault != nullptr) {
    kind += " fault " + std::to_string(tunables.fault_seed) + " " + tunables.fault;
  }
  return kind;
}

Result<DeviceHandle> DeviceRegistry::open(const Tunables& tunables, const std::string& path) {
  auto handle = open_kind(tunables, path);
  if (!handle) return handle;
  const DelayConfig delay = delay_config(tunables);
  auto& channels = handle.value().channels;
  // A model's own service times grow instead.
  if (delay.any() && tunables.device != SLUICE_device_model) {
    channels = std::make_shared<DelayChannelFactory>(std::move(channels), clock_, delay);
  }
  if (tunables.fault != nullptr) {
    auto plan = parse_fault_plan(tunables.fault);
    if (!plan) return plan.error();
    channels = std::make_shared<FaultChannelFactory>(std::move(channels), clock_,
                                                     std::move(plan.value()), tunables.fault_seed);
  }
  return handle;
}

Result<DeviceHandle> DeviceRegistry::open_kind(const Tunables& tunables,
                                               const std::string& path) const {
  switch (tunables.device) {
    case SLUICE_device_auto: {
      // What else is behind the name is known to the fd; a file-backed device always needs its
      // flush.
      DeviceCapabilities capabilities;
      capabilities.rotational = is_rotational(path);
      return DeviceHandle{std::make_shared<UringDevice>(DeviceLimits{}, capabilities),
                          std::make_shared<UringChannelFactory>()};
    }
    case SLUICE_device_null:
      return DeviceHandle{std::make_shared<NullDevice>(), std::make_shared<NullChannelFactory>()};
    case SLUICE_device_model: {
      auto device = ModelDevice::open(model_config(tunables, model_bytes_));
      if (!device) return device.error();
      return DeviceHandle{std::move(device.value()), std::make_shared<ModelChannelFactory>(clock_)};
    }
    default: return Error{EINVAL, "device: no such kind"};
  }
}

}  // namespace sluice
