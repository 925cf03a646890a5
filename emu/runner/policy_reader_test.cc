#include <gtest/gtest.h>

#include "emu/runner/complaint_fixture.h"
#include "emu/runner/plan.h"
#include "emu/runner/scenario.h"

namespace rocelab {
namespace {

const std::string kFolder = std::string(ROCELAB_SOURCE_DIR) + "/scenarios/openqueue/";

std::string text(const std::string& more) {
  return "transport = [\"roce+pfc\"]\n[topology]\nkind = \"star\"\nhosts = 3\n" + more;
}
Settings settings(const std::string& more) { return parse_scenario(text(more), "t.toml").settings[0]; }
std::string complaint(const std::string& more) {
  return complaint_of([&] {
    const Scenario scenario = parse_scenario(text(more), "t.toml");
    make_plan(scenario, scenario.settings[0], 1);
  });
}
void has(const std::string& said, const std::string& part) {
  SCOPED_TRACE(part);
  EXPECT_NE(said.find(part), std::string::npos) << said;
}
std::string policy(const std::string& value) { return "[switch]\nopenqueue = \"" + value + "\"\n"; }

TEST(PolicyReaderTest, WithoutAPolicyNothingIsInTheWorld) {
  const Scenario scenario = parse_scenario(text(""), "t.toml");
  EXPECT_TRUE(scenario.settings[0].policies.policies.empty());
  EXPECT_EQ(make_plan(scenario, scenario.settings[0], 1).world.policies, "");
}

TEST(PolicyReaderTest, AProgramIsReadWithItsConstants) {
  const Settings read =
      settings("[switch.openqueue]\nfile = \"" + kFolder + "a.oq\"\nset.k = 4\nset.size = \"8 packets\"\n");
  const SwitchPolicies& policies = read.policies.policies;
  ASSERT_EQ(policies.sources.size(), 1u);
  EXPECT_EQ(policies.sources[0].files[0].first, "a.oq");
  EXPECT_EQ(policies.sources[0].constants[0], (std::pair<std::string, std::string>("k", "4")));
  EXPECT_EQ(policies.sources[0].constants[1].second, "8 packets");
  const bool listed = std::ranges::any_of(read.parameters, [](const Parameter& p) {
    return p.key == "switch.openqueue.set.k" && p.value == "4";
  });
  EXPECT_TRUE(listed) << "runs that differ by a constant are different runs";
}

TEST(PolicyReaderTest, EventsAreInTheOrderOfTimeAndBeginWithTheConfiguration) {
  const Settings read = settings(
      "[[policy_event]]\nat = \"20us\"\npolicy = \"builtin\"\nchange = \"requeue\"\nswitches = [\"s1\"]\n"
      "[[policy_event]]\nat = \"10us\"\npolicy = \"" +
      kFolder + "lqd.oq\"\n");
  const SwitchPolicies& policies = read.policies.policies;
  ASSERT_EQ(policies.events.size(), 3u);
  EXPECT_EQ(policies.events[0].at, 0_us);
  EXPECT_TRUE(policies.sources[policies.events[0].source].files.empty());
  EXPECT_EQ(policies.events[1].at, 10_us);
  EXPECT_FALSE(policies.events[1].requeue);
  EXPECT_EQ(policies.events[2].switches, std::vector<std::uint32_t>{0});
  EXPECT_TRUE(policies.events[2].requeue);
  EXPECT_EQ(packed(unpacked(packed(policies))), packed(policies));
}

TEST(PolicyReaderTest, WhatCannotBeIsNamedWithItsPlace) {
  has(complaint(policy("nothing.oq")), "t.toml:6:13: switch.openqueue names nothing.oq");
  has(complaint("[switch.openqueue]\nset.k = 1\n"), "file");
  has(complaint("[switch.openqueue]\nfile = \"builtin\"\nset.k = 1\n"), "\"builtin\" has none");
  has(complaint("[switch.openqueue]\nfile = \"" + kFolder + "a.oq\"\nset.kk = 1\n"), "kk");
  has(complaint("[switch.openqueue]\nfile = \"" + kFolder + "a.oq\"\nset.k = 0\n"), "a.oq:");
  has(complaint("[switch.openqueue]\nfile = \"" + kFolder + "a.oq\"\nset.k = 1.5\n"), "whole number");
  has(complaint("[[policy_event]]\npolicy = \"builtin\"\n"), "[policy_event.0] needs the key \"at\"");
  has(complaint("[[policy_event]]\nat = \"1us\"\n"), "[policy_event.0] needs the key \"policy\"");
  has(complaint("[[policy_event]]\nat = \"1us\"\npolicy = \"builtin\"\nchange = \"now\"\n"), "drain");
  has(complaint("[[policy_event]]\nat = \"1us\"\npolicy = \"builtin\"\nswitches = [\"h1\"]\n"),
      "the host \"h1\"");
  has(complaint("[[policy_event]]\nat = \"1us\"\npolicy = \"builtin\"\nswitches = [\"s2\"]\n"),
      "names the unknown node \"s2\"");
}

TEST(PolicyReaderTest, SwitchesThatCannotHaveOneSayWhy) {
  has(complaint("[switch]\nopenqueue = \"builtin\"\ninput_buffered = true\n"), "buffered at its inputs");
  has(complaint("[switch]\nopenqueue = \"builtin\"\nport_buffer = \"1MB\"\n"), "port_buffer");
  has(complaint("[switch]\nopenqueue = \"builtin\"\nshared_pool = \"1MB\"\n"), "alpha_lossy = 0");
  has(complaint("[switch]\nopenqueue = \"builtin\"\n[switch.class.0]\norder = \"lifo\"\n"), "not a class");
}

TEST(PolicyReaderTest, KeysThatAProgramReplacesAreWarnedOf) {
  const Settings read = settings(policy(kFolder + "lqd.oq") + "lossy_buffer = \"1MB\"\n");
  ASSERT_EQ(read.warnings.size(), 1u);
  has(read.warnings[0], "t.toml:7:");
  has(read.warnings[0], "switch.lossy_buffer means nothing beside switch.openqueue");
  EXPECT_TRUE(settings(policy("builtin") + "lossy_buffer = \"1MB\"\n").warnings.empty());
}

// A changed program is another run; other keys of that name name no files.
TEST(PolicyReaderTest, ProgramsAreFilesOfTheRun) {
  EXPECT_EQ(settings("[[policy_event]]\nat = \"1us\"\npolicy = \"" + kFolder + "lqd.oq\"\n").files.size(),
            1u);
  EXPECT_EQ(settings(policy(kFolder + "lqd.oq")).files.size(), 1u);
  EXPECT_TRUE(settings("[[policy_event]]\nat = \"1us\"\npolicy = \"builtin\"\n").files.empty());
  EXPECT_TRUE(settings("[switch.openqueue]\nfile = \"builtin\"\n").files.empty());
  EXPECT_TRUE(settings("[switch.capfc]\nenabled = true\npolicy = \"stop-max\"\n").files.empty());
}

}  // namespace
}  // namespace rocelab
