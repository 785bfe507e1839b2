#include "engine/devices/rotational.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>

namespace sluice {

bool is_rotational(const std::string& path, const std::string& sysfs) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    if (folder.empty() || stat(folder.c_str(), &status) != 0) return false;
  }
  const dev_t device = S_ISBLK(status.st_mode) ? status.st_rdev : status.st_dev;
  const std::string entry =
      sysfs + "/dev/block/" + std::to_string(major(device)) + ":" + std::to_string(minor(device));
  // A partition has no queue of its own: that is its disk's, the folder around it.
  for (const char* queue : {"/queue", "/../queue"}) {
    std::ifstream file(entry + queue + "/rotational");
    int value = 0;
    if (file >> value) return value != 0;
  }
  return false;
}

}  // namespace sluice
