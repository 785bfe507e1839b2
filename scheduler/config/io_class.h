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

}  // namespace sluice
