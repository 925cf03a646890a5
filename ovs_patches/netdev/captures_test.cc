// Captures that come and go while a run goes on.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>

#include "ovs_patches/netdev/fabric.h"
#include "ovs_patches/netdev/test_world.h"

namespace rocelab {
namespace {

constexpr auto kLockHolder = SwitchCapture::Owner::kLockHolder;

// A file with a lock on it, as somebody has who wants a capture in there.
class LockedFile {
 public:
  explicit LockedFile(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / (name + "-" + std::to_string(getpid()))),
        fd_(open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
    EXPECT_EQ(flock(fd_, LOCK_EX), 0);
  }
  ~LockedFile() {
    let_go();
    std::filesystem::remove(path_);
  }
  void let_go() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  std::string path() const { return path_; }
  struct Frames {
    std::vector<std::string> interfaces;
    std::vector<std::uint32_t> of;  // interface of each frame
    bool complete = false;
  };
  Frames read() const {
    std::ifstream file(path_, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    auto reader = PcapngReader::open(std::as_bytes(std::span(text)));
    EXPECT_TRUE(reader.has_value()) << text.size() << " bytes";
    Frames frames;
    if (!reader) return frames;
    while (const auto frame = reader->next()) frames.of.push_back(frame->interface);
    frames.interfaces = reader->interfaces();
    frames.complete = reader->complete();
    return frames;
  }

 private:
  std::filesystem::path path_;
  int fd_;
};

void send(TestWorld& w, int frames) {
  for (std::uint32_t h = 1; h < 3; ++h)
    for (int i = 0; i < frames; ++i) w.vf(h).send(at(w.fabric->now() - Time::zero()), w.host(0));
}

TEST(CapturesTest, HoldsWhatCrossesItsPortsWhileItGoesOn) {
  TestWorld w(TestPlan::make({.hosts_each = 3}));
  LockedFile file("rocelab-capture");
  const std::uint32_t ports[] = {2, 0};
  send(w, 5);
  w.run();
  w.fabric->captures().start(file.path(), ports, kLockHolder);
  send(w, 10);
  w.run();
  w.fabric->captures().flush();
  EXPECT_EQ(file.read().of.size(), 30u) << "it can be read meanwhile";
  EXPECT_EQ(w.fabric->captures().stop(file.path()), "");
  send(w, 5);
  w.run();
  const LockedFile::Frames frames = file.read();
  EXPECT_TRUE(frames.complete);
  EXPECT_EQ(frames.interfaces, (std::vector<std::string>{"s1-eth3", "s1-eth1"}));
  EXPECT_EQ(std::ranges::count(frames.of, 0u), 10) << "of host 2, to the switch";
  EXPECT_EQ(std::ranges::count(frames.of, 1u), 20) << "of both, to host 0";
}

TEST(CapturesTest, OneThatComesAndGoesChangesNothing) {
  std::string alone;
  std::size_t captured = 0;
  for (const bool captures : {false, true}) {
    TestWorld w(TestPlan::make({.switches = 2, .hosts_each = 3}));
    LockedFile file("rocelab-capture-same");
    for (std::uint32_t h = 1; h < 6; ++h)
      for (int i = 0; i < 100; ++i) w.vf(h).send(at(0_us), w.host(0));
    const std::uint32_t ports[] = {0, 1, 2, 3};
    for (int i = 0; w.step(); ++i) {
      if (captures && i % 6 == 2) w.fabric->captures().start(file.path(), ports, kLockHolder);
      if (captures && i % 6 == 5) {
        EXPECT_EQ(w.fabric->captures().stop(file.path()), "");
        captured += file.read().of.size();
      }
    }
    if (alone.empty()) alone = w.digests();
    EXPECT_EQ(w.digests(), alone);
  }
  EXPECT_GT(captured, 100u);
}

TEST(CapturesTest, OneWhoseOwnerHasGoneEnds) {
  TestWorld w(TestPlan::make({.hosts_each = 3}));
  LockedFile killed("rocelab-capture-killed"), other("rocelab-capture-other");
  const std::uint32_t ports[] = {0};
  w.fabric->captures().start(killed.path(), ports, kLockHolder);
  w.fabric->captures().start(other.path(), ports, kLockHolder);
  killed.let_go();
  w.fabric->captures().flush();
  send(w, 5);
  w.run();
  w.fabric->captures().flush();
  EXPECT_EQ(killed.read().of.size(), 0u);
  EXPECT_EQ(other.read().of.size(), 10u);
  EXPECT_EQ(w.fabric->captures().stop(killed.path()), killed.path() + ": no capture goes there");
}

TEST(CapturesTest, WhatCannotBeIsRefused) {
  TestWorld w(TestPlan::make({.hosts_each = 3}));
  Captures& captures = w.fabric->captures();
  const std::uint32_t ports[] = {0};
  EXPECT_THROW(captures.start("/nonexistent/file", ports, kLockHolder), std::runtime_error);
  LockedFile file("rocelab-capture-refused");
  captures.start(file.path(), ports, kLockHolder);
  EXPECT_THROW(captures.start(file.path(), ports, kLockHolder), std::runtime_error) << "twice";
  EXPECT_EQ(captures.stop(file.path()), "");
  file.let_go();
  EXPECT_THROW(captures.start(file.path(), ports, kLockHolder), std::runtime_error) << "without a lock";
}

TEST(CapturesTest, AFullDiskIsSaid) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (full < 0 || flock(full, LOCK_EX) != 0) GTEST_SKIP() << "no /dev/full that could be locked";
  TestWorld w(TestPlan::make({.hosts_each = 3}));
  const std::uint32_t ports[] = {0};
  w.fabric->captures().start("/dev/full", ports, kLockHolder);
  EXPECT_EQ(w.fabric->captures().stop("/dev/full"),
            "/dev/full: the capture could not be written; is the disk full?");
  close(full);
}

}  // namespace
}  // namespace rocelab
