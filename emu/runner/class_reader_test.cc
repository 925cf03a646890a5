#include <gtest/gtest.h>

#include <algorithm>

#include "emu/runner/complaint_fixture.h"
#include "emu/runner/flow_file.h"
#include "emu/runner/plan.h"
#include "ovs_patches/switch_model/mechanisms/rocc.h"

namespace rocelab {
namespace {

std::string text(const std::string& more, const std::string& transport = "roce+pfc") {
  return "transport = [\"" + transport + "\"]\n[topology]\nkind = \"star\"\nhosts = 3\n" + more;
}
Settings settings(const std::string& more, const std::string& transport = "roce+pfc") {
  return parse_scenario(text(more, transport), "t.toml").settings[0];
}
std::string complaint(const std::string& more) {
  return complaint_of([&] { settings(more); });
}

TEST(ClassReaderTest, NicsAndSwitchesHaveOneMap) {
  const Scenario s = parse_scenario(text("[classes]\ndscp = { 34 = 3, 26 = 5 }\n"), "t.toml");
  const RunPlan plan = make_plan(s, s.settings[0], 1);
  const NicConfig& nic = plan.world.hosts[0].nic;
  const SwitchConfig& config = plan.world.switches[0].config;
  EXPECT_EQ(nic.class_map.classes, config.class_map.classes);
  EXPECT_EQ(nic.class_map.of(34), Tc{3});
  EXPECT_EQ(nic.class_map.of(24), Tc{3}) << "those that are not named keep theirs";
  EXPECT_EQ(nic.roce_tc(), Tc{5});
  EXPECT_EQ(nic.cnp_tc(), Tc{6});
  const Parameter listed{"classes.dscp.34", "3"};
  EXPECT_NE(std::ranges::find(s.settings[0].parameters, listed), s.settings[0].parameters.end());
}

TEST(ClassReaderTest, SingleNodesMayHaveAMapOfTheirOwn) {
  const Scenario s = parse_scenario(
      text("[classes]\ndscp = { 34 = 3 }\n[[classes.at]]\nnodes = [\"s1\", \"h2\"]\ndscp = { 34 = 5 }\n"),
      "t.toml");
  const RunPlan plan = make_plan(s, s.settings[0], 1);
  EXPECT_EQ(plan.world.hosts[0].nic.class_map.of(34), Tc{3});
  EXPECT_EQ(plan.world.hosts[1].nic.class_map.of(34), Tc{5});
  EXPECT_EQ(plan.world.switches[0].config.class_map.of(34), Tc{5});
  EXPECT_EQ(plan.world.switches[0].config.class_map.of(26), Tc{3}) << "the others are the network's";
}

TEST(ClassReaderTest, ANarrowMapLeavesOutWhatItDoesNotName) {
  const Settings s = settings("[classes]\nothers = \"unknown\"\ndscp = { 26 = 3, 48 = 6 }\n");
  EXPECT_TRUE(s.switches.class_map.knows(26));
  EXPECT_FALSE(s.switches.class_map.knows(34));
  EXPECT_EQ(s.warnings, std::vector<std::string>{});
  const Settings bare = settings("[classes]\nothers = \"unknown\"\ndscp = { 24 = 3 }\n");
  ASSERT_FALSE(bare.warnings.empty());
  EXPECT_NE(bare.warnings[0].find("DSCP 26, of programs that set no traffic class, is unknown"),
            std::string::npos)
      << bare.warnings[0];
}

TEST(ClassReaderTest, RoccsCongestionPointsAreThoseOfRocesClass) {
  EXPECT_EQ(settings("", "roce+pfc+rocc").switches.mechanisms.of<RoccMechanism>().classes, 1 << 3);
  const std::string moved = "[classes]\ndscp = { 26 = 4 }\n[switch]\nlossless_classes = [4]\n";
  EXPECT_EQ(settings(moved, "roce+pfc+rocc").switches.mechanisms.of<RoccMechanism>().classes, 1 << 4);
}

TEST(ClassReaderTest, MistakesNameTheirPlace) {
  const std::string head = "[classes]\n";
  EXPECT_EQ(
      complaint(head + "dscp = { 64 = 3 }\n"),
      "t.toml:6:15: classes.dscp.64 is no DSCP: write for example classes.dscp = { 34 = 3 }, of 0 to 63");
  EXPECT_NE(complaint(head + "dscp = { AF31 = 3 }\n").find("t.toml:6:17: classes.dscp.AF31 is no DSCP"),
            std::string::npos);
  EXPECT_NE(complaint(head + "dscp = { 026 = 3 }\n").find("026 is no DSCP"), std::string::npos);
  EXPECT_EQ(complaint(head + "dscp = { 26 = 8 }\n"), "t.toml:6:15: classes.dscp.26 = 8 is outside 0..7");
  EXPECT_NE(complaint(head + "dscp = { 26 = \"3\" }\n").find("must be a whole number"), std::string::npos);
  EXPECT_NE(complaint(head + "dscp = [3]\n").find("classes.dscp is a table"), std::string::npos);
  EXPECT_NE(complaint(head + "dcsp = { 26 = 3 }\n").find("did you mean \"dscp\"?"), std::string::npos);
  const std::string at = "[[classes.at]]\n";
  EXPECT_EQ(complaint(at + "nodes = [\"s2\"]\n"),
            "t.toml:6:9: classes.at.0.nodes names the unknown node \"s2\"; did you mean \"h2\"?");
  EXPECT_EQ(complaint(at + "nodes = [\"s1\"]\n" + at + "nodes = [\"s1\"]\n"),
            "t.toml:8:9: classes.at.1.nodes names \"s1\" again: a node has one map");
  EXPECT_NE(complaint(head + "others = \"none\"\n").find("classes.others"), std::string::npos);
}

std::string workload(const std::string& keys, const std::string& flow_keys = "") {
  return "[[workload]]\nkind = \"list\"\n" + keys +
         "  [[workload.flow]]\n  src = \"h1\"\n  dst = \"h2\"\n  size = \"1KB\"\n" + flow_keys;
}

TEST(ClassReaderTest, AWorkloadAndItsFlowsHaveADscpOrAClass) {
  const auto dscp_of = [](const std::string& more) {
    const Scenario s = parse_scenario(text(more), "t.toml");
    return make_plan(s, s.settings[0], 1).flows.at(0).dscp;
  };
  EXPECT_EQ(dscp_of(workload("")), std::nullopt);
  EXPECT_EQ(dscp_of(workload("dscp = 34\n")), 34);
  EXPECT_EQ(dscp_of(workload("class = 4\n")), 32) << "the class's selector";
  EXPECT_EQ(dscp_of(workload("dscp = 34\n", "  class = 5\n")), 40) << "a flow's own goes first";
  EXPECT_EQ(dscp_of("[classes]\nothers = \"unknown\"\ndscp = { 26 = 3, 48 = 6, 11 = 4 }\n" +
                    workload("class = 4\n")),
            11);
}

TEST(ClassReaderTest, TheFlowListOfTheTrafficProgramCarriesTheDscp) {
  const Scenario s = parse_scenario(text(workload("class = 4\n")), "t.toml");
  EXPECT_TRUE(flow_lines(make_plan(s, s.settings[0], 1)).ends_with(" list dscp=32\n"));
}

TEST(ClassReaderTest, MistakesInAFlowsClassNameTheirPlace) {
  EXPECT_EQ(complaint(workload("dscp = 34\nclass = 4\n")),
            "t.toml:8:9: workload.list.class excludes dscp: the class follows from the DSCP");
  EXPECT_EQ(complaint(workload("dscp = 64\n")), "t.toml:7:8: workload.list.dscp = 64 is outside 0..63");
  EXPECT_NE(complaint(workload("", "  class = 8\n")).find("class = 8 is outside 0..7"), std::string::npos);
  EXPECT_EQ(
      complaint("[classes]\nothers = \"unknown\"\ndscp = { 26 = 3, 48 = 6 }\n" + workload("class = 4\n")),
      "t.toml:10:9: workload.list.class = 4 is reached by no DSCP: give it one in classes.dscp, for example "
      "classes.dscp = { 32 = 4 }");
}

TEST(ClassReaderTest, ADscpThatTheMapLeavesOutIsWorthAWarning) {
  const std::vector<std::string> warnings =
      settings("[classes]\nothers = \"unknown\"\ndscp = { 26 = 3, 48 = 6 }\n" + workload("dscp = 34\n"))
          .warnings;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("DSCP 34, of workload \"list\", is unknown"), std::string::npos) << warnings[0];
}

TEST(ClassReaderTest, EndsOfALinkThatMapADscpToTwoClassesAreWorthAWarning) {
  const auto warnings = [](const std::string& nodes, const std::string& rest) {
    return settings("[classes]\n[[classes.at]]\nnodes = [" + nodes + "]\ndscp = { 34 = 5 }\n" + rest)
        .warnings;
  };
  const std::string uses = workload("dscp = 34\n");
  const std::vector<std::string> one = warnings("\"h2\"", uses);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(
      one[0],
      "t.toml:6:11: DSCP 34 is of class 5 at \"h2\" and of class 4 at \"s1\", the other end of the link: "
      "a pause for one of them does not stop these frames; give both nodes one class for it");
  const std::vector<std::string> all = warnings("\"s1\"", uses);
  ASSERT_EQ(all.size(), 1u) << "one line for the DSCP";
  EXPECT_NE(all[0].find("at \"h1\" and of class 5 at \"s1\", the other end of the link (so it is on 2 other "
                        "links)"),
            std::string::npos)
      << all[0];
  EXPECT_EQ(warnings("\"h2\"", workload("")), std::vector<std::string>{}) << "nobody sends it";
  EXPECT_EQ(warnings("\"h2\"", "").size(), 1u) << "without a workload programs may send any";
  EXPECT_EQ(warnings("\"s1\", \"h1\", \"h2\", \"h3\"", uses), std::vector<std::string>{});
}

TEST(ClassReaderTest, TimersRunWhereAWorkloadsClassMayLoseFrames) {
  EXPECT_FALSE(settings(workload("")).timers.recovery);
  EXPECT_FALSE(settings("[switch]\nlossless_classes = [3, 4]\n" + workload("class = 4\n")).timers.recovery);
  EXPECT_TRUE(settings(workload("class = 4\n")).timers.recovery);
  EXPECT_TRUE(settings("[nic]\nack_class = 6\n" + workload("")).timers.recovery);
}

TEST(ClassReaderTest, NicsShareTheirPortBetweenClasses) {
  const auto nic = [](const std::string& keys) { return settings("[nic]\n" + keys).nic.config; };
  EXPECT_EQ(nic("").strict_classes, 0xff);
  EXPECT_EQ(nic("strict_classes = [6, 7]\n").strict_classes, 0xc0);
  const NicConfig table = nic("ets_weights = { 3 = 3, 4 = 1 }\n");
  EXPECT_EQ(table.strict_classes, 0xe7);
  EXPECT_EQ(table.ets_weights[3], 3);
  const NicConfig list = nic("strict_classes = [7]\nets_weights = [1, 1, 1, 9, 1, 1, 1, 1]\n");
  EXPECT_EQ(list.strict_classes, 0x80);
  EXPECT_EQ(list.ets_weights[3], 9);
  EXPECT_EQ(nic("ets_weights = [1, 1, 1, 9, 1, 1, 1, 1]\n").strict_classes, 0);
  EXPECT_EQ(nic("ack_class = 6\nread_dscp = 10\n").ack_dscp, 48);
  EXPECT_EQ(nic("ack_class = 6\nread_dscp = 10\n").read_dscp, 10);
  EXPECT_EQ(nic("").ack_dscp, NicConfig::kOfQueuePair);
}

TEST(ClassReaderTest, MistakesInTheNicsClassesNameTheirPlace) {
  const std::string head = "[nic]\n";
  EXPECT_EQ(complaint(head + "strict_classes = [3]\nets_weights = { 3 = 2 }\n"),
            "t.toml:7:21: nic.ets_weights.3 is in strict_classes, whose classes have no weight");
  EXPECT_EQ(complaint(head + "ets_weights = { 8 = 2 }\n"),
            "t.toml:6:21: nic.ets_weights.8 is no class: write for example nic.ets_weights = { 3 = 3, 4 = 1 "
            "}, of 0 "
            "to 7");
  EXPECT_NE(complaint(head + "ets_weights = { 3 = 0 }\n").find("= 0 is outside 1..1000"), std::string::npos);
  EXPECT_NE(complaint(head + "ets_weights = [1, 2]\n").find("one weight for each of the 8 classes"),
            std::string::npos);
  EXPECT_NE(complaint(head + "ack_dscp = 3\nack_class = 4\n").find("nic.ack_class excludes ack_dscp"),
            std::string::npos);
}

TEST(ClassReaderTest, ClassesByVlanTagsAreRefused) {
  EXPECT_EQ(complaint("[switch]\nclassify = \"dscp\"\n"), "none");
  const std::string got = complaint("[switch]\nclassify = \"pcp\"\n");
  EXPECT_EQ(got.rfind("t.toml:6:12: switch.classify = \"pcp\" has nothing to go by", 0), 0u) << got;
}

TEST(ClassReaderTest, ALosslessClassThatNoDscpReachesIsWorthAWarning) {
  EXPECT_EQ(settings("[switch]\nlossless_classes = [3, 4]\n").warnings, std::vector<std::string>{});
  std::string map;
  for (int dscp = 32; dscp < 40; ++dscp) map += (map.empty() ? "" : ", ") + std::to_string(dscp) + " = 3";
  const std::string moved = "[classes]\ndscp = { " + map + " }\n[switch]\nlossless_classes = [3, 4]\n";
  EXPECT_EQ(settings(moved).warnings,
            std::vector<std::string>{"t.toml:8:20: no DSCP reaches the lossless class 4: give it one in "
                                     "classes.dscp"});
  EXPECT_EQ(settings(moved, "roce").warnings, std::vector<std::string>{}) << "without PFC none is lossless";
}

TEST(ClassReaderTest, ProgramsWithoutATrafficClassThatAreNotProtectedAreWorthAWarning) {
  const std::vector<std::string> lossy = settings("[switch]\nlossless_classes = [4]\n").warnings;
  ASSERT_EQ(lossy.size(), 1u);
  EXPECT_EQ(lossy[0].rfind("t.toml:6:20: class 3 (DSCP 26), of programs that set no traffic class, is not in "
                           "switch.lossless_classes",
                           0),
            0u)
      << lossy[0];
  const std::string unmarked = "[classes]\ndscp = { 26 = 4 }\n[switch]\nlossless_classes = [4]\n";
  const std::vector<std::string> marks = settings(unmarked, "roce+pfc+dcqcn").warnings;
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_NE(marks[0].find("is not in switch.ecn.classes"), std::string::npos) << marks[0];
}

}  // namespace
}  // namespace rocelab
