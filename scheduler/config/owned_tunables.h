// OwnedTunables: tunables whose texts are copies. fio frees its own with the job.
#pragma once

#include <memory>
#include <vector>

#include "scheduler/config/describe.h"

namespace sluice {

/// Threads: any (immutable). Null texts stay null.
class OwnedTunables {
 public:
  explicit OwnedTunables(const Tunables& tunables);
  const Tunables& get() const noexcept { return tunables_; }

 private:
  Tunables tunables_;
  std::vector<std::unique_ptr<char[]>> texts_;
};

}  // namespace sluice
