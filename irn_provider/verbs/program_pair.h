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

// A network namespace of this process's own, where the hosts' addresses (10.0.0.0/8) are local: for programs
// that take one address for TCP and for rdma_cm. And a /dev/shm of its own. Once for good; false: it may not
// (root may).
bool enter_own_network();

// Links that qperf, which measures whole seconds, fills with few packets: slow ones, and long. IRN's timeouts
// are as much longer than the paper's.
NicConfig slow_nic(TransportMode mode);

// qperf on both hosts, in that network, for a second: the server, which has no end and goes when its client
// has gone, and the client with `options` and what is measured. The exit code of the server counts as 0.
ProgramPair run_qperf(const NicConfig& nic, const std::vector<std::string>& options);

// Runs `command`, which names `port` as the program wants it, as the server, and as the client with the
// server's address behind it. Fails the test if they do not end.
// kTogether: time begins when both have opened the device, and waits long for one that talks to the outside.
// kKept: as in a topology that `up` keeps: time goes on, and soon without a program that waits for its peer.
enum class Clock { kTogether, kKept };
// `settings`: of both programs' environment, NAME=VALUE.
ProgramPair run_pair(const NicConfig& nic, std::vector<std::string> command, int port, Clock clock,
                     const std::vector<std::string>& settings = {});
// The same with the client's words said.
ProgramPair run_server_and_client(const NicConfig& nic, const std::vector<std::string>& server,
                                  const std::vector<std::string>& client, int port, Clock clock,
                                  const std::vector<std::string>& settings = {});

}  // namespace rocelab::verbs
