// Whether a file lies on, or a block device is, a disk that rotates.
#pragma once

#include <string>

namespace sluice {

/// What the kernel says (queue/rotational; a guess for some virtual disks, which say 1). Of a file
/// that doesn't exist yet: its folder. False where the kernel says nothing: network and layered
/// filesystems, no such path. `sysfs` is for tests.
bool is_rotational(const std::string& path, const std::string& sysfs = "/sys");

}  // namespace sluice
