// The rows, expanded from tunables.def, and how a row is read, printed and compared.
#include <array>
#include <cstddef>
#include <cstring>

#include "scheduler/config/describe.h"
#include "scheduler/config/owned_tunables.h"

namespace sluice {

namespace {

#define SLUICE_ROW(tunable, value, help) TunableValue{#value, help},
#define SLUICE_ARRAY(tunable, VALUES) constexpr TunableValue k_##tunable[] = {VALUES(SLUICE_ROW)};
SLUICE_ENUMS(SLUICE_ARRAY)
#undef SLUICE_ROW
#undef SLUICE_ARRAY

using enum TunableKind;
using Scope = TunableScope;

// NOLINTBEGIN(bugprone-macro-parentheses): names and types can't stand in parentheses
constexpr TunableRow kRows[] = {
#define ENUM(name, VALUES, def, scope, what, help) \
  {#name,                                          \
   enumeration,                                    \
   Scope::scope,                                   \
   "",                                             \
   SLUICE_##name##_##def,                          \
   0,                                              \
   std::size(k_##name) - 1,                        \
   k_##name,                                       \
   what,                                           \
   help,                                           \
   offsetof(sluice_tunables, name)},
#define UINT(name, def, min, max, unit, scope, what, help) \
  {#name, uint, Scope::scope, unit, def, min, max, {}, what, help, offsetof(sluice_tunables, name)},
#define SIZE(name, def, min, max, scope, what, help) \
  {#name,                                            \
   size,                                             \
   Scope::scope,                                     \
   "bytes",                                          \
   def,                                              \
   min,                                              \
   max,                                              \
   {},                                               \
   what,                                             \
   help,                                             \
   offsetof(sluice_tunables, name)},
#define TIME(name, def, min, max, scope, what, help) \
  {#name,                                            \
   TunableKind::time,                                \
   Scope::scope,                                     \
   "us",                                             \
   def,                                              \
   min,                                              \
   max,                                              \
   {},                                               \
   what,                                             \
   help,                                             \
   offsetof(sluice_tunables, name##_us)},
#define BOOL(name, def, scope, what, help) \
  {#name, boolean, Scope::scope, "", def, 0, 1, {}, what, help, offsetof(sluice_tunables, name)},
#define TEXT(name, scope, what, help) \
  {#name, text, Scope::scope, "", 0, 0, 0, {}, what, help, offsetof(sluice_tunables, name)},
#include "scheduler/config/tunables.def"
};
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace

namespace detail {
void store_text(const TunableRow& row, Tunables& tunables, const char* value);
}  // namespace detail

namespace {

bool is_wide(TunableKind kind) noexcept { return kind == size || kind == TunableKind::time; }

const char* bytes_of(const TunableRow& row, const Tunables& tunables) noexcept {
  return reinterpret_cast<const char*>(&tunables) + row.offset;
}
char* bytes_of(const TunableRow& row, Tunables& tunables) noexcept {
  return reinterpret_cast<char*>(&tunables) + row.offset;
}

std::uint64_t load(const TunableRow& row, const Tunables& tunables) noexcept {
  if (is_wide(row.kind)) {
    unsigned long long wide = 0;
    std::memcpy(&wide, bytes_of(row, tunables), sizeof wide);
    return wide;
  }
  unsigned int narrow = 0;
  std::memcpy(&narrow, bytes_of(row, tunables), sizeof narrow);
  return narrow;
}

const char* load_text(const TunableRow& row, const Tunables& tunables) noexcept {
  const char* pointer = nullptr;
  std::memcpy(&pointer, bytes_of(row, tunables), sizeof pointer);
  return pointer;
}

void store(const TunableRow& row, Tunables& tunables, std::uint64_t value) noexcept {
  if (is_wide(row.kind)) {
    const unsigned long long wide = value;
    std::memcpy(bytes_of(row, tunables), &wide, sizeof wide);
  } else {
    const auto narrow = static_cast<unsigned int>(value);
    std::memcpy(bytes_of(row, tunables), &narrow, sizeof narrow);
  }
}

std::string print(const TunableRow& row, std::uint64_t value) {
  if (row.kind == enumeration) return std::string(row.values[value].name);
  std::string text = std::to_string(value);
  if (row.kind == TunableKind::time) text += "us";
  return text;
}

}  // namespace

std::span<const TunableRow> tunable_rows() { return kRows; }

const TunableRow* find_tunable(std::string_view name) {
  for (const TunableRow& row : kRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::string_view name(TunableKind kind) noexcept {
  switch (kind) {
    case enumeration: return "enum";
    case uint: return "int";
    case size: return "size";
    case TunableKind::time: return "time";
    case boolean: return "bool";
    case text: return "str";
  }
  return "?";
}

std::string_view name(TunableScope scope) noexcept {
  switch (scope) {
    case TunableScope::leaf: return "leaf";
    case TunableScope::job: return "job";
    case TunableScope::process: return "process";
  }
  return "?";
}

std::string format(const TunableRow& row, const Tunables& tunables) {
  if (row.kind == text) {
    const char* value = load_text(row, tunables);
    return value == nullptr ? "" : value;
  }
  return print(row, load(row, tunables));
}

std::string format_default(const TunableRow& row) {
  return row.kind == text ? "" : print(row, row.default_value);
}

Tunables default_tunables() {
  Tunables tunables{};
  for (const TunableRow& row : kRows) {
    if (row.kind != text) store(row, tunables, row.default_value);
  }
  return tunables;
}

std::vector<std::string> differences(const Tunables& a, const Tunables& b, TunableScope scope) {
  std::vector<std::string> found;
  for (const TunableRow& row : kRows) {
    if (row.scope != scope) continue;
    const std::string left = format(row, a);
    const std::string right = format(row, b);
    if (left != right) found.push_back(std::string(row.name) + "=" + left + "/" + right);
  }
  return found;
}

OwnedTunables::OwnedTunables(const Tunables& tunables) : tunables_(tunables) {
  for (const TunableRow& row : kRows) {
    const char* const value = row.kind == text ? load_text(row, tunables) : nullptr;
    if (value == nullptr) continue;
    const std::size_t bytes = std::strlen(value) + 1;
    texts_.push_back(std::make_unique<char[]>(bytes));
    std::memcpy(texts_.back().get(), value, bytes);
    detail::store_text(row, tunables_, texts_.back().get());
  }
}

namespace detail {
void store_tunable(const TunableRow& row, Tunables& tunables, std::uint64_t value) {
  store(row, tunables, value);
}
void store_text(const TunableRow& row, Tunables& tunables, const char* value) {
  std::memcpy(bytes_of(row, tunables), static_cast<const void*>(&value), sizeof value);
}
}  // namespace detail

}  // namespace sluice
