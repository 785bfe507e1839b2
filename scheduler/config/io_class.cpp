#include "scheduler/config/io_class.h"

namespace sluice {

const char* name(IoClass io_class) noexcept {
  switch (io_class) {
    case IoClass::sync_read: return "sync_read";
    case IoClass::sync_write: return "sync_write";
    case IoClass::async_read: return "async_read";
    case IoClass::async_write: return "async_write";
    case IoClass::scrub: return "scrub";
    case IoClass::rebuild: return "rebuild";
    case IoClass::trim: return "trim";
  }
  return "?";
}

}  // namespace sluice
