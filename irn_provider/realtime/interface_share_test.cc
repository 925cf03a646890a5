// Names are per network namespace and interface number: these take numbers that no interface has.
#include "irn_provider/realtime/interface_share.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <vector>

#include "irn_provider/realtime/interface_host.h"
#include "lockstep/port_registry.h"

namespace rocelab::direct {
namespace {

using lockstep::PortRegistry;
using lockstep::VfState;

class InterfaceShareTest : public ::testing::Test {
 protected:
  InterfaceShareTest() {
    host_.ipv4 = 0x0a000001;
    host_.mac = {2, 0, 0, 0, 0, 1};
  }
  std::unique_ptr<InterfaceShare> join() { return InterfaceShare::join(host_, key_); }
  bool file_exists() const {
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
      if (entry.path().filename().string().find("-" + key_) != std::string::npos) return true;
    return false;
  }
  // A process that joins, claims a service port, and waits to be killed; its VF is the next free one.
  pid_t start_other() {
    std::array<int, 2> ready{};
    EXPECT_EQ(pipe(ready.data()), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      const auto share = join();
      PortRegistry registry(share->share(), share->vf());
      registry.open();
      const char ok = registry.claim(0, 7471) ? 'y' : 'n';
      if (write(ready[1], &ok, 1) != 1) _exit(1);
      pause();
      _exit(0);
    }
    char ok = 0;
    EXPECT_EQ(read(ready[0], &ok, 1), 1);
    EXPECT_EQ(ok, 'y');
    close(ready[0]);
    close(ready[1]);
    return pid;
  }
  static void kill_and_wait(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }

  HostEntry host_;
  const std::string key_ = std::to_string(1'000'000'000u + static_cast<unsigned>(getpid()));
};

TEST_F(InterfaceShareTest, EachGetsAVfAndTheLastTakesTheFileAway) {
  auto first = join(), second = join();
  EXPECT_EQ(first->vf(), 0u);
  EXPECT_EQ(second->vf(), 1u);
  EXPECT_NE(first->slot().first_qpn, second->slot().first_qpn);
  EXPECT_EQ(first->vfs_in_use(), 2u);
  first.reset();
  EXPECT_TRUE(file_exists());
  EXPECT_EQ(join()->vf(), 0u);  // free again
  second.reset();
  EXPECT_FALSE(file_exists());
}

TEST_F(InterfaceShareTest, AllInUseIsAnError) {
  std::vector<std::unique_ptr<InterfaceShare>> all;
  for (std::uint32_t i = 0; i < kMaxVfsPerHost; ++i) all.push_back(join());
  EXPECT_THROW(join(), std::runtime_error);
}

TEST_F(InterfaceShareTest, AKilledProcessLosesItsVfAndPorts) {
  const pid_t other = start_other();
  const auto mine = join();
  EXPECT_EQ(mine->vf(), 1u);
  PortRegistry registry(mine->share(), mine->vf());
  EXPECT_EQ(registry.owner(0, 7471), 0u);
  EXPECT_FALSE(registry.claim(0, 7471));
  kill_and_wait(other);
  mine->sweep();
  EXPECT_EQ(mine->share().vfs[0].state.load(), VfState::kDead);
  EXPECT_EQ(mine->vfs_in_use(), 0u);
  EXPECT_EQ(registry.open_vfs(), 0u);
  EXPECT_TRUE(registry.claim(0, 7471));
}

TEST_F(InterfaceShareTest, WhatAKilledLastOneLeftIsMadeAnew) {
  kill_and_wait(start_other());
  EXPECT_TRUE(file_exists());
  host_.ipv4 = 0x0a000009;  // another interface got the number
  const auto share = join();
  EXPECT_EQ(share->vf(), 0u);
  EXPECT_EQ(share->host().ipv4, 0x0a000009u);
  EXPECT_TRUE(PortRegistry(share->share(), 0).claim(0, 7471));
}

TEST_F(InterfaceShareTest, AChangedAddressIsAnErrorWhileOthersUseTheOldOne) {
  const auto first = join();
  host_.ipv4 = 0x0a000009;
  EXPECT_THROW(join(), std::runtime_error);
}

// Descriptors that are open, up to `limit`.
std::vector<bool> open_descriptors(int limit) {
  std::vector<bool> open;
  for (int fd = 0; fd < limit; ++fd) open.push_back(fcntl(fd, F_GETFD) >= 0);
  return open;
}

// Of descriptors: this many are left.
class Limit {
 public:
  explicit Limit(rlim_t left) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = dup(0);
    close(next);
    const rlimit now{.rlim_cur = static_cast<rlim_t>(next) + left, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &now);
  }
  ~Limit() { setrlimit(RLIMIT_NOFILE, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  rlimit before_{};
};

TEST_F(InterfaceShareTest, WithoutADescriptorASweepFindsNobodyDeadAndALaterOneDoes) {
  const pid_t other = start_other();
  const auto mine = join();
  kill_and_wait(other);
  {
    const Limit none(0);
    mine->sweep();
    EXPECT_EQ(mine->share().vfs[0].state.load(), VfState::kClaimed);
  }
  mine->sweep();
  EXPECT_EQ(mine->share().vfs[0].state.load(), VfState::kDead);
}

TEST_F(InterfaceShareTest, AJoinThatFailsForWantOfDescriptorsIsSoonOverAndLeavesNothing) {
  std::uint32_t failures = 0;
  for (rlim_t left = 0;; ++left) {
    const std::vector<bool> before = open_descriptors(100);
    std::unique_ptr<InterfaceShare> share;
    const time_t began = time(nullptr);
    try {
      const Limit some(left);
      share = join();
    } catch (const std::runtime_error&) {
      ++failures;
    }
    EXPECT_LT(time(nullptr) - began, 3) << left;
    if (share) break;
    EXPECT_EQ(open_descriptors(100), before) << left;
    EXPECT_FALSE(file_exists()) << left;
  }
  EXPECT_GT(failures, 3u);
  EXPECT_EQ(join()->vf(), 0u);
}

TEST_F(InterfaceShareTest, AWokenVfIsToldOnceUntilItHasHeard) {
  const auto first = join(), second = join();
  const auto readable = [&] {
    pollfd fd{second->fd(), POLLIN, 0};
    return poll(&fd, 1, 0) == 1;
  };
  EXPECT_FALSE(readable());
  for (int i = 0; i < 1000; ++i) first->wake(1);  // more than its socket holds
  EXPECT_TRUE(readable());
  second->drain();
  EXPECT_FALSE(readable());
  first->wake(2);  // nobody
}

TEST(InterfaceHostTest, TheMtuIsTheLargestWhoseFramesFit) {
  for (const auto& [interface, mtu] : {std::pair{1500u, 1024u},
                                       {4300u, 4096u},
                                       {4176u, 4096u},
                                       {4175u, 2048u},
                                       {9000u, 4096u},
                                       {1103u, 512u},
                                       {335u, 0u}})
    EXPECT_EQ(active_mtu_of(interface), mtu) << interface;
}

TEST(InterfaceHostTest, SharedMemoryOfANameIsAHostByItself) {
  const auto host = [](const char* interface) { return host_of({.interface = interface}); };
  const HostEntry a = host("shm:a");
  EXPECT_EQ(a.ipv4, 0x7f000001u);
  EXPECT_EQ(a.nic.active_mtu, 4096u);
  EXPECT_EQ(a.mac, host("shm:a").mac);
  EXPECT_NE(a.mac, host("shm:b").mac);
  EXPECT_EQ(a.mac[0] & 3, 2);  // locally administered, of one station
  EXPECT_STREQ(host("shm:a.B-c_9").name, "shm:a.B-c_9");
  for (const char* wrong : {"shm:", "shm:a/b", "shm:a b", "shm:0123456789012345678901234", "shm:\n"})
    EXPECT_THROW(host(wrong), std::runtime_error) << wrong;
}

TEST(InterfaceHostTest, SettingsComeFromTheEnvironment) {
  setenv("ROCELAB_INTERFACE", "eth9", 1);
  setenv("ROCELAB_TRANSPORT", "irn", 1);
  setenv("ROCELAB_WINDOW", "64", 1);
  const Settings s = settings_from_environment();
  EXPECT_EQ(s.interface, "eth9");
  const NicConfig nic = nic_config_of(s, 1024);
  EXPECT_EQ(nic.mode, TransportMode::kIrn);
  EXPECT_EQ(nic.irn.bdp_cap, 64u);
  for (const char* wrong : {"0", "x", "64k", "-1"}) {
    setenv("ROCELAB_WINDOW", wrong, 1);
    EXPECT_THROW(settings_from_environment(), std::runtime_error) << wrong;
  }
  setenv("ROCELAB_WINDOW", "", 1);
  setenv("ROCELAB_TRANSPORT", "tcp", 1);
  EXPECT_THROW(settings_from_environment(), std::runtime_error);
  for (const char* name : {"ROCELAB_INTERFACE", "ROCELAB_TRANSPORT", "ROCELAB_WINDOW"}) unsetenv(name);
}

}  // namespace
}  // namespace rocelab::direct
