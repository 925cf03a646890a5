// Unmodified programs over the preloaded library: what they print and how they end.
#include <gtest/gtest.h>

#include <fstream>

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
        "fe80::ff:fe00:1, RoCE v2", "::ffff:10.0.0.1, RoCE v2", "vendor_id:\t\t\t0x0000"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
}

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

struct PingPong {
  int exit_codes[2];
  std::string server, client;
};

// ibv_rc_pingpong between h1 (client) and h2 (server), unmodified, with the same options on both sides.
PingPong ping_pong(TransportMode mode, std::vector<std::string> options, int port) {
  TestFabric fabric(2, 2, nic(mode));
  std::vector<std::string> command = {"ibv_rc_pingpong", "-g", "1", "-p", std::to_string(port)};
  command.insert(command.end(), options.begin(), options.end());
  const auto server = fabric.start(1, command);
  for (int i = 0; i < 1'000 && !listening(port); ++i) fabric.drive_once();
  command.push_back("127.0.0.1");
  const auto client = fabric.start(0, command);
  EXPECT_TRUE(fabric.run());
  EXPECT_EQ(fabric.segment().header().detaches.load(), 0u);
  return {{fabric.program(server).exit_code(), fabric.program(client).exit_code()},
          fabric.program(server).output(),
          fabric.program(client).output()};
}

class PingPongTest : public ::testing::TestWithParam<TransportMode> {
 protected:
  PingPong run(const std::vector<std::string>& options) { return ping_pong(GetParam(), options, port_++); }
  static int port_;
};
int PingPongTest::port_ = 21'000 + static_cast<int>(getpid() % 1'000) * 10;

void expect_ok(const PingPong& p, const std::string& options) {
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
    const PingPong first = run(options), second = run(options);
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

// The claims of probe/*.cc, each a test of its own in there; its output is shown when one fails.
class ProbeTest : public ::testing::TestWithParam<TransportMode> {};

TEST_P(ProbeTest, SurfaceKeepsItsClaims) {
  for (const char* filter :
       {"DataProbe.*", "RefusalProbe.*", "EventProbe.*", "TimeProbe.*", "TimeBeforeTheDevice.*"}) {
    TestFabric fabric(1, 1, nic(GetParam()));
    const auto p = fabric.start(0, {ROCELAB_PROBE, std::string("--gtest_filter=") + filter});
    EXPECT_TRUE(fabric.run()) << filter;
    EXPECT_EQ(fabric.program(p).exit_code(), 0) << fabric.program(p).output();
    EXPECT_EQ(fabric.program(p).output().find("Running 0 tests"), std::string::npos) << filter;
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, ProbeTest, ::testing::Values(TransportMode::kRoce, TransportMode::kIrn),
                         [](const auto& mode) {
                           return mode.param == TransportMode::kRoce ? "Roce" : "Irn";
                         });

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
