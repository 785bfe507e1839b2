// The classes of I/O: the unit of limits and of statistics.
#pragma once

#include <cstdint>

namespace sluice {

/// Who an I/O works for. Names and order after OpenZFS's ZIO_PRIORITY_*; the order is the rank of
/// the max pass (queue/class_policy.h).
enum class IoClass : std::uint8_t {
  sync_read,
  sync_write,
  async_read,
  async_write,
  scrub,
  rebuild,
  trim,
};
inline constexpr unsigned kIoClasses = 7;

const char* name(IoClass io_class) noexcept;

/// Nobody waits for it, so it yields to what somebody waits for; but what it repairs matters, so it
/// never skips the queue in hybrid mode.
constexpr bool is_background(IoClass c) noexcept {
  return c == IoClass::scrub || c == IoClass::rebuild;
}

}  // namespace sluice
