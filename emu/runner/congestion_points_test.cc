// [switch.p4qcn], [switch.qcn] and [switch.pi_marking]: the switches' part of a congestion control follows
// the label that runs it.
#include <gtest/gtest.h>

#include <cstring>

#include "emu/runner/complaint_fixture.h"
#include "emu/runner/plan.h"
#include "emu/runner/scenario.h"
#include "irn_provider/cc/algorithms.h"
#include "ovs_patches/switch_model/mechanisms/mechanisms.h"

namespace rocelab {
namespace {

std::string text(const std::string& transport, const std::string& more) {
  return "transport = [" + transport + R"(]
[topology]
kind = "star"
hosts = 3
)" + more;
}
std::vector<Settings> settings(const std::string& transport, const std::string& more = "") {
  return parse_scenario(text(transport, more), "t.toml", {}).settings;
}
std::string complaint(const std::string& more, const std::string& transport = R"("roce+pfc")") {
  return complaint_of([&] {
    const Scenario scenario = parse_scenario(text(transport, more), "t.toml", {});
    make_plan(scenario, scenario.settings[0], 1);
  });
}

TEST(CongestionPointsTest, AreOnWhereALabelRunsThemAndNowhereElse) {
  for (const Settings& s : settings(R"("roce+pfc", "roce+pfc+rocc", "irn+p4qcn", "roce+pfc+qcn")")) {
    EXPECT_EQ(s.switches.mechanisms.of<P4qcnMechanism>().enabled, s.label == "irn+p4qcn") << s.label;
    EXPECT_EQ(s.switches.mechanisms.of<QcnMechanism>().enabled, s.label == "roce+pfc+qcn") << s.label;
  }
}

// The mechanism marks, and no thresholds of the switch do.
TEST(CongestionPointsTest, OfP4qcnWithThreePointsMarkAndTheReceiverAnswers) {
  for (const Settings& s : settings(R"("roce+pfc+p4qcn", "roce+pfc+p4qcn3")")) {
    const bool three = s.label == "roce+pfc+p4qcn3";
    EXPECT_TRUE(s.switches.mechanisms.of<P4qcnMechanism>().enabled);
    EXPECT_EQ(s.switches.mechanisms.of<P4qcnMechanism>().marks, three);
    EXPECT_EQ(s.nic.config.ecn_capable, three);
    EXPECT_FALSE(s.switches.classes[3].ecn.enabled);
    EXPECT_EQ(s.nic.config.cc.needs().cnps, three);
    EXPECT_TRUE(s.warnings.empty());
  }
  const std::string rdma = "[congestion_control.p4qcn3]\npreset = \"rdma\"\ncnp_interval = \"20us\"\n";
  const Settings s = settings(R"("irn+p4qcn3")", rdma)[0];
  EXPECT_EQ(s.switches.mechanisms.of<P4qcnMechanism>().count, P4qcnCount::kBytes);
  EXPECT_EQ(s.nic.config.cc.cnp_interval(), 20_us);
}

TEST(CongestionPointsTest, OfDcqcnWithAPiControllerMarkInPlaceOfThresholds) {
  for (const Settings& s : settings(R"("roce+pfc+dcqcn", "roce+pfc+dcqcn-pi")")) {
    const bool pi = s.label == "roce+pfc+dcqcn-pi";
    EXPECT_EQ(s.switches.mechanisms.of<PiMarkingMechanism>().enabled, pi);
    EXPECT_EQ(s.switches.classes[3].ecn.enabled, !pi);
    EXPECT_TRUE(s.nic.config.ecn_capable);
    EXPECT_TRUE(s.nic.config.cc.needs().cnps);
    EXPECT_TRUE(s.warnings.empty());
  }
  const std::string keys =
      "[congestion_control.dcqcn-pi]\npreset = \"rocc-authors\"\n[switch.pi_marking]\nform = \"direct\"\n";
  const Settings s = settings(R"("roce+pfc+dcqcn-pi")", keys)[0];
  EXPECT_EQ(s.nic.config.cc.get<DcqcnPi>()->rate_ai, 4_Mbps);
  EXPECT_EQ(s.switches.mechanisms.of<PiMarkingMechanism>().form, PiForm::kDirect);
}

TEST(CongestionPointsTest, OfBfcAreQueuesByFlowAndItsLabelMarksNothing) {
  for (const Settings& s : settings(R"("roce+dcqcn", "roce+bfc")", "[switch.bfc]\nqueues = 16\n")) {
    const bool bfc = s.label == "roce+bfc";
    EXPECT_EQ(s.switches.mechanisms.of<BfcMechanism>().enabled, bfc);
    EXPECT_EQ(s.switches.mechanisms.of<BfcMechanism>().queues, 16u);
    EXPECT_EQ(s.switches.classes[3].ecn.enabled, !bfc);
    EXPECT_EQ(s.nic.config.cc.needs().queue_pauses, bfc);
    EXPECT_FALSE(s.switches.pfc.enabled);
  }
}

TEST(CongestionPointsTest, BeginWithThePresetOfTheReactionPointAndKeysChangeIt) {
  const auto p4qcn = [](const std::string& more) {
    return settings(R"("roce+pfc+p4qcn")", more)[0].switches.mechanisms.of<P4qcnMechanism>();
  };
  EXPECT_EQ(p4qcn("").count, P4qcnCount::kFrames);
  EXPECT_EQ(p4qcn("").frames_max, 11u);
  const std::string rdma = "[congestion_control.p4qcn]\npreset = \"rdma\"\n";
  EXPECT_EQ(p4qcn(rdma).count, P4qcnCount::kBytes);
  EXPECT_EQ(p4qcn(rdma).q_max, kComputed);
  EXPECT_EQ(p4qcn(rdma + "[switch.p4qcn]\nq_max = \"100KB\"\ncount = \"frames\"\n").count,
            P4qcnCount::kFrames);
  const Settings scaled = settings(R"("roce+pfc+qcn")", "[congestion_control.qcn]\npreset = \"scaled\"\n")[0];
  EXPECT_EQ(scaled.switches.mechanisms.of<QcnMechanism>().scale_from, 10_Gbps);
}

TEST(CongestionPointsTest, AGroupOfSwitchesMayHaveOthers) {
  const Settings s = settings(
      R"("roce+pfc+qcn")", "[[switch_group]]\nswitches = [\"s1\"]\n[switch_group.qcn]\nq_eq = \"50KB\"\n")[0];
  EXPECT_EQ(s.switches.mechanisms.of<QcnMechanism>().q_eq, 26_KB);
  EXPECT_EQ(s.switch_groups[0].config.mechanisms.of<QcnMechanism>().q_eq, 50_KB);
  EXPECT_TRUE(s.switch_groups[0].config.mechanisms.of<QcnMechanism>().enabled);
}

TEST(CongestionPointsTest, AMistakeIsOneLineWithPlaceBoundsAndTheNearestName) {
  const auto expect = [](const std::string& told, const char* want) {
    EXPECT_NE(told.find(want), std::string::npos) << told;
  };
  expect(complaint("[switch.p4qcn]\nframe_min = 5\n"), "did you mean \"frames_min\"?");
  expect(complaint("[switch.p4qcn]\nframes_min = 12\n"), "switch.p4qcn.frames_min is more than frames_max");
  expect(complaint("[switch.p4qcn]\nq_min = \"2KB\"\nq_max = \"1KB\"\n"),
         "switch.p4qcn.q_min is more than q_max");
  expect(complaint("[switch.p4qcn]\np_max = 1.5\n"), "outside");
  expect(complaint("[switch.p4qcn]\nflows = 0\n"), "outside");
  expect(complaint("[switch.p4qcn]\ndepth = \"ports\"\n"), "did you mean \"port\"?");
  expect(complaint("[switch.p4qcn]\ngap = 50\n"), "has no unit");
  expect(complaint("[switch.p4qcn]\ndscp = 26\n", R"("roce+pfc+p4qcn")"),
         "P4QCN's feedback would be of the lossless class 3");
  expect(complaint("[switch.p4qcn]\ncount = \"bytes\"\nq_min = \"900KB\"\n", R"("roce+pfc+p4qcn")"),
         "P4QCN's q_min is more than its q_max");
  expect(complaint("[congestion_control.p4qcn]\nbeta = 2\n"), "outside");
  expect(complaint("[congestion_control.p4qcn]\npreset = \"rmda\"\n"), "did you mean \"rdma\"?");
  expect(complaint("[switch.qcn]\nq_eq = \"10B\"\n"), "outside");
  expect(complaint("[switch.pi_marking]\nq_ref = \"300KB\"\n"),
         "switch.pi_marking.q_max must be more than q_ref");
  expect(complaint("[switch.pi_marking]\np_max = 2\n"), "outside");
  expect(complaint("[switch.qcn]\njitter_percent = 100\n"), "outside");
  expect(complaint("[switch]\nlossless_classes = [3, 6]\n", R"("roce+pfc+qcn")"),
         "would be of the lossless class 6");
  expect(complaint("[congestion_control.qcn]\ntimer = \"0s\"\n"), "must be more than 0");
  expect(complaint("[congestion_control.qcn]\ngain = 0\n"), "outside");
}

}  // namespace
}  // namespace rocelab
