#include <gtest/gtest.h>

#include <algorithm>

#include "emu/runner/scenario.h"

namespace rocelab {
namespace {

std::string text(const std::string& more) {
  return "transport = [\"roce+pfc\"]\n[topology]\nkind = \"star\"\nhosts = 3\n" + more;
}
Settings settings(const std::string& more) { return parse_scenario(text(more), "t.toml").settings[0]; }

TEST(DeviceReaderTest, FixesOfEscapeAreChosenOneByOne) {
  EXPECT_EQ(settings("[switch.escape]\nenabled = true\n").switches.escape.fixes, kAllEscapeFixes);
  const Settings letter = settings("[switch.escape]\nfixes = []\n");
  EXPECT_EQ(letter.switches.escape.fixes, 0);
  const Parameter listed{"switch.escape.fixes", "[]"};
  EXPECT_NE(std::ranges::find(letter.parameters, listed), letter.parameters.end());
  const EscapeConfig two = settings("[switch.escape]\nfixes = [\"headroom\", \"order\"]\n").switches.escape;
  EXPECT_TRUE(two.has(EscapeFix::kHeadroom) && two.has(EscapeFix::kOrder));
  EXPECT_FALSE(two.has(EscapeFix::kPool) || two.has(EscapeFix::kReclaim));
  EXPECT_FALSE(two.by_hosts);
  EXPECT_TRUE(settings("[switch.escape]\nflow = \"hosts\"\n").switches.escape.by_hosts);
  try {
    settings("[switch.escape]\nfixes = [\"pool\", \"bounds\"]\n");
    FAIL() << "an unknown fix was accepted";
  } catch (const ScenarioError& error) {
    EXPECT_NE(std::string(error.what()).find("names \"bounds\""), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace rocelab
