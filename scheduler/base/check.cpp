#include "scheduler/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace sluice::detail {

void check_failed(const char* expression, const char* file, int line) noexcept {
  std::fprintf(stderr, "sluice: internal error at %s:%d: %s does not hold\n", file, line,
               expression);
  std::abort();
}

}  // namespace sluice::detail
