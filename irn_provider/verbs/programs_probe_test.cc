// Programs of claims about the surface (tests/probes), preloaded, on a host of a TestFabric.
#include <gtest/gtest.h>
#include <unistd.h>

#include "irn_provider/verbs/test_fabric.h"

namespace rocelab::verbs {
namespace {

// The claims of tests/probes/verbs, each a test of its own in there; its output is shown when one fails.
class ProbeTest : public ::testing::TestWithParam<TransportMode> {
 protected:
  static NicConfig nic() {
    NicConfig config;
    config.mode = GetParam();
    return config;
  }
};

TEST_P(ProbeTest, SurfaceKeepsItsClaims) {
  for (const char* filter : {"DataProbe.*",
                             "DatagramProbe.*",
                             "RefusalProbe.*",
                             "EventProbe.*",
                             "SrqProbe.*",
                             "XrcProbe.*",
                             "DrainProbe.*",
                             "CloseProbe.*",
                             "ExhaustionProbe.*",
                             "NullProbe.*",
                             "ExtendedProbe.*",
                             "BuilderProbe.*",
                             "TimeProbe.*",
                             "TimeBeforeTheDevice.*",
                             "TimerProbe.*",
                             "TimerFdProbe.*",
                             "SignalProbe.*",
                             "ThreadProbe.*",
                             "BirthProbe.*",
                             "ForkProbe.*",
                             "LoaderProbe.*",
                             "StopProbe.*",
                             "SpinProbe.*",
                             "ForeignSignalProbe.*",
                             "ErrnoProbe.*",
                             "HandleProbe.*",
                             "ResponderProbe.*",
                             "FileProbe.*",
                             "HolderProbe.*",
                             "OpeningProbe.ClocksGoOn*",
                             "OpeningProbe.ClocksOfChildren*"}) {
    NicConfig config = nic();
    // Enough of them to see that all is counted, few enough to make them all.
    if (std::string(filter) == "ExhaustionProbe.*")
      config.max_qps = 200, config.max_cqs = 300, config.max_mrs = 500;
    TestFabric fabric(1, 1, config);
    const bool birth = std::string(filter) == "BirthProbe.*";
    const bool threads = birth || std::string(filter) == "ThreadProbe.*";
    if (threads) fabric.segment().header().grace_wall_ns = 3'600'000'000'000;  // none holds up time for it
    if (std::string(filter) == "StopProbe.*") {
      fabric.segment().header().grace_wall_ns = 200'000'000;
      fabric.segment().header().stopped_wall_ns = 300'000'000;
    }
    if (std::string(filter) == "HolderProbe.*") fabric.segment().header().grace_wall_ns = 20'000'000;
    const auto p =
        fabric.start(0, {ROCELAB_PROBE, std::string("--gtest_filter=") + filter},
                     birth ? std::vector<std::string>{"ROCELAB_MEMORY_POLL=1"} : std::vector<std::string>{});
    EXPECT_TRUE(fabric.run()) << filter;
    EXPECT_EQ(fabric.program(p).exit_code(), 0) << fabric.program(p).output();
    EXPECT_EQ(fabric.program(p).output().find("Running 0 tests"), std::string::npos) << filter;
    if (threads) {
      EXPECT_EQ(fabric.segment().header().detaches.load(), 0u) << "nobody was left behind";
    }
  }
}

// In a network namespace with an interface that has the host's address.
TEST_P(ProbeTest, TheDeviceNamesItsInterface) {
  if (geteuid() != 0) GTEST_SKIP() << "a network namespace takes root";
  TestFabric fabric(1, 1, nic());
  const auto p =
      fabric.start(0, {"unshare", "-n", "sh", "-ec",
                       "ip link add rl0 type veth peer name rl1; ip address add 10.0.0.1/24 dev rl0;"
                       "exec \"$0\" --gtest_filter='InterfaceProbe.*'",
                       ROCELAB_PROBE});
  EXPECT_TRUE(fabric.run());
  EXPECT_EQ(fabric.program(p).exit_code(), 0) << fabric.program(p).output();
  EXPECT_NE(fabric.program(p).output().find("[  PASSED  ] 2 tests"), std::string::npos);
}

// Over packet sockets, where an empty poll asks the kernel and is told EAGAIN.
TEST_P(ProbeTest, CallsThatSucceedLeaveErrnoAloneOnAnInterface) {
  if (geteuid() != 0) GTEST_SKIP() << "a network namespace takes root";
  TestFabric fabric(1, 1, nic());
  const std::string transport = GetParam() == TransportMode::kRoce ? "roce" : "irn";
  const auto p = fabric.start(
      0, {"env", "-u", "ROCELAB_SEGMENT", "ROCELAB_TRANSPORT=" + transport, "ROCELAB_INTERFACE=rl0",
          "unshare", "-n", "sh", "-ec",
          "ip link add rl0 type veth peer name rl1; ip address add 10.0.0.1/24 dev rl0;"
          "ip link set rl0 up; ip link set rl1 up;"
          "\"$0\" --gtest_filter=RefusalProbe.CallsThatSucceed*; exec \"$1\" --gtest_filter=*AnAnswerWhose*",
          ROCELAB_PROBE, ROCELAB_CM_PROBE});
  EXPECT_TRUE(fabric.run());
  EXPECT_EQ(fabric.program(p).exit_code(), 0) << fabric.program(p).output();
  EXPECT_NE(fabric.program(p).output().find("AnAnswerWhose"), std::string::npos);
}

// Once by itself, and once by who waits for it.
TEST_P(ProbeTest, AProgramThatHoldsTimeForASecondIsNamed) {
  TestFabric fabric(2, 2, nic());
  fabric.segment().header().grace_wall_ns = 20'000'000;
  const auto holder =
      fabric.start(0, {ROCELAB_PROBE, "--gtest_filter=StandstillProbe.HoldsTime"}, {"ROCELAB_MEMORY_POLL=0"});
  const auto waiter = fabric.start(1, {ROCELAB_PROBE, "--gtest_filter=StandstillProbe.WaitsForIt"});
  EXPECT_TRUE(fabric.run());
  const auto count = [](const std::string& text, const std::string& what) {
    int n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
  };
  const std::string held = fabric.program(holder).output(), waited = fabric.program(waiter).output();
  EXPECT_EQ(count(held, " on h1 has held experiment time at "), 1) << held;
  EXPECT_EQ(count(waited, "h2: experiment time has stood at "), 1) << waited;
  EXPECT_EQ(count(waited, "verbs_probe (pid "), 1) << waited;
  EXPECT_EQ(count(waited, ") on h1 holds it"), 1) << waited;
}

TEST_P(ProbeTest, ALinkThatFailsIsAnEvent) {
  constexpr std::int64_t kFailsPs = 5'000'000'000, kRecoversPs = 8'000'000'000;
  TestFabric fabric(1, 1, nic(), {{kFailsPs, 0, 0}, {kRecoversPs, 0, 1}});
  const auto p = fabric.start(0, {ROCELAB_PROBE, "--gtest_filter=LinkProbe.*"});
  EXPECT_TRUE(fabric.run());
  EXPECT_EQ(fabric.program(p).exit_code(), 0) << fabric.program(p).output();
  EXPECT_NE(fabric.program(p).output().find("[  PASSED  ] 1 test"), std::string::npos);
}

// Over shared memory, in real time: all but what is about the experiment's time and its switch.
TEST_P(ProbeTest, SurfaceKeepsItsClaimsOverSharedMemory) {
  TestFabric fabric(1, 1, nic());
  const std::string transport = GetParam() == TransportMode::kRoce ? "roce" : "irn";
  const auto p = fabric.start(0, {"env", "-u", "ROCELAB_SEGMENT", "ROCELAB_TRANSPORT=" + transport,
                                  "ROCELAB_INTERFACE=shm:probe." + std::to_string(getpid()), ROCELAB_PROBE,
                                  "--gtest_filter=-Time*:ThreadProbe.*:ExhaustionProbe.*:InterfaceProbe.*:"
                                  "StopProbe.*:HolderProbe.*:StandstillProbe.*:OpeningProbe.*:ExitWhile*:"
                                  "BirthProbe.*:LinkProbe.*:SpinProbe.*:"
                                  "EventProbe.GetCqEventWaitsInExperimentTime:"
                                  "ExtendedProbe.TimestampsAreExperimentTime:"
                                  "DatagramProbe.TellsTheMacOfAnAddressAndRefusesStrangers"});
  EXPECT_TRUE(fabric.run());
  EXPECT_EQ(fabric.program(p).exit_code(), 0) << fabric.program(p).output();
  EXPECT_NE(fabric.program(p).output().find("ForkProbe"), std::string::npos);
}

// The same of tests/probes/rdma_cm, over the unmodified librdmacm.
TEST_P(ProbeTest, ConnectionManagerKeepsItsClaims) {
  NicConfig config = nic();
  config.active_mtu = 1'024;
  for (const char* filter : {"-CmForkProbe.*", "CmForkProbe.*"}) {
    TestFabric fabric(2, 1, config);
    const auto p = fabric.start(0, {ROCELAB_CM_PROBE, std::string("--gtest_filter=") + filter});
    EXPECT_TRUE(fabric.run()) << filter;
    EXPECT_EQ(fabric.program(p).exit_code(), 0) << fabric.program(p).output();
    EXPECT_NE(fabric.program(p).output().find("[  PASSED  ]"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, ProbeTest, ::testing::Values(TransportMode::kRoce, TransportMode::kIrn),
                         [](const auto& mode) {
                           return mode.param == TransportMode::kRoce ? "Roce" : "Irn";
                         });

}  // namespace
}  // namespace rocelab::verbs
