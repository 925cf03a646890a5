// [slack] and what it asks of switches and formulas.
#include <gtest/gtest.h>

#include "base/wire/shim_slack.h"
#include "emu/runner/complaint_fixture.h"
#include "emu/runner/plan.h"
#include "ovs_patches/switch_model/mechanisms/slack.h"

namespace rocelab {
namespace {

std::string text(const std::string& more) {
  return "transport = [\"irn\"]\n[topology]\nkind = \"star\"\nhosts = 3\n" + more;
}
RunPlan plan(const std::string& more) {
  const Scenario s = parse_scenario(text(more), "t.toml");
  return make_plan(s, s.settings[0], 1);
}
std::string complaint(const std::string& more) {
  return complaint_of([&] { plan(more); });
}
const std::string kFlow =
    "[[workload]]\nkind = \"list\"\n[[workload.flow]]\nsrc = \"h1\"\ndst = \"h2\"\nsize = \"1MB\"\n";

TEST(SlackReaderTest, ALawIsTheNicsAndSwitchesKeepItUpToDate) {
  const RunPlan with = plan("[slack]\nlaw = \"virtual-clock\"\nrate = \"3Gb/s\"\n" + kFlow);
  const RunPlan without = plan(kFlow);
  EXPECT_EQ(with.world.hosts[0].nic.slack.law, SlackLaw::kVirtualClock);
  EXPECT_EQ(with.world.hosts[0].nic.slack.rate, 3_Gbps);
  EXPECT_TRUE(with.world.switches[0].config.mechanisms.of<SlackMechanism>().enabled);
  EXPECT_FALSE(without.world.switches[0].config.mechanisms.of<SlackMechanism>().enabled);
  EXPECT_FALSE(without.world.hosts[0].nic.slack.on());
}

TEST(SlackReaderTest, FramesAreLongerByIt) {
  const RunPlan with = plan("[slack]\nlaw = \"constant\"\n" + kFlow), without = plan(kFlow);
  EXPECT_EQ(with.wire_mtu, without.wire_mtu + Bytes::from_count(kSlackShimBytes));
  EXPECT_EQ(with.world.switches[0].config.max_frame,
            without.world.switches[0].config.max_frame + Bytes::from_count(kSlackShimBytes));
  EXPECT_EQ(with.live.max_frame_bytes, without.live.max_frame_bytes + kSlackShimBytes);
  EXPECT_GT(with.flows[0].alone, without.flows[0].alone);
}

TEST(SlackReaderTest, MistakesNameTheirPlace) {
  EXPECT_NE(complaint("[slack]\nlaw = \"flowsize\"\n").find("slack.law"), std::string::npos);
  EXPECT_NE(complaint("[slack]\nlaw = \"virtual-clock\"\nrate = \"0Gb/s\"\n").find("slack.rate"),
            std::string::npos);
  EXPECT_NE(complaint("[slack]\nvalue = \"1us\"\n").find("t.toml:6:9: slack.value is of slack.law"),
            std::string::npos);
  EXPECT_NE(complaint("[slack]\nlaw = \"constant\"\nper_packet = \"1us\"\n").find("slack.per_packet is of"),
            std::string::npos);
  EXPECT_NE(complaint("[slack]\nlaw = \"constant\"\nvalue = \"100000000s\"\n").find("slack.value"),
            std::string::npos);
  EXPECT_NE(complaint("[switch.class.3]\norder = \"ranked\"\n").find("[slack]"), std::string::npos)
      << complaint("[switch.class.3]\norder = \"ranked\"\n");
  EXPECT_EQ(complaint("[slack]\nlaw = \"remaining\"\n[switch.class.3]\norder = \"ranked\"\n"), "none");
}

}  // namespace
}  // namespace rocelab
