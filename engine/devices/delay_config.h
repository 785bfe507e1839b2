// DelayConfig: the tunables delay_*. What they do: delay.h.
#pragma once

#include <cstdint>

#include "scheduler/config/describe.h"
#include "scheduler/io/request.h"

namespace sluice {

struct DelayConfig {
  std::uint64_t time_ns = 0;  ///< added to each I/O
  unsigned percent = 0;       ///< of its device time, added too
  enum sluice_delay_ops ops = SLUICE_delay_ops_all;

  bool any() const noexcept { return time_ns != 0 || percent != 0; }
  bool covers(Op op) const noexcept {
    return ops == SLUICE_delay_ops_all || (ops == SLUICE_delay_ops_read && op == Op::read) ||
           (ops == SLUICE_delay_ops_write && op == Op::write);
  }
  /// What an I/O that takes `device_ns` takes longer.
  std::uint64_t added_ns(Op op, std::uint64_t device_ns) const noexcept {
    return covers(op) ? time_ns + percent_of(device_ns) : 0;
  }
  std::uint64_t percent_of(std::uint64_t time) const noexcept { return time * percent / 100; }
};

DelayConfig delay_config(const Tunables& tunables);

}  // namespace sluice
