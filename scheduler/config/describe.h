// The table of tunables as data: for the parser, sluice-describe, the reference page and the check
// that two jobs agree.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.h"
#include "scheduler/config/tunables.h"

namespace sluice {

using Tunables = ::sluice_tunables;

enum class TunableKind : std::uint8_t { enumeration, uint, size, time, boolean, text };
enum class TunableScope : std::uint8_t { leaf, job, process };

struct TunableValue {
  std::string_view name;
  std::string_view help;
};

/// One row. Numbers are in `unit` (bytes for size, microseconds for time).
struct TunableRow {
  std::string_view name;
  TunableKind kind;
  TunableScope scope;
  std::string_view unit;
  std::uint64_t default_value;  ///< index into values for enumerations
  std::uint64_t min;
  std::uint64_t max;
  std::span<const TunableValue> values;  ///< enumerations only
  std::string_view what;
  std::string_view help;
  std::size_t offset;  ///< in Tunables
};

std::span<const TunableRow> tunable_rows();
const TunableRow* find_tunable(std::string_view name);
std::string_view name(TunableKind kind) noexcept;
std::string_view name(TunableScope scope) noexcept;

/// The value as fio would print it ("off", "80us", "16777216").
std::string format(const TunableRow& row, const Tunables& tunables);
std::string format_default(const TunableRow& row);

/// Tunables with every row at its default; text rows are null.
Tunables default_tunables();

/// Sets one tunable from text, by fio's rules (k/m/g = powers of 1024, us/ms/s). The error names
/// the tunable, the value and what is allowed. Text rows point into `text`, which must live on.
Status set_tunable(Tunables& tunables, std::string_view name, const char* text);

/// Names and values of the rows of one scope in which a and b differ, e.g. "bypass=off/all".
std::vector<std::string> differences(const Tunables& a, const Tunables& b, TunableScope scope);

}  // namespace sluice
