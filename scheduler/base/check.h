// SLUICE_CHECK: a broken invariant of our own code ends the process, in release builds too.
//
// Not for what a user or a device can cause: those are Result errors (set-up) or -errno (I/O).
#pragma once

namespace sluice::detail {
[[noreturn]] void check_failed(const char* expression, const char* file, int line) noexcept;
}  // namespace sluice::detail

#define SLUICE_CHECK(expression)                                       \
  do {                                                                 \
    if (!(expression)) [[unlikely]] {                                  \
      ::sluice::detail::check_failed(#expression, __FILE__, __LINE__); \
    }                                                                  \
  } while (false)
