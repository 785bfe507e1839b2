#include "engine/devices/fault_plan.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "scheduler/base/units.h"

namespace sluice {
namespace {

using Action = FaultRule::Action;
using Pick = FaultRule::Pick;

Error wrong(std::string_view word, const std::string& allowed) {
  return {EINVAL, "fault: '" + std::string(word) + "' is not possible; allowed: " + allowed};
}

/// Takes what is before `separator` off the front of `text`.
std::string_view next(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view word = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return word;
}

struct Suffix {
  std::string_view name;
  std::uint64_t factor;
};
constexpr Suffix kTimes[] = {
    {"", kNsPerUs}, {"us", kNsPerUs}, {"ms", kNsPerMs}, {"s", kNsPerSecond}};
constexpr Suffix kSizes[] = {{"", 1}, {"k", kKiB}, {"m", kMiB}};
constexpr Suffix kPlain[] = {{"", 1}};

template <std::size_t n>
std::optional<std::uint64_t> number(std::string_view text, const Suffix (&suffixes)[n]) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const Suffix& suffix : suffixes) {
    if (suffix.name != rest) continue;
    if (value > std::numeric_limits<std::uint64_t>::max() / suffix.factor) return std::nullopt;
    return value * suffix.factor;
  }
  return std::nullopt;
}

std::optional<int> errno_of(std::string_view text) {
  constexpr int kLast = 133;
  for (int code = 1; code <= kLast; ++code) {
    const char* const known = ::strerrorname_np(code);
    if (known != nullptr && text == known) return code;
  }
  return std::nullopt;
}

std::optional<Action> action_of(std::string_view word) {
  if (word == "swallow") return Action::swallow;
  if (word == "delay") return Action::delay;
  if (word == "fail") return Action::fail;
  if (word == "short") return Action::shorten;
  return std::nullopt;
}

/// The item that belongs to one action, if that has any.
std::string_view own_key(Action action) {
  switch (action) {
    case Action::swallow:
    case Action::delay: return "for";
    case Action::fail: return "errno";
    case Action::shorten: return "bytes";
  }
  return {};
}

Status set_pick(FaultRule& rule, std::string_view item, std::string_view key,
                std::string_view value) {
  if (rule.pick != Pick::none) return wrong(item, "one of nth, every, p in a rule");
  if (key == "p") {
    double chance = 0.0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), chance);
    const bool whole = error == std::errc{} && end == value.data() + value.size();
    if (!whole || !(chance >= 0.0 && chance <= 1.0)) return wrong(item, "p=0 to p=1");
    rule.pick = Pick::chance;
    rule.chance = chance;
    return Done{};
  }
  const auto count = number(value, kPlain);
  if (!count || *count == 0) return wrong(item, std::string(key) + "= a number from 1 on");
  rule.pick = key == "nth" ? Pick::nth : Pick::every;
  rule.number = *count;
  return Done{};
}

Status set_op(FaultRule& rule, std::string_view item, std::string_view value) {
  rule.any_op = false;
  if (value == "read") {
    rule.op = Op::read;
  } else if (value == "write") {
    rule.op = Op::write;
  } else if (value == "trim") {
    rule.op = Op::trim;
  } else if (value == "flush") {
    rule.op = Op::flush;
  } else {
    return wrong(item, "op=read, op=write, op=trim, op=flush");
  }
  return Done{};
}

Status set_own(FaultRule& rule, std::string_view item, std::string_view value) {
  if (rule.action == Action::fail) {
    const auto code = errno_of(value);
    if (!code) return wrong(item, "errno= a name such as EIO, ENOSPC, ETIMEDOUT");
    rule.error = *code;
  } else if (rule.action == Action::shorten) {
    const auto bytes = number(value, kSizes);
    if (!bytes || *bytes > std::numeric_limits<std::int32_t>::max()) {
      return wrong(item, "bytes= a size below 2g");
    }
    rule.bytes = static_cast<std::uint32_t>(*bytes);
  } else {
    const auto time = number(value, kTimes);
    if (!time) return wrong(item, "for= a time such as 20ms");
    rule.for_ns = *time;
  }
  return Done{};
}

Status set_item(FaultRule& rule, std::string_view item) {
  std::string_view value = item;
  const std::string_view key = next(value, '=');
  if (key == "nth" || key == "every" || key == "p") return set_pick(rule, item, key, value);
  if (key == "op") return set_op(rule, item, value);
  if (key == own_key(rule.action)) return set_own(rule, item, value);
  return wrong(item, "nth=, every=, p=, op=, " + std::string(own_key(rule.action)) + "=");
}

Result<FaultRule> parse_rule(std::string_view text) {
  std::string_view items = text;
  const std::string_view word = next(items, ':');
  const auto action = action_of(word);
  if (!action) return wrong(word, "swallow, delay, fail, short");
  FaultRule rule;
  rule.action = *action;
  rule.error = EIO;
  while (!items.empty()) {
    if (Status set = set_item(rule, next(items, ',')); !set) return set.error();
  }
  if (rule.pick == Pick::none) {
    return wrong(text, "a rule with nth=, every= or p=, such as " + std::string(word) + ":nth=100");
  }
  if (rule.action == Action::delay && rule.for_ns == FaultRule::kForever) {
    return wrong(text, "delay with for=, such as delay:p=0.01,for=20ms");
  }
  return rule;
}

}  // namespace

bool FaultRule::meets(std::uint64_t count, double draw) const noexcept {
  switch (pick) {
    case Pick::nth: return count == number;
    case Pick::every: return count % number == 0;
    case Pick::chance: return draw < chance;
    case Pick::none: break;
  }
  return false;
}

Result<FaultPlan> parse_fault_plan(std::string_view text) {
  FaultPlan plan;
  do {
    auto rule = parse_rule(next(text, '+'));
    if (!rule) return rule.error();
    plan.push_back(rule.value());
  } while (!text.empty());
  return plan;
}

}  // namespace sluice
