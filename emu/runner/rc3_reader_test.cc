#include <gtest/gtest.h>

#include "emu/runner/complaint_fixture.h"
#include "emu/runner/readers.h"
#include "emu/runner/scenario.h"

namespace rocelab {
namespace {

std::string text(const std::string& transport, const std::string& more) {
  return "transport = [\"" + transport + "\"]\n[topology]\nkind = \"star\"\nhosts = 3\n" + more;
}
Settings settings(const std::string& transport, const std::string& more = "") {
  return parse_scenario(text(transport, more), "t.toml").settings[0];
}
std::string complaint(const std::string& transport, const std::string& more) {
  return complaint_of([&] { settings(transport, more); });
}
void has(const std::string& said, const std::string& part) {
  SCOPED_TRACE(part);
  EXPECT_NE(said.find(part), std::string::npos) << said;
}

TEST(Rc3ReaderTest, TheLabelIsTcpWithThreeLevelsBelow) {
  const NicConfig nic = settings("rc3").nic.config;
  EXPECT_TRUE(nic.irn.tcp);
  ASSERT_EQ(nic.rc3.levels, 4u);
  EXPECT_EQ((std::array{nic.rc3.dscp[0], nic.rc3.dscp[1], nic.rc3.dscp[2], nic.rc3.dscp[3]}),
            (std::array<std::uint8_t, 4>{26, 16, 8, 0}));
  EXPECT_EQ(nic.rc3.packets[1], 400u);
  EXPECT_EQ(settings("iwarp").nic.config.rc3.levels, 0u);
  EXPECT_EQ(settings("iwarp", "[irn]\nrc3.classes = [5, 1]\nrc3.packets = [9]\n").nic.config.roce_dscp, 26u)
      << "the table is of the labels that have it enabled";
}

TEST(Rc3ReaderTest, LevelsAreClassesAndTheFirstIsThePrograms) {
  const NicConfig nic =
      settings("rc3", "[irn]\nrc3.classes = [5, 4, 1]\nrc3.packets = [10, 100]\n").nic.config;
  EXPECT_EQ(nic.rc3.levels, 3u);
  EXPECT_EQ(nic.roce_dscp, 40u);
  EXPECT_EQ(nic.rc3.dscp[0], 40u);
  EXPECT_EQ(nic.rc3.dscp[2], 8u);
  EXPECT_EQ(nic.rc3.packets[1], 100u);
}

TEST(Rc3ReaderTest, WhatItDoesNotGoWithIsNamedWithItsPlace) {
  const std::string on = "[irn]\nrc3.enabled = true\n";
  has(complaint("roce", on), "t.toml:6:");
  has(complaint("roce", on), "irn.rc3.enabled = true is of mode \"irn\"");
  has(complaint("irn", on), "needs irn.loss_recovery = \"tcp\"");
  has(complaint("tcp+pfc", on), "does not go with PFC");
  has(complaint("irn+timely", "[irn]\nloss_recovery = \"tcp\"\nbdp_cap = 0\nrc3.enabled = true\n"),
      "goes with congestion_control.name = \"aimd\" only");
  has(complaint("irn", "[irn]\nloss_recovery = \"tcp\"\nrc3.enabled = true\n"), "needs irn.bdp_cap = 0");
  has(complaint("rc3", "[irn]\nrc3.classes = [3]\n"), "1 to 4 lower levels");
  has(complaint("rc3", "[irn]\nrc3.classes = [3, 3]\n"), "must fall");
  has(complaint("rc3", "[irn]\nrc3.classes = [1, 2]\n"), "must fall");
  has(complaint("rc3", "[irn]\nrc3.classes = [8, 2]\n"), "t.toml:6:");
  has(complaint("rc3", "[irn]\nrc3.classes = [6, 3]\nrc3.packets = [40]\n"), "names class 6, that of CNPs");
  has(complaint("rc3", "[irn]\nrc3.packets = [40, 400]\n"), "one number for each level below TCP's: 3");
  has(complaint("rc3", "[irn]\nrc3.packets = [40, 0, 4000]\n"), "rc3.packets");
  has(complaint("rc3", "[irn]\nrc3.clases = [3, 2]\n"), "did you mean \"classes\"");
  has(complaint("rc3", "[nic]\nack_class = 2\n"), "names the class of nic.ack_class");
  has(complaint("rc3", "[nic]\nstrict_classes = [3]\n"), "is not in nic.strict_classes");
  has(complaint("rc3",
                "[classes]\ndscp = { 16 = 1, 17 = 1, 18 = 1, 19 = 1, 20 = 1, 21 = 1, 22 = 1, 23 = 1 }\n"),
      "names class 2, which no DSCP reaches");
}

TEST(Rc3ReaderTest, SwitchesThatTreatItsLevelsAlikeAreAWarning) {
  const std::string strict = "[switch]\nstrict_classes = [0, 1, 2, 3, 6, 7]\n";
  has(class_warnings(settings("rc3")).at(0), "class 3, a level of RC3's (irn.rc3), is not among them");
  EXPECT_TRUE(class_warnings(settings("rc3", strict)).empty());
  EXPECT_TRUE(class_warnings(settings("iwarp")).empty());
}

}  // namespace
}  // namespace rocelab
