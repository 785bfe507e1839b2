// model: a device in memory that takes its time as a drive does, and forgets as a drive does.
//
// Service times: model_service.h. What a crash may do: model_crash.h. Requests past the end and
// off the sector grid: model_store.h.
//
// A request's due time is computed when it is committed. poll() finds it once the clock has reached
// that time, in due order within a channel, and only then moves its data: a write is visible, and
// dirty, from the moment that its completion is returned. Late polling delays completions but never
// the device, whose schedule is set already.
#pragma once

#include <functional>

#include "engine/devices/model_config.h"
#include "engine/devices/model_service.h"
#include "engine/devices/model_store.h"
#include "scheduler/base/clock.h"
#include "scheduler/io/device.h"

namespace sluice {

/// Threads: any, crash() apart.
class ModelDevice final : public Device {
 public:
  /// Error: a bad configuration, or no memory for it.
  static Result<std::unique_ptr<ModelDevice>> open(const ModelConfig& config);

  std::string_view kind() const noexcept override { return "model"; }
  const DeviceLimits& limits() const noexcept override { return limits_; }
  const DeviceCapabilities& capabilities() const noexcept override { return capabilities_; }

  /// Cuts the power and restores it: unflushed data meets its fate, servers are free. I/O in
  /// flight ends with -EIO at its due time, if its channel still polls. Requires
  /// ModelConfig::crashable; not during any call to a channel.
  void crash(Prng& prng);

  /// For tests and reports.
  unsigned servers_busy_max() const { return service_.busy_max(); }
  std::uint64_t dirty_bytes() const noexcept { return store_->dirty_bytes(); }

  /// For channels.
  ModelService& service() noexcept { return service_; }
  ModelStore& store() noexcept { return *store_; }

 private:
  ModelDevice(const ModelConfig& config, std::unique_ptr<ModelStore> store);

  const DeviceLimits limits_;
  const DeviceCapabilities capabilities_;
  ModelService service_;
  const std::unique_ptr<ModelStore> store_;
};

/// Channels to any number of model devices, one clock for all. Nothing is allocated after open()
/// unless a device is crashable.
///
/// open() is called by the thread that will use the channel, and sets that thread's timer slack to
/// 1 ns: with the kernel's default of 50 us every wait would end so much after its due time.
///
/// wait() returns at once when nothing is in flight and it is not wakeable, as nothing could end
/// it; and asks for no more completions than there are requests in flight.
class ModelChannelFactory final : public ChannelFactory {
 public:
  /// Replaces sleeping until the time given, on a clock that does not pass by itself (it would
  /// call SimClock::advance_to). Called by the waiting thread.
  using SleepUntil = std::function<void(std::uint64_t due_ns)>;

  /// `clock` outlives the channels.
  explicit ModelChannelFactory(const Clock& clock, SleepUntil sleep_until = {})
      : clock_(clock), sleep_until_(std::move(sleep_until)) {}

  Result<std::unique_ptr<Channel>> open(const ChannelConfig& config, std::string& note) override;

 private:
  const Clock& clock_;
  SleepUntil sleep_until_;
};

}  // namespace sluice
