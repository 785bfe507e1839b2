// Result<T>: what set-up functions return. A value, or an Error whose text a user can act on.
//
// I/O does not use it: a request completes with bytes or -errno (scheduler/io/request.h).
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "scheduler/base/check.h"

namespace sluice {

/// Why a set-up step failed. `message` is one line that names the culprit and the way out;
/// `code` is a positive errno.
struct Error {
  int code = 0;
  std::string message;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const noexcept { return std::holds_alternative<T>(state_); }
  explicit operator bool() const noexcept { return ok(); }

  /// Requires ok().
  T& value() {
    SLUICE_CHECK(ok());
    return *std::get_if<T>(&state_);
  }
  /// Requires !ok().
  const Error& error() const {
    SLUICE_CHECK(!ok());
    return *std::get_if<Error>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

/// For steps that yield nothing: `return Done{};`.
struct Done {};
using Status = Result<Done>;

}  // namespace sluice
