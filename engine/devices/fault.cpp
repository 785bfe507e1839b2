#include "engine/devices/fault.h"

#include <algorithm>

#include "scheduler/base/check.h"

namespace sluice {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): a number from a number, so that no generator is shared.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

class FaultChannel final : public Decorator {
 public:
  FaultChannel(std::unique_ptr<Channel> inner, const Clock& clock, unsigned depth,
               FaultState& state)
      : Decorator(std::move(inner), clock, depth),
        state_(state),
        depth_(depth),
        marked_(std::make_unique<Marked[]>(depth)) {}

 private:
  struct Marked {
    const Request* request;
    const FaultRule* rule;
  };

  Before before(const Request& request) override {
    const FaultRule* const rule = state_.next(request.op);
    if (rule == nullptr) return {};
    switch (rule->action) {
      case FaultRule::Action::swallow: return {.hold_ns = rule->for_ns};
      case FaultRule::Action::fail: return {.ends = true, .result = -rule->error};
      default: break;
    }
    SLUICE_CHECK(marked_count_ < depth_);
    marked_[marked_count_++] = {&request, rule};
    return {};
  }

  After after(Request& request, std::uint64_t) override {
    Marked* const end = marked_.get() + marked_count_;
    Marked* const found = std::find_if(
        marked_.get(), end, [&](const Marked& marked) { return marked.request == &request; });
    if (found == end) return {};
    const FaultRule& rule = *found->rule;
    *found = marked_[--marked_count_];
    if (rule.action == FaultRule::Action::delay) return {.hold_ns = rule.for_ns};
    if (request.op <= Op::write && request.result > static_cast<std::int32_t>(rule.bytes)) {
      request.result = static_cast<std::int32_t>(rule.bytes);
    }
    return {};
  }

  FaultState& state_;
  const unsigned depth_;
  const std::unique_ptr<Marked[]> marked_;  ///< at the device, to be delayed or shortened after it
  unsigned marked_count_ = 0;
};

}  // namespace

FaultState::FaultState(FaultPlan plan, std::uint64_t seed)
    : plan_(std::move(plan)),
      seed_(seed),
      counts_(std::make_unique<std::atomic<std::uint64_t>[]>(plan_.size())) {}

const FaultRule* FaultState::next(Op op) noexcept {
  const FaultRule* met = nullptr;
  // Every rule counts what it admits, also when another one decides.
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    if (!plan_[i].admits(op)) continue;
    const std::uint64_t count = counts_[i].fetch_add(1, std::memory_order_relaxed) + 1;
    const std::uint64_t draw = mix(seed_ ^ mix(i ^ mix(count)));
    if (met == nullptr && plan_[i].meets(count, static_cast<double>(draw >> 11) * 0x1.0p-53)) {
      met = &plan_[i];
    }
  }
  return met;
}

Result<std::unique_ptr<Channel>> FaultChannelFactory::open(const ChannelConfig& config,
                                                           std::string& note) {
  auto inner = inner_->open(config, note);
  if (!inner) return inner.error();
  return std::unique_ptr<Channel>(
      std::make_unique<FaultChannel>(std::move(inner.value()), clock_, config.depth, state_));
}

}  // namespace sluice
