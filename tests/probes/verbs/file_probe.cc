// The device's files in sysfs and /dev, by every way to a path that the C library has.
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

constexpr char kPort[] = "/sys/class/infiniband/rocelab0/ports/1";

std::string text_of(int fd) {
  std::array<char, 64> text{};
  EXPECT_GE(fd, 0);
  EXPECT_GT(read(fd, text.data(), text.size() - 1), 0);
  close(fd);
  return text.data();
}

std::set<std::string> names_in(const char* path) {
  std::set<std::string> names;
  DIR* dir = opendir(path);
  EXPECT_NE(dir, nullptr) << path;
  while (const dirent* entry = readdir(dir)) names.insert(entry->d_name);
  closedir(dir);
  return names;
}

TEST(FileProbe, FilesAreReadByWholeAndRelativePathsAndFromTheirDirectory) {
  const std::string state = "4: ACTIVE\n";
  EXPECT_EQ(text_of(open((std::string(kPort) + "/state").c_str(), O_RDONLY)), state);
  EXPECT_EQ(
      text_of(openat(AT_FDCWD, "/sys/class/infiniband/../infiniband/rocelab0/ports/1//state", O_RDONLY)),
      state);
  const int folder = open(kPort, O_RDONLY | O_DIRECTORY);
  EXPECT_EQ(text_of(openat(folder, "state", O_RDONLY)), state);
  close(folder);
  std::array<char, PATH_MAX> before{};
  ASSERT_NE(getcwd(before.data(), before.size()), nullptr);
  ASSERT_EQ(chdir(kPort), 0);
  EXPECT_EQ(text_of(open("../1/state", O_RDONLY)), state);
  std::array<char, PATH_MAX> here{};
  ASSERT_NE(getcwd(here.data(), here.size()), nullptr);
  EXPECT_STREQ(here.data(), "/sys/devices/rocelab/infiniband/rocelab0/ports/1") << "behind the link";
  ASSERT_EQ(chdir(before.data()), 0);
  EXPECT_LT(open("state", O_RDONLY), 0) << "no longer there";
}

TEST(FileProbe, DirectoriesLinksAndPatternsAreThoseOfSysfs) {
  EXPECT_TRUE(names_in("/sys/class/infiniband").contains("rocelab0"));
  ibv_context* device = open_device();
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(device, 1, &port), 0);
  std::set<std::string> gids = {".", ".."};
  for (int i = 0; i < port.gid_tbl_len; ++i) gids.insert(std::to_string(i));
  EXPECT_EQ(names_in((std::string(kPort) + "/gids").c_str()), gids);
  ibv_close_device(device);
  glob_t found{};
  ASSERT_EQ(glob("/sys/class/infiniband/*/ports/*/sta*", 0, nullptr, &found), 0);
  ASSERT_EQ(found.gl_pathc, 1u);
  EXPECT_EQ(std::string(found.gl_pathv[0]), std::string(kPort) + "/state");
  globfree(&found);
  char* whole = realpath("/sys/class/infiniband/rocelab0/device", nullptr);
  EXPECT_STREQ(whole, "/sys/devices/rocelab");
  std::free(whole);
  std::array<char, 128> link{};
  EXPECT_GT(readlink("/sys/class/infiniband/rocelab0", link.data(), link.size() - 1), 0);
  EXPECT_STREQ(link.data(), "../../devices/rocelab/infiniband/rocelab0");
}

TEST(FileProbe, WhatIsOfTheKernelStaysTheKernels) {
  EXPECT_EQ(access("/sys/class/net/lo/mtu", R_OK), 0);
  EXPECT_LT(open("/sys/class/infiniband/none/node_guid", O_RDONLY), 0);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(std::fopen((std::string(kPort) + "/rate").c_str(), "w"), nullptr);
  EXPECT_EQ(errno, EACCES);
  EXPECT_LT(open((std::string(kPort) + "/rate").c_str(), O_RDWR), 0);
  EXPECT_EQ(errno, EACCES);
  struct stat st {};
  ASSERT_EQ(lstat("/dev/infiniband/rdma_cm", &st), 0);
  EXPECT_TRUE(S_ISCHR(st.st_mode));
  EXPECT_LT(open("/dev/infiniband/uverbs0", O_RDWR), 0) << "libibverbs answers in its place";
}

}  // namespace
}  // namespace rocelab::probe
