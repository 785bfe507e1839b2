#include "engine/devices/rotational.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>

namespace sluice {
namespace {

namespace fs = std::filesystem;

/// A sysfs that knows one device: the one that the test's folder lies on.
class Rotational : public testing::Test {
 protected:
  Rotational() {
    std::string pattern = (fs::temp_directory_path() / "sluice-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    struct stat status {};
    EXPECT_EQ(stat(pattern.c_str(), &status), 0);
    number = std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev));
    fs::create_directories(folder / "sys/dev/block");
    fs::create_directories(folder / "sys/devices/disk/queue");
    fs::create_directories(folder / "sys/devices/disk/partition");
  }
  ~Rotational() override { fs::remove_all(folder); }

  void say(const char* value) {
    std::ofstream(folder / "sys/devices/disk/queue/rotational") << value;
  }
  void link(const char* where) {
    fs::create_directory_symlink(fs::path("../../devices") / where,
                                 folder / "sys/dev/block" / number);
  }
  bool asked(const char* file) {
    return is_rotational((folder / file).string(), (folder / "sys").string());
  }

  fs::path folder;
  std::string number;
};

TEST_F(Rotational, AFileIsAsItsDiskSays) {
  link("disk");
  std::ofstream(folder / "file") << "x";
  say("1\n");
  EXPECT_TRUE(asked("file"));
  say("0\n");
  EXPECT_FALSE(asked("file"));
}

TEST_F(Rotational, AFileThatIsYetToComeIsAsItsFolder) {
  link("disk");
  say("1\n");
  EXPECT_TRUE(asked("to-come"));
}

TEST_F(Rotational, APartitionIsAsItsDisk) {
  link("disk/partition");
  say("1\n");
  EXPECT_TRUE(asked("to-come"));
}

TEST_F(Rotational, WhatTheKernelDoesNotKnowDoesNotRotate) {
  EXPECT_FALSE(asked("to-come"));
  link("disk");
  say("");
  EXPECT_FALSE(asked("to-come"));
  EXPECT_FALSE(is_rotational("", (folder / "sys").string()));
  EXPECT_FALSE(is_rotational("no-slash", (folder / "sys").string()));
  EXPECT_FALSE(asked("no/such/folder"));
}

}  // namespace
}  // namespace sluice
