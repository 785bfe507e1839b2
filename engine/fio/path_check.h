// What must hold of a file or block device before a job touches it. Files that don't exist yet are
// fine: fio lays them out, exactly as for its own engines.
#pragma once

#include <cstdint>
#include <string>

#include "scheduler/base/result.h"

namespace sluice {

struct PathNeeds {
  std::string path;
  bool writes = false;
  bool direct = false;
  std::uint64_t block_bytes = 0;  ///< smallest unit of the job's offsets and lengths; 0: unknown
  std::uint64_t need_bytes = 0;   ///< end of the job's range; 0: as large as it happens to be
};

/// Error: a directory; read-only but written to; a block device that is too small; block_bytes not
/// a multiple of the logical block with direct.
Status check_path(const PathNeeds& needs);

}  // namespace sluice
