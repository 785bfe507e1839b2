#include "engine/fio/path_check.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace sluice {

namespace {

/// The logical block of the device behind a device number, from sysfs; 0 if it doesn't say.
std::uint64_t logical_block(dev_t device) {
  const std::string node =
      "/sys/dev/block/" + std::to_string(major(device)) + ":" + std::to_string(minor(device));
  // A partition has no queue of its own; its disk, one folder up, has.
  for (const char* queue : {"/queue", "/../queue"}) {
    std::ifstream file(node + queue + "/logical_block_size");
    std::uint64_t bytes = 0;
    if (file >> bytes) return bytes;
  }
  return 0;
}

Status check_block_size(const PathNeeds& needs, dev_t device) {
  if (!needs.direct || needs.block_bytes == 0) return Done{};
  const std::uint64_t block = logical_block(device);
  if (block == 0 || needs.block_bytes % block == 0) return Done{};
  return Error{EINVAL, needs.path + ": block size " + std::to_string(needs.block_bytes) +
                           " is not a multiple of the device's logical block of " +
                           std::to_string(block) + " bytes, which direct=1 needs; change bs="};
}

Status check_size(const PathNeeds& needs) {
  if (needs.need_bytes == 0) return Done{};
  const int fd = open(needs.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Done{};  // fio's own open says why
  std::uint64_t bytes = 0;
  const bool known = ioctl(fd, BLKGETSIZE64, &bytes) == 0;
  close(fd);
  if (!known || bytes >= needs.need_bytes) return Done{};
  return Error{ENOSPC, needs.path + ": the job needs " + std::to_string(needs.need_bytes) +
                           " bytes but the device has " + std::to_string(bytes) +
                           "; lower size= or offset="};
}

Status check_may_write(const PathNeeds& needs) {
  if (!needs.writes) return Done{};
  // With the effective ids, as open() will ask.
  if (faccessat(AT_FDCWD, needs.path.c_str(), W_OK, AT_EACCESS) == 0) return Done{};
  const int code = errno;
  return Error{code, needs.path +
                         (code == EROFS ? ": lies on a read-only filesystem" : ": is read-only") +
                         " but the job writes; make it writable, or use rw=read|randread"};
}

}  // namespace

Status check_path(const PathNeeds& needs) {
  struct stat status {};
  if (stat(needs.path.c_str(), &status) != 0) {
    // To be laid out: only the filesystem that will hold it can be asked.
    const auto folder = std::filesystem::path(needs.path).parent_path();
    if (stat(folder.empty() ? "." : folder.c_str(), &status) != 0) return Done{};
    return check_block_size(needs, status.st_dev);
  }
  if (S_ISDIR(status.st_mode)) {
    return Error{EISDIR, needs.path + ": is a directory; name a file in it, or use directory="};
  }
  if (Status may = check_may_write(needs); !may) return may;
  if (S_ISBLK(status.st_mode)) {
    if (Status size = check_size(needs); !size) return size;
    return check_block_size(needs, status.st_rdev);
  }
  return S_ISREG(status.st_mode) ? check_block_size(needs, status.st_dev) : Status(Done{});
}

}  // namespace sluice
