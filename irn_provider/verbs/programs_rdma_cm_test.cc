// Programs over the unmodified librdmacm: two hosts of which one is silent or dies. The programs that run
// unmodified are rows of docs/reference/compatibility.md; what the surface claims: programs_probe_test.cc.
#include <gtest/gtest.h>
#include <signal.h>

#include "irn_provider/verbs/program_pair.h"
#include "irn_provider/verbs/test_fabric.h"
#include "lockstep/port_registry.h"

namespace rocelab::verbs {
namespace {

NicConfig nic(TransportMode mode) {
  NicConfig config;
  config.mode = mode;
  config.active_mtu = 1'024;
  return config;
}

class RdmaCmTest : public ::testing::TestWithParam<TransportMode> {
 protected:
  RdmaCmTest() : fabric(2, 2, nic(GetParam())) {}
  std::string output(std::size_t program) { return fabric.program(program).output(); }
  void expect_ok(std::size_t program) {
    EXPECT_EQ(fabric.program(program).exit_code(), 0) << output(program);
  }
  // The VF of h2 that has bound a TCP port of rdma_cm.
  std::optional<std::uint32_t> server_of(std::uint16_t port) {
    return lockstep::PortRegistry(fabric.segment().share_of(1), 0).owner(0, port);
  }
  TestFabric fabric;
};
// h2 serves, h1 asks; time begins when both are there, so the server listens first.
TEST_P(RdmaCmTest, RpingPrintsWhatItSent) {
  const auto server = fabric.start(1, {"rping", "-s", "-a", "10.0.0.2", "-C", "5", "-v"});
  const auto client = fabric.start(0, {"rping", "-c", "-a", "10.0.0.2", "-C", "5", "-v"});
  EXPECT_TRUE(fabric.run());
  expect_ok(server);
  expect_ok(client);
  EXPECT_NE(output(client).find("ping data: rdma-ping-4"), std::string::npos) << output(client);
  EXPECT_FALSE(server_of(7174));
}

TEST_P(RdmaCmTest, BandwidthOverRdmaCmIsThatOfTheWireAndNoThreadWasLeftBehind) {
  const auto server = fabric.start(1, {"ib_write_bw", "-R", "-F", "-n", "200", "--report_gbits"});
  const auto client = fabric.start(0, {"ib_write_bw", "-R", "-F", "-n", "200", "--report_gbits", "10.0.0.2"});
  EXPECT_TRUE(fabric.run());
  expect_ok(server);
  expect_ok(client);
  double gbps = 0;
  const std::string text = output(client);
  std::sscanf(text.c_str() + text.find("65536"), "%*d %*d %*f %lf", &gbps);
  EXPECT_NEAR(gbps, GetParam() == TransportMode::kRoce ? 37.0 : 36.5, 0.4) << text;
  EXPECT_EQ(fabric.segment().header().detaches.load(), 0u);
}

// The server is killed: its port is free for the next one, and the client's QP gives up.
TEST_P(RdmaCmTest, DeadServerLeavesNoListener) {
  const auto first = fabric.start(1, {"rping", "-s", "-a", "10.0.0.2", "-C", "1"});
  const auto other = fabric.start(1, {"rping", "-s", "-a", "10.0.0.2", "-C", "1"});
  for (int i = 0; i < 10'000 && !server_of(7174); ++i) fabric.drive_once();
  ASSERT_TRUE(server_of(7174));
  // One of the two could not bind.
  while (fabric.program(first).status == -1 && fabric.program(other).status == -1) fabric.drive_and_reap();
  const auto listener = fabric.program(first).status == -1 ? first : other;
  const auto late = listener == first ? other : first;
  EXPECT_NE(output(late).find("Address already in use"), std::string::npos) << output(late);
  kill(fabric.program(listener).pid, SIGKILL);
  for (int i = 0; i < 10'000 && server_of(7174); ++i) fabric.drive_and_reap();
  EXPECT_FALSE(server_of(7174));
  EXPECT_TRUE(fabric.run());
}

// A request that nobody listens for is refused, and the reason shows in the slots of those who heard it.
TEST_P(RdmaCmTest, WhatConnectionManagersDropIsCountedInTheirSlots) {
  const auto counted = [this](std::size_t host, std::uint64_t cm::CmCounters::*counter) {
    const std::uint32_t vfs = fabric.segment().header().vfs_per_host;
    std::uint64_t sum = 0;
    for (const lockstep::VfSlot& slot : fabric.segment().vfs().subspan(host * vfs, vfs))
      sum += slot.result.cm_counters.*counter;
    return sum;
  };
  fabric.start(1, {"rping", "-s", "-a", "10.0.0.2", "-C", "1"});
  const auto lost = fabric.start(0, {"rping", "-c", "-a", "10.0.0.2", "-p", "7999", "-C", "1"});
  while (fabric.program(lost).status == -1) fabric.drive_and_reap();
  EXPECT_EQ(counted(1, &cm::CmCounters::rx_no_listener), 1u);
  EXPECT_EQ(counted(1, &cm::CmCounters::rx_malformed), 0u);
  const std::uint64_t before = counted(1, &cm::CmCounters::rx_mads);
  fabric.start(0, {"rping", "-c", "-a", "10.0.0.2", "-C", "1"});
  EXPECT_TRUE(fabric.run());
  EXPECT_EQ(counted(1, &cm::CmCounters::rx_no_listener), 1u);
  EXPECT_GE(counted(1, &cm::CmCounters::rx_mads), before + 2);  // REQ, RTU
  EXPECT_GE(counted(0, &cm::CmCounters::rx_mads), 2u);          // REJ, REP: of both programs
  EXPECT_GE(counted(0, &cm::CmCounters::tx_mads), 3u);
}

// One NIC speaks IRN, the other does not: the two agree on RC, whoever asks. The parameter is the client's
// mode.
class RdmaCmMixedTest : public RdmaCmTest {};

TEST_P(RdmaCmMixedTest, EndsOfDifferentModesAgreeOnRoce) {
  const bool irn = GetParam() == TransportMode::kIrn;
  fabric.segment().hosts()[1].nic.mode = irn ? TransportMode::kRoce : TransportMode::kIrn;
  const auto server = fabric.start(1, {"ib_send_bw", "-R", "-F", "-n", "100"});
  const auto client = fabric.start(0, {"ib_send_bw", "-R", "-F", "-n", "100", "10.0.0.2"});
  EXPECT_TRUE(fabric.run());
  expect_ok(server);
  expect_ok(client);
}

const auto kModes = ::testing::Values(TransportMode::kRoce, TransportMode::kIrn);
std::string mode_name(const ::testing::TestParamInfo<TransportMode>& mode) {
  return mode.param == TransportMode::kRoce ? "Roce" : "Irn";
}
INSTANTIATE_TEST_SUITE_P(Modes, RdmaCmTest, kModes, mode_name);
INSTANTIATE_TEST_SUITE_P(Modes, RdmaCmMixedTest, kModes, mode_name);

}  // namespace
}  // namespace rocelab::verbs
