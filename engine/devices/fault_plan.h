// The plan of fault=: which I/O goes wrong, and how.
//
//   plan   = rule { "+" rule }            the first rule that an I/O meets decides
//   rule   = action ":" item { "," item }
//   action = "swallow"   the device gets it after for= only; without for=, never
//          | "delay"     its completion comes for= later
//          | "fail"      it ends with errno= (EIO) and never reaches the device
//          | "short"     the device does it, but tells of bytes= at most (reads and writes)
//   item   = "nth=" N    the Nth I/O, once           one of these three:
//          | "every=" N  every Nth                    I/O that the rule's op= admits is counted,
//          | "p=" X      each with probability X      over all jobs and files with this plan
//          | "op=" ("read" | "write" | "trim" | "flush")     only those; default: all
//          | "for=" TIME     us, ms, s; bare numbers are microseconds, as everywhere in fio
//          | "errno=" NAME   such as EIO
//          | "bytes=" N      k, m: powers of 1024
//
// fio takes ';' and '#' for the start of a comment, hence the '+'.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "scheduler/base/result.h"
#include "scheduler/io/request.h"

namespace sluice {

struct FaultRule {
  enum class Action : std::uint8_t { swallow, delay, fail, shorten };
  enum class Pick : std::uint8_t { none, nth, every, chance };
  static constexpr std::uint64_t kForever = ~std::uint64_t{0};

  Action action = Action::swallow;
  Pick pick = Pick::none;
  std::uint64_t number = 0;  ///< of nth and every
  double chance = 0.0;
  bool any_op = true;
  Op op = Op::read;  ///< flush: data_sync too
  std::uint64_t for_ns = kForever;
  int error = 0;  ///< positive errno
  std::uint32_t bytes = 0;

  bool admits(Op request) const noexcept {
    return any_op || op == (request == Op::data_sync ? Op::flush : request);
  }
  /// Whether it meets the `count`th I/O that it admits; count >= 1. `draw` is uniform in [0, 1).
  bool meets(std::uint64_t count, double draw) const noexcept;
};

using FaultPlan = std::vector<FaultRule>;

/// The error names the word that is wrong and what is allowed in its place.
Result<FaultPlan> parse_fault_plan(std::string_view text);

}  // namespace sluice
