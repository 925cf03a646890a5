#include "lockstep/segment.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "emu/world/test_worlds.h"

namespace rocelab::lockstep {
namespace {

class SegmentTest : public ::testing::Test {
 protected:
  SegmentTest()
      : path_(std::filesystem::temp_directory_path() / ("rocelab-segment-test-" + std::to_string(getpid()))) {
    std::filesystem::remove(path_);
    plan_.run_id = "test";
    plan_.world = star(2);
    plan_.world.ports[1].config.delay = 1_us;
    plan_.frames_per_vf = 100;
  }
  ~SegmentTest() override { std::filesystem::remove(path_); }

  std::filesystem::path path_;
  SegmentPlan plan_;
};

TEST_F(SegmentTest, SecondMappingSeesThePlan) {
  const Segment made = Segment::create(path_, plan_);
  const Segment opened = Segment::open(path_);
  EXPECT_EQ(opened.header().hosts, 2u);
  EXPECT_STREQ(opened.hosts()[1].name, "h2");
  EXPECT_EQ(opened.find_host("h2"), &opened.hosts()[1]);
  EXPECT_EQ(opened.find_host_by_ipv4(0x0a000001), &opened.hosts()[0]);
  EXPECT_EQ(opened.find_host("h3"), nullptr);
  EXPECT_EQ(opened.vfs()[3].host, 1u);
  EXPECT_EQ(opened.vfs()[3].vf, 1u);
  EXPECT_EQ(opened.vfs()[3].first_qpn, first_qpn_of(1));
}

TEST_F(SegmentTest, LookaheadIsTheSmallestFrameOverTheShortestLink) {
  const Segment segment = Segment::create(path_, plan_);
  EXPECT_EQ(segment.header().lookahead_ps, (wire_time(kMinFrameBytes, 40_Gbps) + 1_us).ps());
}

TEST_F(SegmentTest, EveryFrameHasOneOwnerAndItsOwnBytes) {
  const Segment segment = Segment::create(path_, plan_);
  ASSERT_EQ(segment.header().frames_per_vf, 128u);  // rounded up to a power of two
  const std::uint32_t frames = 5 * 128;             // four VFs and the switch process
  for (std::uint32_t i = 0; i < frames; ++i) {
    ASSERT_TRUE(segment.valid_frame(i));
    ASSERT_EQ(segment.owner_of(i), i / 128);
    std::memset(segment.frame(i).data(), static_cast<int>(i % 251), segment.frame(i).size());
  }
  EXPECT_FALSE(segment.valid_frame(frames));
  for (std::uint32_t i = 0; i < frames; ++i)
    ASSERT_EQ(segment.frame(i).back(), static_cast<std::byte>(i % 251));
}

TEST_F(SegmentTest, RingsOfDifferentVfsDoNotOverlap) {
  const Segment segment = Segment::create(path_, plan_);
  for (std::uint32_t vf = 0; vf < 4; ++vf) {
    for (std::uint32_t i = 0; i < segment.header().ring_capacity; ++i) {
      ASSERT_TRUE(segment.tx(vf).push({.due_ps = vf, .frame = i}));
      ASSERT_TRUE(segment.rx(vf).push({.due_ps = 100 + vf, .frame = i}));
      ASSERT_TRUE(segment.returns(vf).push(1000 * vf + i));
    }
    for (std::uint32_t i = 0; i < segment.header().frames_per_vf; ++i)
      ASSERT_TRUE(segment.refill(vf).push(i + vf));
    ASSERT_FALSE(segment.tx(vf).push({}));
    ASSERT_FALSE(segment.refill(vf).push(0));
  }
  for (std::uint32_t vf = 0; vf < 4; ++vf) {
    FrameRing tx = segment.tx(vf);
    IndexRing returns = segment.returns(vf);
    for (std::uint32_t i = 0; i < segment.header().ring_capacity; ++i) {
      ASSERT_EQ(tx.front()->due_ps, vf);
      ASSERT_EQ(tx.front()->frame, i);
      ASSERT_EQ(*returns.front(), 1000 * vf + i);
      tx.pop();
      returns.pop();
    }
    ASSERT_EQ(tx.front(), nullptr);
  }
}

TEST_F(SegmentTest, RefusesLinksAndFramesThatItCannotNumber) {
  plan_.frames_per_vf = 1 << 30;  // of four VFs and the switch process
  EXPECT_THROW(Segment::create(path_, plan_), std::runtime_error);
  plan_.frames_per_vf = 100;
  plan_.world.ports[0].config.delay = 10_s;
  EXPECT_THROW(Segment::create(path_, plan_), std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

// What became of a segment on a file system of its own, in a mount namespace of a process of its own.
enum class Made { kRefused, kWhole, kWithHoles, kFileLeft, kNotAllowed };

class SmallDiskTest : public SegmentTest {
 protected:
  Made create(const char* size) {
    std::filesystem::create_directory(path_);
    const pid_t child = fork();
    if (child == 0) _exit(static_cast<int>(create_there(size)));
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    return static_cast<Made>(WEXITSTATUS(status));
  }

 private:
  Made create_there(const char* size) {
    const std::filesystem::path path = path_ / "segment";
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", path_.c_str(), "tmpfs", 0, size) != 0)
      return Made::kNotAllowed;
    try {
      const Segment segment = Segment::create(path, plan_);
    } catch (const std::runtime_error& e) {
      const bool says_why = std::strstr(e.what(), "no room for") != nullptr;
      return std::filesystem::exists(path) || !says_why ? Made::kFileLeft : Made::kRefused;
    }
    struct stat st {};
    stat(path.c_str(), &st);
    return st.st_blocks * 512 >= st.st_size ? Made::kWhole : Made::kWithHoles;
  }
};

TEST_F(SmallDiskTest, WithoutMemoryForItsTablesItIsAnErrorAndNoFile) {
  const Made made = create("size=4096");
  if (made == Made::kNotAllowed) GTEST_SKIP() << "mounting needs root";
  EXPECT_EQ(made, Made::kRefused);
}

// Its size: some 2 MB of ports of the connection manager and 1 MB of frames.
TEST_F(SmallDiskTest, AReservedOneIsRefusedWhereOneWithHolesHasRoom) {
  if (const Made made = create("size=2m"); made == Made::kNotAllowed)
    GTEST_SKIP() << "mounting needs root";
  else
    EXPECT_EQ(made, Made::kWithHoles);
  plan_.reserve = true;
  EXPECT_EQ(create("size=2m"), Made::kRefused);
  EXPECT_EQ(create("size=16m"), Made::kWhole);
}

// ulimit -v, which is not another build.
TEST_F(SegmentTest, SaysThatTheLimitOfAddressSpaceIsTooLow) {
  const Segment segment = Segment::create(path_, plan_);
  const pid_t child = fork();
  if (child == 0) {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit low{pages * 4096 + (1 << 20), RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &low);
    try {
      Segment::open(path_);
    } catch (const std::runtime_error& e) {
      _exit(std::strstr(e.what(), "raise the limit (ulimit -v)") != nullptr ? 7 : 1);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

TEST_F(SegmentTest, RefusesWhatIsNoSegmentOfThisBuild) {
  EXPECT_THROW(Segment::open(path_), std::runtime_error);  // no such file
  {
    const Segment segment = Segment::create(path_, plan_);
    segment.header().layout_hash += 1;
  }
  EXPECT_THROW(Segment::open(path_), std::runtime_error);
  EXPECT_THROW(Segment::create(path_, plan_), std::runtime_error);  // exists
  std::filesystem::resize_file(path_, 100);
  EXPECT_THROW(Segment::open(path_), std::runtime_error);
}

}  // namespace
}  // namespace rocelab::lockstep
