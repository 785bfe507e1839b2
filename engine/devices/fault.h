// fault: a device that goes wrong by a plan (fault_plan.h), to see whether what is above notices.
//
// A swallowed I/O isn't given to the device until its time has come. So a late one moves its data
// late, as a drive may that comes back: into a buffer that somebody else could be using by then.
#pragma once

#include <atomic>

#include "engine/devices/decorator.h"
#include "engine/devices/fault_plan.h"

namespace sluice {

/// A plan with its counts. Threads: any.
class FaultState {
 public:
  FaultState(FaultPlan plan, std::uint64_t seed);

  /// Counts an I/O; the rule that it meets, or null. The same seed and order give the same answers.
  const FaultRule* next(Op op) noexcept;

 private:
  const FaultPlan plan_;
  const std::uint64_t seed_;
  const std::unique_ptr<std::atomic<std::uint64_t>[]> counts_;  ///< one a rule
};

/// Channels to the devices of `inner` that share one state. `clock` outlives them.
class FaultChannelFactory final : public ChannelFactory {
 public:
  FaultChannelFactory(std::shared_ptr<ChannelFactory> inner, const Clock& clock, FaultPlan plan,
                      std::uint64_t seed)
      : inner_(std::move(inner)), clock_(clock), state_(std::move(plan), seed) {}
  Result<std::unique_ptr<Channel>> open(const ChannelConfig& config, std::string& note) override;

 private:
  const std::shared_ptr<ChannelFactory> inner_;
  const Clock& clock_;
  FaultState state_;  ///< outlives the channels: whoever holds them holds the factory
};

}  // namespace sluice
