#include "emu/runner/extends.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "emu/runner/complaint_fixture.h"
#include "emu/runner/plan.h"
#include "emu/runner/scenario.h"

namespace rocelab {
namespace {

const std::string kBase = R"(transport = ["roce", "irn+pfc"]
[topology]
kind = "star"
hosts = 3
rate = "40Gb/s"
[[workload]]
kind = "incast"
receiver = "h3"
size = "8MB"
)";

class ExtendsTest : public testing::Test {
 protected:
  ExtendsTest() : folder_(testing::TempDir() + "/extends") { std::filesystem::create_directories(folder_); }
  ~ExtendsTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  std::string complaint(const std::filesystem::path& file) {
    return complaint_of([&] { read_scenario(file); });
  }

  std::filesystem::path folder_;
};

std::string parameter(const Settings& s, const std::string& key) {
  const auto found = std::find_if(s.parameters.begin(), s.parameters.end(),
                                  [&](const Parameter& p) { return p.key == key; });
  return found == s.parameters.end() ? "absent" : found->value;
}

TEST_F(ExtendsTest, FilesAreRelativeToTheScenarioThatNamesThem) {
  std::filesystem::create_directories(folder_ / "inner");
  write("sizes.cdf", "0 0\n1000 100\n");
  write("inner/other.cdf", "0 0\n5000 100\n");
  std::string base = kBase;
  base.replace(base.find("size = \"8MB\""), 12, "cdf = \"sizes.cdf\"");
  write("base.toml", base);
  const std::filesystem::path top = write("inner/top.toml", "extends = \"../base.toml\"\n");
  EXPECT_EQ(read_scenario(top).settings.at(0).workloads.at(0).size.max, 1_KB);
  ASSERT_EQ(read_scenario(top).settings.at(0).files.size(), 1u);
  EXPECT_TRUE(std::filesystem::equivalent(read_scenario(top).settings.at(0).files[0], folder_ / "sizes.cdf"));
  EXPECT_EQ(
      read_scenario(top, {{"workload.incast.cdf", "other.cdf"}}).settings.at(0).workloads.at(0).size.max,
      5_KB);
}

TEST_F(ExtendsTest, TablesAreMergedAndListsReplaced) {
  write("base.toml", kBase);
  write("middle.toml", "extends = \"base.toml\"\n[topology]\nrate = \"10Gb/s\"\ndelay = \"1us\"\n");
  const Scenario s = read_scenario(
      write("top.toml", "extends = \"middle.toml\"\ntransport = \"irn\"\n[topology]\ndelay = \"3us\"\n"));
  EXPECT_EQ(s.name, "top");
  ASSERT_EQ(s.settings.size(), 1u);
  EXPECT_EQ(s.settings[0].label, "irn");
  EXPECT_EQ(parameter(s.settings[0], "topology.rate"), "\"10Gbps\"");
  EXPECT_EQ(parameter(s.settings[0], "topology.delay"), "\"3us\"");
  EXPECT_EQ(parameter(s.settings[0], "topology.hosts"), "3");
  EXPECT_EQ(s.settings[0].workloads.size(), 1u);
  const Scenario own = read_scenario(write("own.toml",
                                           "extends = \"base.toml\"\n[[workload]]\nkind = \"permutation\"\n"
                                           "size = \"1MB\"\n"));
  ASSERT_EQ(own.settings[0].workloads.size(), 1u);
  EXPECT_EQ(own.settings[0].workloads[0].kind, "permutation");
}

TEST_F(ExtendsTest, ComplaintsNameTheFileOfTheMistake) {
  write("base.toml", kBase + "bdp_cap = 3\n");
  const std::string got = complaint(write("top.toml", "extends = \"base.toml\"\n"));
  EXPECT_NE(got.find("base.toml:10:1: unknown key"), std::string::npos) << got;
}

TEST_F(ExtendsTest, BasesThatCannotBeReadAndCirclesAreRefused) {
  const std::string absent = complaint(write("a.toml", "extends = \"none.toml\"\n"));
  EXPECT_NE(absent.find("a.toml:1:11: extends: "), std::string::npos) << absent;
  write("b.toml", "extends = \"c.toml\"\n");
  const std::string circle = complaint(write("c.toml", "extends = \"b.toml\"\n"));
  EXPECT_NE(circle.find("leads back to"), std::string::npos) << circle;
  EXPECT_NE(complaint(write("d.toml", "extends = 3\n")).find("must be the name of a file"),
            std::string::npos);
}

TEST(CaseTest, CasesChangeSeveralKeysTogetherAndMultiplyLabels) {
  const std::string cases =
      "[[case]]\nname = \"slow\"\nset.topology.rate = \"10Gb/s\"\nset.workload.incast.size = \"1MB\"\n"
      "[[case]]\nname = \"fast\"\nset.topology.rate = \"100Gb/s\"\n";
  const Scenario s = parse_scenario(kBase + cases, "t.toml");
  ASSERT_EQ(s.settings.size(), 4u);
  EXPECT_EQ(s.settings[0].label, "roce,slow");
  EXPECT_EQ(s.settings[3].label, "irn+pfc,fast");
  EXPECT_EQ(s.settings[0].workloads[0].size.max, 1_MB);
  EXPECT_EQ(parameter(s.settings[0], "topology.rate"), "\"10Gbps\"");
  EXPECT_EQ(s.settings[3].workloads[0].size.max, 8_MB);
  EXPECT_EQ(parameter(s.settings[3], "topology.rate"), "\"100Gbps\"");
  EXPECT_EQ(make_plans(s).size(), 4u);
  EXPECT_THROW(parse_scenario(kBase + cases + "[[case]]\nname = \"fast\"\n", "t.toml"), ScenarioError);
  EXPECT_THROW(parse_scenario(kBase + "[[case]]\nset.topology.rate = \"10Gb/s\"\n", "t.toml"), ScenarioError);
}

TEST(CaseTest, ListsOfTablesAreTold) {
  const Scenario plain = parse_scenario(kBase, "t.toml");
  const Scenario fault =
      parse_scenario(kBase + "[[fault]]\nfrom = \"h1\"\nto = \"s1\"\ndrop_list = [3]\n", "t.toml");
  EXPECT_NE(plain.settings[0].lists, fault.settings[0].lists);
  EXPECT_NE(fault.settings[0].lists.find("fault = [{from = \"h1\""), std::string::npos)
      << fault.settings[0].lists;
}

}  // namespace
}  // namespace rocelab
