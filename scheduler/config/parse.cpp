// set_tunable(): text to value by fio's rules (parse.c of fio: k, m, g, t are powers of 1024; times
// are microseconds unless a suffix says otherwise).
#include <cctype>
#include <cerrno>
#include <charconv>
#include <limits>
#include <optional>

#include "scheduler/config/describe.h"

namespace sluice {

namespace detail {
void store_tunable(const TunableRow& row, Tunables& tunables, std::uint64_t value);
void store_text(const TunableRow& row, Tunables& tunables, const char* value);
}  // namespace detail

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::optional<std::uint64_t> size_factor(const std::string& suffix) {
  if (suffix.empty() || suffix == "b") return 1;
  if (suffix == "k" || suffix == "kb" || suffix == "kib") return 1ULL << 10;
  if (suffix == "m" || suffix == "mb" || suffix == "mib") return 1ULL << 20;
  if (suffix == "g" || suffix == "gb" || suffix == "gib") return 1ULL << 30;
  if (suffix == "t" || suffix == "tb" || suffix == "tib") return 1ULL << 40;
  return std::nullopt;
}

std::optional<std::uint64_t> time_factor(const std::string& suffix) {
  if (suffix.empty() || suffix == "us" || suffix == "usec") return 1;
  if (suffix == "ms" || suffix == "msec") return 1'000;
  if (suffix == "s" || suffix == "sec") return 1'000'000;
  if (suffix == "m") return 60ULL * 1'000'000;
  return std::nullopt;
}

std::optional<std::uint64_t> number(const TunableRow& row, std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  const std::string suffix = lower(text.substr(static_cast<std::size_t>(end - text.data())));
  const auto factor = row.kind == TunableKind::time ? time_factor(suffix) : size_factor(suffix);
  if (!factor || value > std::numeric_limits<std::uint64_t>::max() / *factor) return std::nullopt;
  return value * *factor;
}

std::string allowed(const TunableRow& row) {
  if (row.kind == TunableKind::enumeration) {
    std::string list;
    for (const TunableValue& value : row.values) {
      if (!list.empty()) list += ", ";
      list += value.name;
    }
    return list;
  }
  return std::to_string(row.min) + ".." + std::to_string(row.max) +
         (row.unit.empty() ? "" : " " + std::string(row.unit));
}

Error refused(const TunableRow& row, std::string_view text) {
  return {EINVAL, std::string(row.name) + "=" + std::string(text) +
                      " is not possible; allowed: " + allowed(row)};
}

}  // namespace

Status set_tunable(Tunables& tunables, std::string_view name, const char* text) {
  const TunableRow* row = find_tunable(name);
  if (row == nullptr) {
    return Error{EINVAL, "unknown tunable " + std::string(name) + "; sluice-describe lists them"};
  }
  if (row->kind == TunableKind::text) {
    detail::store_text(*row, tunables, text);
    return Done{};
  }
  if (row->kind == TunableKind::enumeration) {
    for (std::size_t i = 0; i < row->values.size(); ++i) {
      if (row->values[i].name == text) {
        detail::store_tunable(*row, tunables, i);
        return Done{};
      }
    }
    return refused(*row, text);
  }
  const auto value = number(*row, text);
  if (!value || *value < row->min || *value > row->max) return refused(*row, text);
  detail::store_tunable(*row, tunables, *value);
  return Done{};
}

}  // namespace sluice
