// Unmodified programs over the preloaded library: what they print and how they end. What the surface claims:
// programs_probe_test.cc.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "irn_provider/verbs/program_pair.h"
#include "irn_provider/verbs/sanitizer.h"
#include "irn_provider/verbs/test_fabric.h"

namespace rocelab::verbs {
namespace {

NicConfig nic(TransportMode mode) {
  NicConfig config;
  config.mode = mode;
  return config;
}

TEST(ProgramsTest, IbvDevicesListsTheOneDeviceWithTheGuidOfItsMac) {
  TestFabric fabric(2, 2, nic(TransportMode::kRoce));
  const auto p = fabric.start(1, {"ibv_devices"});
  ASSERT_TRUE(fabric.run());
  EXPECT_EQ(fabric.program(p).exit_code(), 0);
  EXPECT_NE(fabric.program(p).output().find("rocelab0        \t000000fffe000002"), std::string::npos)
      << fabric.program(p).output();
}

TEST(ProgramsTest, IbvDevinfoShowsPortAndGids) {
  TestFabric fabric(2, 2, nic(TransportMode::kRoce));
  const auto p = fabric.start(0, {"ibv_devinfo", "-v"});
  ASSERT_TRUE(fabric.run());
  const std::string text = fabric.program(p).output();
  EXPECT_EQ(fabric.program(p).exit_code(), 0);
  for (const char* line :
       {"hca_id:\trocelab0", "transport:\t\t\tInfiniBand (0)", "max_qp_wr:\t\t\t16384", "max_sge:\t\t\t16",
        "state:\t\t\tPORT_ACTIVE (4)", "link_layer:\t\tEthernet", "active_mtu:\t\t4096 (5)",
        "fe80::ff:fe00:1, RoCE v2", "::ffff:10.0.0.1, RoCE v2", "vendor_id:\t\t\t0xffffff"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
}

// ibv_rc_pingpong between h1 (client) and h2 (server), unmodified, with the same options on both sides.
ProgramPair ping_pong(TransportMode mode, std::vector<std::string> options, int port) {
  std::vector<std::string> command = {"ibv_rc_pingpong", "-g", "1", "-p", std::to_string(port)};
  command.insert(command.end(), options.begin(), options.end());
  const ProgramPair pair = run_pair(nic(mode), command, port, Clock::kTogether);
  EXPECT_EQ(pair.detaches, 0u);
  return pair;
}

class PingPongTest : public ::testing::TestWithParam<TransportMode> {
 protected:
  ProgramPair run(const std::vector<std::string>& options) {
    return ping_pong(GetParam(), options, free_port());
  }
};
void expect_ok(const ProgramPair& p, const std::string& options) {
  EXPECT_EQ(p.exit_codes[0], 0) << options << "\n" << p.server;
  EXPECT_EQ(p.exit_codes[1], 0) << options << "\n" << p.client;
}

TEST_P(PingPongTest, RunsUnmodifiedWithEveryOptionThatIsOffered) {
  for (const std::vector<std::string>& options :
       std::vector<std::vector<std::string>>{{},
                                             {"-c"},
                                             {"-e"},
                                             {"-e", "-c", "-n", "100"},
                                             {"-d", "rocelab0", "-i", "1"},
                                             {"-m", "256", "-s", "1000"},
                                             {"-s", "1", "-n", "1000"},
                                             {"-s", "1048576", "-n", "10", "-c"},
                                             {"-r", "10"},
                                             {"-l", "0"}}) {
    std::string text;
    for (const std::string& o : options) text += o + " ";
    expect_ok(run(options), text);
  }
}

// "1000 iters in 0.01 seconds = 10.25 usec/iter"
double usec_per_iteration(const std::string& text) {
  const std::size_t end = text.find(" usec/iter"), begin = text.rfind("= ", end);
  return end != std::string::npos && begin != std::string::npos
             ? std::stod(text.substr(begin + 2, end - begin))
             : -1;
}

// One way: the message's frames one after the other, two links, and once more the last frame at the switch. A
// round trip is two of them; an ACK, which leaves ahead of the answer, adds its own serialisation to each.
// RoCE; in IRN mode the headers differ and every packet is acknowledged.
TEST_P(PingPongTest, PrintsTheTimesOfThePathTheSameEveryTime) {
  const NicConfig config = nic(GetParam());
  const bool irn = GetParam() == TransportMode::kIrn;
  for (const std::int64_t size : {1, 1'024, 65'536, 1'048'576}) {
    const std::vector<std::string> options = {"-s", std::to_string(size), "-n", size > 1'024 ? "20" : "100"};
    const ProgramPair first = run(options), second = run(options);
    const double got = usec_per_iteration(first.client);
    EXPECT_EQ(got, usec_per_iteration(second.client)) << size;
    const std::int64_t headers = 58 + (irn ? 8 : 0), packets = (size + 1'023) / 1'024;
    const auto frame = [&](std::int64_t payload) {
      return wire_time(Bytes::from_count(std::max<std::int64_t>(60, headers + (payload + 3) / 4 * 4)),
                       config.link_rate);
    };
    const Duration last = frame(size - (packets - 1) * 1'024);
    const Duration one_way = frame(1'024) * (packets - 1) + last + last + config.link_delay * 2;
    const double want = 2 * one_way.seconds() * 1e6;
    EXPECT_NEAR(got, want, 0.02 * want) << "size " << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, PingPongTest, ::testing::Values(TransportMode::kRoce, TransportMode::kIrn),
                         [](const auto& mode) {
                           return mode.param == TransportMode::kRoce ? "Roce" : "Irn";
                         });

// tests/probes/verbs/exit_probe.cc: a signal's handler calls exit() while threads wait. Nothing is left to
// wait for.
TEST(ProgramsTest, ExitInASignalsHandlerEndsTheProgramInOrder) {
  if (kThreadSanitizer) GTEST_SKIP() << "signals come late: sanitizer.h";
  for (const char* filter : {"ExitWhileParked.*", "ExitWhileOutside.*"}) {
    TestFabric fabric(1, 0, nic(TransportMode::kRoce));
    fabric.segment().header().grace_wall_ns = 50'000'000;
    fabric.drive_once();
    const auto p = fabric.start(0, {ROCELAB_PROBE, std::string("--gtest_filter=") + filter});
    const auto says = [&](const char* word) {
      return fabric.program(p).output().find(word) != std::string::npos;
    };
    for (int i = 0; i < 60'000 && !says("waits\n") && fabric.program(p).status == -1; ++i)
      fabric.drive_and_reap();
    for (int i = 0; i < 100; ++i) fabric.drive_once();  // beyond the grace
    ASSERT_EQ(fabric.program(p).status, -1) << fabric.program(p).output();
    ASSERT_EQ(kill(fabric.program(p).pid, SIGTERM), 0);
    EXPECT_TRUE(fabric.run()) << filter;
    EXPECT_EQ(fabric.program(p).exit_code(), 7) << fabric.program(p).output();
    EXPECT_TRUE(says("arrived\nleft\n")) << filter << "\n" << fabric.program(p).output();
  }
}

// libfabric's datagram endpoints: a thread of it, the name server, waits in accept(2) from start to end.
TEST(ProgramsTest, DatagramsOfLibfabricGoBothWaysBesideItsNameServer) {
  if (kThreadSanitizer) GTEST_SKIP() << "libnuma opens a file before ThreadSanitizer's runtime has begun";
  if (!enter_own_network()) GTEST_SKIP() << "needs root: a network namespace";
  const std::vector<std::string> server = {"fi_pingpong", "-p", "verbs", "-e", "dgram", "-I", "100"};
  std::vector<std::string> client = server;
  client.push_back("10.0.0.2");
  constexpr int kPort = 47592;  // fi_pingpong's
  const ProgramPair pair =
      run_server_and_client(nic(TransportMode::kIrn), server, client, kPort, Clock::kKept);
  EXPECT_EQ(pair.exit_codes[0], 0) << pair.server;
  EXPECT_EQ(pair.exit_codes[1], 0) << pair.client;
  EXPECT_NE(pair.client.find("1k      100     =100"), std::string::npos) << pair.client;
}

// Without a segment in its environment a program must not notice the library.
TEST(ProgramsTest, WithoutASegmentTheRealLibraryAnswers) {
  TestFabric fabric(1, 1, nic(TransportMode::kRoce));
  const auto real = fabric.start(0, {"env", "-u", "LD_PRELOAD", "-u", "ROCELAB_SEGMENT", "ibv_devices"});
  const auto preloaded = fabric.start(0, {"env", "-u", "ROCELAB_SEGMENT", "ibv_devices"});
  ASSERT_TRUE(fabric.run());
  EXPECT_EQ(fabric.program(preloaded).exit_code(), fabric.program(real).exit_code());
  EXPECT_EQ(fabric.program(preloaded).output(), fabric.program(real).output());
}

TEST(ProgramsTest, AnUnknownHostIsOneClearLineAndNoDevice) {
  TestFabric fabric(1, 1, nic(TransportMode::kRoce));
  const auto p = fabric.start(0, {"ibv_devices"}, {"ROCELAB_HOST=nobody"});
  ASSERT_TRUE(fabric.run());
  const std::string text = fabric.program(p).output();
  EXPECT_NE(text.find("rocelab: the run has no host 'nobody'\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("rocelab0"), std::string::npos) << text;
}

}  // namespace
}  // namespace rocelab::verbs
