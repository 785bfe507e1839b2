// Which paths a job may use; each refusal names the path and the way out.
#include "engine/fio/path_check.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace sluice {
namespace {

namespace fs = std::filesystem;

class PathCheck : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "sluice-path-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    fs::permissions(folder_, fs::perms::all);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string make(const std::string& name, std::uintmax_t bytes = 0) {
    const fs::path path = folder_ / name;
    std::ofstream(path).flush();
    fs::resize_file(path, bytes);
    return path;
  }

  static void expect_refused(const PathNeeds& needs, int code, const std::string& word) {
    const Status usable = check_path(needs);
    ASSERT_FALSE(usable.ok()) << needs.path;
    EXPECT_EQ(usable.error().code, code) << usable.error().message;
    EXPECT_NE(usable.error().message.find(needs.path), std::string::npos) << usable.error().message;
    EXPECT_NE(usable.error().message.find(word), std::string::npos) << usable.error().message;
    EXPECT_EQ(usable.error().message.find('\n'), std::string::npos);
  }

  fs::path folder_;
};

TEST_F(PathCheck, ADirectoryIsRefused) {
  expect_refused({.path = folder_}, EISDIR, "directory");
  expect_refused({.path = folder_, .writes = true}, EISDIR, "directory");
  fs::create_directory_symlink(folder_, folder_ / "link");
  expect_refused({.path = folder_ / "link"}, EISDIR, "directory");
}

TEST_F(PathCheck, AFileThatIsMissingIsLaidOut) {
  EXPECT_TRUE(check_path({.path = folder_ / "missing",
                          .writes = true,
                          .direct = true,
                          .block_bytes = 4096,
                          .need_bytes = 1 << 20})
                  .ok());
  EXPECT_TRUE(check_path({.path = folder_ / "missing"}).ok());
  // Where not even the folder exists fio says so.
  EXPECT_TRUE(check_path({.path = folder_ / "no" / "such", .writes = true}).ok());
  EXPECT_TRUE(check_path({.path = "a-name-without-a-folder", .direct = true}).ok());
}

TEST_F(PathCheck, AFileMayBeOfAnySize) {
  const std::string path = make("small", 100);
  EXPECT_TRUE(check_path({.path = path, .writes = true, .need_bytes = 1 << 30}).ok());
}

TEST_F(PathCheck, DevicesThatAreNoDisksAreLeftToFio) {
  EXPECT_TRUE(check_path({.path = "/dev/null",
                          .writes = true,
                          .direct = true,
                          .block_bytes = 7,
                          .need_bytes = 1 << 30})
                  .ok());
}

/// The effective user is somebody without privileges while it lives.
class AsNobody {
 public:
  AsNobody() {
    if (::geteuid() == 0) changed_ = ::seteuid(kNobody) == 0;
  }
  ~AsNobody() {
    if (changed_ && ::seteuid(0) != 0) std::abort();
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  bool changed_ = false;
};

TEST_F(PathCheck, AFileWithoutPermissionToWriteIsRefusedToWriters) {
  const std::string path = make("read-only");
  fs::permissions(path, fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
  const AsNobody nobody;
  if (::geteuid() == 0) GTEST_SKIP() << "root may write to any file, and can't become another user";
  if (::faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) != 0) {
    GTEST_SKIP() << "the temporary folder is closed to it";
  }
  expect_refused({.path = path, .writes = true}, EACCES, "read-only");
  EXPECT_TRUE(check_path({.path = path, .writes = false}).ok());
}

TEST_F(PathCheck, AFileOnAReadOnlyFilesystemIsRefusedToWriters) {
  const fs::path mounted = folder_ / "mount";
  fs::create_directory(mounted);
  if (::mount("none", mounted.c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "can't mount a tmpfs: " << std::strerror(errno);
  }
  const std::string path = mounted / "file";
  std::ofstream(path) << "x";
  const bool read_only =
      ::mount("none", mounted.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  if (read_only) {
    expect_refused({.path = path, .writes = true}, EROFS, "read-only filesystem");
    EXPECT_TRUE(check_path({.path = path}).ok());
  }
  EXPECT_EQ(::umount(mounted.c_str()), 0);
  if (!read_only) GTEST_SKIP() << "can't remount the tmpfs read-only";
}

/// What the kernel says of the disk below a path; 0 if nothing. As in path_check.cpp, but by hand.
std::uint64_t logical_block_below(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return 0;
  const std::string node = "/sys/dev/block/" + std::to_string(major(status.st_dev)) + ":" +
                           std::to_string(minor(status.st_dev));
  std::uint64_t bytes = 0;
  for (const char* queue : {"/queue/logical_block_size", "/../queue/logical_block_size"}) {
    std::ifstream file(node + queue);
    if (file >> bytes) break;
  }
  return bytes;
}

TEST_F(PathCheck, DirectBlocksAreMultiplesOfTheLogicalBlock) {
  const std::string path = make("file", 1 << 16);
  const std::uint64_t block = logical_block_below(path);
  if (block == 0) GTEST_SKIP() << "nothing is known of the disk below " << path;
  const auto needs = [&](const std::string& which, std::uint64_t bytes, bool direct) {
    return PathNeeds{.path = which, .direct = direct, .block_bytes = bytes};
  };
  for (const std::string& which : {path, std::string(folder_ / "missing")}) {
    EXPECT_TRUE(check_path(needs(which, block, true)).ok());
    EXPECT_TRUE(check_path(needs(which, 8 * block, true)).ok());
    EXPECT_TRUE(check_path(needs(which, 0, true)).ok());
    EXPECT_TRUE(check_path(needs(which, block + 1, false)).ok());
    expect_refused(needs(which, block + 1, true), EINVAL, "change bs=");
    expect_refused(needs(which, block / 2, true), EINVAL, std::to_string(block));
  }
}

/// A loop device over a file, or why there is none.
class LoopDevice {
 public:
  explicit LoopDevice(const std::string& file) {
    const std::string command = "losetup --find --show " + file + " 2>/dev/null";
    if (FILE* const out = ::popen(command.c_str(), "r")) {
      char line[256] = "";
      if (std::fgets(line, sizeof line, out) != nullptr) path_ = line;
      ::pclose(out);
    }
    while (!path_.empty() && path_.back() == '\n') path_.pop_back();
  }
  ~LoopDevice() {
    if (path_.empty()) return;
    const std::string command = "losetup --detach " + path_;
    if (std::system(command.c_str()) != 0) std::fprintf(stderr, "%s failed\n", command.c_str());
  }
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST_F(PathCheck, ABlockDeviceMustHoldTheJobsRange) {
  constexpr std::uint64_t kBytes = 1 << 20;
  const LoopDevice loop(make("disk", kBytes));
  if (loop.path().empty()) GTEST_SKIP() << "no loop device to be had";
  EXPECT_TRUE(check_path({.path = loop.path(), .writes = true, .need_bytes = kBytes}).ok());
  EXPECT_TRUE(check_path({.path = loop.path(), .need_bytes = 0}).ok());
  expect_refused({.path = loop.path(), .need_bytes = kBytes + 1}, ENOSPC, "size=");
  expect_refused({.path = loop.path(), .direct = true, .block_bytes = 100}, EINVAL, "bs=");
}

}  // namespace
}  // namespace sluice
