#include <gtest/gtest.h>

#include <algorithm>

#include "emu/runner/complaint_fixture.h"
#include "emu/runner/plan.h"
#include "emu/runner/scenario.h"
#include "ovs_patches/switch_model/mechanisms/rocc.h"

namespace rocelab {
namespace {

std::string text(const std::string& more, const char* transport = "roce+pfc") {
  return "transport = [\"" + std::string(transport) +
         "\"]\n[topology]\nkind = \"dumbbell\"\nleft = 2\nright = 2\n" + more;
}
RunPlan plan(const std::string& more, const char* transport = "roce+pfc") {
  const Scenario scenario = parse_scenario(text(more, transport), "t.toml");
  return make_plan(scenario, scenario.settings[0], 1);
}
std::string complaint(const std::string& more) {
  return complaint_of([&] { plan(more); });
}

TEST(SwitchGroupsTest, AGroupSaysOnlyWhatDiffersFromTheOthers) {
  const std::string groups =
      "[switch]\nlossy_buffer = \"100KB\"\nstrict_classes = [7]\n[switch.ecn]\nenabled = true\nkmin = "
      "\"7KB\"\n"
      "[[switch_group]]\nswitches = [\"s2\"]\nlossy_buffer = \"60KB\"\necn.kmax = \"90KB\"\n"
      "class.0.order = \"fair\"\n";
  const RunPlan p = plan(groups);
  const SwitchConfig& s1 = p.world.switches[0].config;
  const SwitchConfig& s2 = p.world.switches[1].config;
  EXPECT_EQ(s1.egress_limit, 100_KB);
  EXPECT_EQ(s2.egress_limit, 60_KB);
  EXPECT_EQ(s1.classes[0].order, QueueOrder::kFifo);
  EXPECT_EQ(s2.classes[0].order, QueueOrder::kFair);
  EXPECT_EQ(s2.classes[6].selection, Selection::kEts) << "as [switch] says";
  EXPECT_EQ(s2.classes[3].ecn.k_min, 7_KB);
  EXPECT_EQ(s2.classes[3].ecn.k_max, 90_KB);
  EXPECT_EQ(s1.classes[3].ecn.k_max, EcnConfig{}.k_max);
  EXPECT_EQ(s1.max_frame, s2.max_frame);
  const Parameter shown{"switch_group.0.lossy_buffer", "\"60KB\""};
  EXPECT_NE(std::ranges::find(p.settings.parameters, shown), p.settings.parameters.end());
}

TEST(SwitchGroupsTest, MarkingByRateIsOfTheGroupsPorts) {
  const std::string groups =
      "[switch.ecn]\nenabled = true\n[[switch_group]]\nswitches = [\"s1\"]\n"
      "ecn.by_rate = [{ rate = \"40Gb/s\", kmin = \"1KB\", kmax = \"4KB\" }]\n";
  const RunPlan p = plan(groups);
  for (const PortEntry& port : p.world.ports) EXPECT_EQ(port.config.ecn.enabled, port.switch_index == 0);
}

TEST(SwitchGroupsTest, PropertiesOfTheNetworkHoldInAGroupToo) {
  const std::string groups =
      "[classes]\ndscp = { 34 = 6 }\n[[switch_group]]\nswitches = [\"s1\"]\nlossy_buffer = \"60KB\"\n";
  const RunPlan p = plan(groups, "roce+pfc+rocc");
  EXPECT_EQ(p.world.switches[0].config.class_map, p.world.switches[1].config.class_map);
  EXPECT_TRUE(p.world.switches[0].config.mechanisms.of<RoccMechanism>().enabled);
  EXPECT_EQ(p.world.switches[0].config.mechanisms.of<RoccMechanism>().classes,
            p.world.switches[1].config.mechanisms.of<RoccMechanism>().classes);
}

TEST(SwitchGroupsTest, FramesMayBeLostWhereOneGroupMayDropThem) {
  const std::string group = "[[switch_group]]\nswitches = [\"s1\"]\n";
  const auto recovers = [](const std::string& more) {
    return parse_scenario(text(more), "t.toml").settings[0].timers.recovery;
  };
  EXPECT_FALSE(recovers(group + "lossy_buffer = \"60KB\"\n"));
  EXPECT_TRUE(recovers(group + "class.3.egress_max = \"60KB\"\nclass.3.may_drop = true\n"));
  EXPECT_TRUE(recovers(group + "lossless_classes = [4]\n"));
}

TEST(SwitchGroupsTest, MistakesAreToldWithTheirPlace) {
  const std::string group = "[[switch_group]]\n";
  const std::pair<std::string, std::string> wrong[] = {
      {group + "lossy_buffer = \"60KB\"\n", "needs the key \"switches\""},
      {group + "switches = []\n", "t.toml:7:12: switch_group.0.switches names none"},
      {group + "switches = [\"h1\"]\n", "names \"h1\", which is a host"},
      {group + "switches = [\"s3\"]\n", "names the unknown node \"s3\""},
      {group + "switches = [\"s1\", \"s1\"]\n", "names \"s1\" again"},
      {group + "switches = [\"s1\"]\n" + group + "switches = [\"s1\"]\n",
       "switch_group.1.switches names \"s1\" again"},
      {group + "switches = [\"s1\"]\nlosy_buffer = \"60KB\"\n",
       "t.toml:8:1: unknown key \"switch_group.0.losy_buffer\"; did you mean \"lossy_buffer\"?"},
      {group + "switches = [\"s1\"]\nlossy_buffer = 60\n",
       "t.toml:8:16: switch_group.0.lossy_buffer has no unit"},
      {group + "switches = [\"s2\"]\nlossless_buffer = \"10KB\"\n", "is too small for PFC: port s2-eth"},
  };
  for (const auto& [more, want] : wrong)
    EXPECT_NE(complaint(more).find(want), std::string::npos) << more << complaint(more);
}

}  // namespace
}  // namespace rocelab
