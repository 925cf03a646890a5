// For tests: two programs that find each other over TCP, as ibv_rc_pingpong and perftest do, the server on h2
// and the client on h1 of a TestFabric.
#pragma once

#include <string>
#include <vector>

#include "irn_provider/verbs/test_fabric.h"

namespace rocelab::verbs {

struct ProgramPair {
  int exit_codes[2];  // server, client
  std::string server, client;
  std::uint64_t detaches = 0;
};

// A TCP port that no test of this process has used.
int free_port();

// Runs `command`, which names `port` as the program wants it, as the server, and as the client with the
// server's address behind it. Fails the test if they do not end.
// kTogether: time begins when both have opened the device, and waits long for one that talks to the outside.
// kKept: as in a topology that `up` keeps: time goes on, and soon without a program that waits for its peer.
enum class Clock { kTogether, kKept };
// `settings`: of both programs' environment, NAME=VALUE.
ProgramPair run_pair(const NicConfig& nic, std::vector<std::string> command, int port, Clock clock,
                     const std::vector<std::string>& settings = {});

}  // namespace rocelab::verbs
