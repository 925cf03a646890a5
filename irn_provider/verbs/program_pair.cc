#include "irn_provider/verbs/program_pair.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
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

}  // namespace

// Below the ephemeral ones, and other test programs' begin elsewhere.
int free_port() {
  static int port = 21'000 + static_cast<int>(getpid() % 100) * 100;
  while (listening(++port)) continue;
  return port;
}

ProgramPair run_pair(const NicConfig& nic, std::vector<std::string> command, int port, Clock clock,
                     const std::vector<std::string>& settings) {
  TestFabric fabric(2, clock == Clock::kTogether ? 2 : 0, nic);
  if (clock == Clock::kKept) {
    fabric.segment().header().grace_wall_ns = kKeptGraceNs;
    fabric.drive_once();  // time begins before the first program comes
  }
  const auto server = fabric.start(1, command, settings);
  for (int i = 0; i < 10'000 && !listening(port); ++i) fabric.drive_once();
  command.push_back("127.0.0.1");
  const auto client = fabric.start(0, command, settings);
  EXPECT_TRUE(fabric.run(kPatience));
  return {{fabric.program(server).exit_code(), fabric.program(client).exit_code()},
          fabric.program(server).output(),
          fabric.program(client).output(),
          fabric.segment().header().detaches.load()};
}

}  // namespace rocelab::verbs
