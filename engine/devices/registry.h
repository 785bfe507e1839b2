// Registry: from the tunable `device`, and those of its decorators, to a device.
#pragma once

#include "scheduler/base/clock.h"
#include "scheduler/base/units.h"
#include "scheduler/io/device_source.h"

namespace sluice {

/// Threads: any. `clock` outlives it and all that it made.
class DeviceRegistry final : public DeviceSource {
 public:
  /// Of each file. Address space, not memory: pages come with the first write. Several hundred
  /// files fit into a process.
  static constexpr std::uint64_t kModelBytes = 256 * kGiB;

  /// `model_bytes` is for tests: under ThreadSanitizer there is no room for that much.
  explicit DeviceRegistry(const Clock& clock, std::uint64_t model_bytes = kModelBytes)
      : clock_(clock), model_bytes_(model_bytes) {}
  Result<DeviceHandle> open(const Tunables& tunables, const std::string& path) override;
  std::string channel_kind(const Tunables& tunables) const override;

 private:
  Result<DeviceHandle> open_kind(const Tunables& tunables, const std::string& path) const;

  const Clock& clock_;
  const std::uint64_t model_bytes_;
};

}  // namespace sluice
