#include "irn_provider/verbs/program_pair.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>

namespace rocelab::verbs {
namespace {

constexpr std::int64_t kKeptGraceNs = 50'000'000;
constexpr std::chrono::seconds kPatience(300);  // with sanitizers, on a machine that has other things to do

// Is somebody listening on this TCP port?
bool listening(int port) {
  char want[16];
  std::snprintf(want, sizeof want, ":%04X", port);
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream in(table);
    for (std::string slot, local, remote, state, rest;
         in >> slot >> local >> remote >> state && std::getline(in, rest);)
      if (local.ends_with(want) && state == "0A") return true;
  }
  return false;
}

bool set_address(int fd, const char* interface, const char* address) {
  ifreq request{};
  std::strncpy(request.ifr_name, interface, IFNAMSIZ - 1);
  sockaddr_in in{};
  in.sin_family = AF_INET;
  inet_pton(AF_INET, address, &in.sin_addr);
  std::memcpy(&request.ifr_addr, &in, sizeof in);
  if (ioctl(fd, SIOCSIFADDR, &request) != 0) return false;  // its class says the mask: 255.0.0.0
  request.ifr_flags = IFF_UP | IFF_RUNNING | IFF_LOOPBACK;
  return ioctl(fd, SIOCSIFFLAGS, &request) == 0;
}

}  // namespace

bool enter_own_network() {
  static const bool entered = [] {
    if (unshare(CLONE_NEWNET | CLONE_NEWNS) != 0) return false;
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", "/dev/shm", "tmpfs", 0, nullptr) != 0)
      return false;
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool set = set_address(fd, "lo", "127.0.0.1") && set_address(fd, "lo:1", "10.0.0.1");
    close(fd);
    return set;
  }();
  return entered;
}

// Below the ephemeral ones, and other test programs' begin elsewhere.
int free_port() {
  static int port = 21'000 + static_cast<int>(getpid() % 100) * 100;
  while (listening(++port)) continue;
  return port;
}

ProgramPair run_pair(const NicConfig& nic, std::vector<std::string> command, int port, Clock clock,
                     const std::vector<std::string>& settings) {
  const std::vector<std::string> server = command;
  command.push_back("127.0.0.1");
  return run_server_and_client(nic, server, command, port, clock, settings);
}

ProgramPair run_server_and_client(const NicConfig& nic, const std::vector<std::string>& server_words,
                                  const std::vector<std::string>& client_words, int port, Clock clock,
                                  const std::vector<std::string>& settings) {
  TestFabric fabric(2, clock == Clock::kTogether ? 2 : 0, nic);
  if (clock == Clock::kKept) {
    fabric.segment().header().grace_wall_ns = kKeptGraceNs;
    fabric.drive_once();  // time begins before the first program comes
  }
  const auto server = fabric.start(1, server_words, settings);
  for (int i = 0; i < 10'000 && !listening(port); ++i) fabric.drive_once();
  const auto client = fabric.start(0, client_words, settings);
  EXPECT_TRUE(fabric.run(kPatience));
  return {{fabric.program(server).exit_code(), fabric.program(client).exit_code()},
          fabric.program(server).output(),
          fabric.program(client).output(),
          fabric.segment().header().detaches.load()};
}

NicConfig slow_nic(TransportMode mode) {
  NicConfig nic;
  nic.mode = mode;
  nic.active_mtu = 1'024;
  nic.link_rate = 110_Mbps;
  nic.link_delay = 200_us;
  nic.irn.rto_low = nic.irn.rto_low * 10;
  nic.irn.rto_high = nic.irn.rto_high * 10;
  return nic;
}

ProgramPair run_qperf(const NicConfig& nic, const std::vector<std::string>& options) {
  TestFabric fabric(2, 0, nic);
  fabric.segment().header().grace_wall_ns = kKeptGraceNs;
  fabric.drive_once();
  const int port = free_port();
  const std::vector<std::string> listen = {"--listen_port", std::to_string(port)};
  std::vector<std::string> command = {"qperf"};
  command.insert(command.end(), listen.begin(), listen.end());
  const auto server = fabric.start(1, command);
  for (int i = 0; i < 10'000 && !listening(port); ++i) fabric.drive_once();
  command = {"qperf", "10.0.0.2", "-t", "1"};
  command.insert(command.end(), listen.begin(), listen.end());
  command.insert(command.end(), options.begin(), options.end());
  const auto client = fabric.start(0, command);
  EXPECT_TRUE(fabric.run_until_end_of(client, kPatience));
  return {{0, fabric.program(client).exit_code()},
          fabric.program(server).output(),
          fabric.program(client).output(),
          fabric.segment().header().detaches.load()};
}

}  // namespace rocelab::verbs
