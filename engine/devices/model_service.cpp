#include "engine/devices/model_service.h"

#include <algorithm>
#include <cstddef>

namespace sluice {
namespace {

std::uint64_t transfer_ns(std::uint64_t bytes, std::uint64_t bytes_per_second) {
  if (bytes_per_second == 0) return 0;
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(bytes) * kNsPerSecond /
                                    bytes_per_second);
}

}  // namespace

ModelService::ModelService(const ModelConfig& config)
    : config_(config), prng_(config.seed), free_at_ns_(config.channels, 0) {}

std::uint64_t ModelService::admit(Op op, std::uint32_t length_bytes, std::uint64_t dirty_bytes,
                                  std::uint64_t now_ns) {
  if (is_flush(op) && !config_.write_cache) return now_ns;
  const std::lock_guard lock(mutex_);
  std::uint64_t service = service_ns(mean_ns(op, length_bytes, dirty_bytes));
  service += config_.delay.added_ns(op, service);
  if (is_flush(op)) {
    const std::uint64_t all_free = *std::max_element(free_at_ns_.begin(), free_at_ns_.end());
    const std::uint64_t due = std::max(now_ns, all_free) + service;
    std::fill(free_at_ns_.begin(), free_at_ns_.end(), due);
    busy_max_ = config_.channels;
    return due;
  }
  std::size_t first = 0;
  unsigned busy = 1;  // the one that is chosen here
  for (std::size_t i = 0; i < free_at_ns_.size(); ++i) {
    if (free_at_ns_[i] > now_ns) ++busy;
    if (free_at_ns_[i] < free_at_ns_[first]) first = i;
  }
  const std::uint64_t due = std::max(now_ns, free_at_ns_[first]) + service;
  free_at_ns_[first] = due;
  busy_max_ = std::max(busy_max_, std::min(busy, config_.channels));
  return due;
}

void ModelService::reset() {
  const std::lock_guard lock(mutex_);
  std::fill(free_at_ns_.begin(), free_at_ns_.end(), 0);
}

unsigned ModelService::busy_max() const {
  const std::lock_guard lock(mutex_);
  return busy_max_;
}

std::uint64_t ModelService::mean_ns(Op op, std::uint32_t length_bytes,
                                    std::uint64_t dirty_bytes) const {
  switch (op) {
    case Op::read: return config_.read_ns + transfer_ns(length_bytes, config_.bytes_per_second);
    case Op::write: return config_.write_ns + transfer_ns(length_bytes, config_.bytes_per_second);
    case Op::trim: return config_.trim_ns;
    case Op::flush:
    case Op::data_sync:
      return config_.flush_ns + transfer_ns(dirty_bytes, config_.flush_bytes_per_second);
  }
  return 0;
}

std::uint64_t ModelService::service_ns(std::uint64_t mean_ns) {
  if (config_.jitter == 0.0) return mean_ns;
  const double factor = 1.0 + config_.jitter * (exponential() - 1.0);
  return static_cast<std::uint64_t>(static_cast<double>(mean_ns) * factor);
}

// Von Neumann's method: comparisons only, so that every machine draws the same numbers, which
// std::log does not promise. Start at 0; draw a run of falling numbers; when its length is odd the
// answer is start + its first number, else add 1 to start and draw again.
double ModelService::exponential() {
  constexpr unsigned kRoundsMax = 60;  // not reached: one round in e fails
  double start = 0.0;
  for (unsigned round = 0; round < kRoundsMax; ++round, start += 1.0) {
    const double first = prng_.unit();
    double last = first;
    unsigned length = 1;
    for (double next = prng_.unit(); next < last; next = prng_.unit()) {
      last = next;
      ++length;
    }
    if (length % 2 == 1) return start + first;
  }
  return start;
}

}  // namespace sluice
