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

TEST(SlackReaderTest, SingleHostsHaveRatesOfTheirOwn) {
  const RunPlan p =
      plan("[slack]\nlaw = \"virtual-clock\"\nrate = \"3Gb/s\"\nrates = { h2 = \"900Mb/s\" }\n" + kFlow);
  EXPECT_EQ(p.world.hosts[0].nic.slack.rate, 3_Gbps);
  EXPECT_EQ(p.world.hosts[1].nic.slack.rate, 900_Mbps);
  EXPECT_EQ(p.world.hosts[2].nic.slack.rate, 3_Gbps);
}

TEST(SlackReaderTest, FramesAreLongerByIt) {
  const RunPlan with = plan("[slack]\nlaw = \"constant\"\n" + kFlow), without = plan(kFlow);
  EXPECT_EQ(with.wire_mtu, without.wire_mtu + Bytes::from_count(kSlackShimBytes));
  EXPECT_EQ(with.world.switches[0].config.max_frame,
            without.world.switches[0].config.max_frame + Bytes::from_count(kSlackShimBytes));
  EXPECT_EQ(with.live.max_frame_bytes, without.live.max_frame_bytes + kSlackShimBytes);
  EXPECT_GT(with.flows[0].alone, without.flows[0].alone);
}

// T of table 5.1.
TEST(SlackReaderTest, BeyondIsAFullFrameOnTheSlowestLink) {
  const Scenario s = parse_scenario(
      "transport = [\"irn\"]\n[topology]\nkind = \"dumbbell\"\nleft = 2\nright = 2\nrate = \"10Gb/s\"\n"
      "trunk_rate = \"4Gb/s\"\n[slack]\nlaw = \"constant\"\n" +
          kFlow,
      "t.toml");
  const RunPlan p = make_plan(s, s.settings[0], 1);
  EXPECT_EQ(p.settings.nic.config.slack.beyond, wire_time(p.wire_mtu, 4_Gbps));
}

TEST(SlackReaderTest, MistakesNameTheirPlace) {
  EXPECT_NE(complaint("[slack]\nlaw = \"flowsize\"\n").find("slack.law"), std::string::npos);
  EXPECT_NE(complaint("[slack]\nlaw = \"virtual-clock\"\nrate = \"0Gb/s\"\n").find("slack.rate"),
            std::string::npos);
  const std::string clock = "[slack]\nlaw = \"virtual-clock\"\n";
  EXPECT_NE(complaint(clock + "rates = { h9 = \"1Gb/s\" }\n").find("slack.rates.h9 is no host"),
            std::string::npos);
  EXPECT_NE(complaint(clock + "rates = { h1 = \"0Gb/s\" }\n").find("slack.rates.h1"), std::string::npos);
  EXPECT_NE(complaint("[slack]\nlaw = \"constant\"\nrates = { h1 = \"1Gb/s\" }\n")
                .find("slack.rates is of slack.law = \"virtual-clock\""),
            std::string::npos);
  EXPECT_NE(complaint("[slack]\nvalue = \"1us\"\n").find("t.toml:6:9: slack.value is of slack.law"),
            std::string::npos);
  EXPECT_NE(complaint("[slack]\nlaw = \"constant\"\nper_packet = \"1us\"\n").find("slack.per_packet is of"),
            std::string::npos);
  EXPECT_NE(complaint("[slack]\nlaw = \"constant\"\nvalue = \"100000000s\"\n").find("slack.value"),
            std::string::npos);
  EXPECT_NE(complaint("[switch.class.3]\norder = \"ranked\"\n").find("[slack]"), std::string::npos)
      << complaint("[switch.class.3]\norder = \"ranked\"\n");
  EXPECT_NE(complaint("[slack]\nlaw = \"constant\"\n[engine]\nclock = \"wall\"\n").find("foreign devices"),
            std::string::npos);
  EXPECT_EQ(complaint("[slack]\nlaw = \"remaining\"\n[switch.class.3]\norder = \"ranked\"\n"), "none");
}

TEST(SlackReaderTest, ASlackBySizeThatNoFrameCarriesIsRefusedWithTheMostThatFits) {
  const auto says = [](const std::string& law, const std::string& d, const std::string& flow) {
    return complaint_of([&] {
      plan("[slack]\nlaw = \"" + law + "\"\nper_packet = \"" + d + "\"\n[[workload]]\nkind = \"list\"\n" +
           flow + "[[workload.flow]]\nsrc = \"h1\"\ndst = \"h2\"\nsize = \"2GB\"\n");
    });
  };
  const std::string whole = says("flow-size", "2s", "");
  EXPECT_NE(whole.find("t.toml:7:14: slack.per_packet = \"2s\" for each of the 1953125 packets"),
            std::string::npos)
      << whole;
  EXPECT_NE(whole.find("write at most \"1180591us\""), std::string::npos) << whole;
  EXPECT_EQ(says("flow-size", "1180591us", ""), "none");
  EXPECT_NE(says("remaining", "2s", "").find("slack.per_packet"), std::string::npos);
  EXPECT_EQ(says("flow-size", "2s", "message_size = \"1MB\"\n"), "none") << "its own size is a message's";
  EXPECT_NE(says("flow-size", "2s", "message_size = \"1KB\"\nservice = \"ud\"\n").find("slack.per_packet"),
            std::string::npos)
      << "datagrams are one flow";
}

// No key of the two is written: the label has the one, and the law the other.
TEST(SlackReaderTest, WhatDoesNotGoTogetherHasAPlaceWithoutATableOfItsOwn) {
  const std::string said = complaint_of([] {
    parse_scenario(
        "transport = [\"roce+bfc\"]\n[topology]\nkind = \"star\"\nhosts = 3\n[slack]\nlaw = "
        "\"constant\"\n" +
            kFlow,
        "t.toml");
  });
  EXPECT_EQ(said, "t.toml:1:1: switch.bfc and switch.slack have not been brought together: use one of them");
}

TEST(SlackReaderTest, EdgesAndPreemptionNameWhatTheyNeed) {
  const auto has = [](const std::string& more, const std::string& part) {
    EXPECT_NE(complaint(more).find(part), std::string::npos) << complaint(more);
  };
  has("[slack.edge]\naqm = \"codel\"\n", "slack.edge goes by the slack that frames carry: write a law");
  has("[slack]\nlaw = \"constant\"\n[slack.edge]\naqm = \"red\"\n", "slack.edge.aqm");
  has("[slack]\nlaw = \"constant\"\n[slack.edge]\naqm = \"ecn\"\npackets = 0\n", "slack.edge.packets");
  const std::string ranked = "[slack]\nlaw = \"constant\"\n[switch.class.3]\norder = \"ranked\"\n";
  EXPECT_EQ(complaint(ranked + "preempt = true\n" + kFlow), "none");
  has("[switch.class.3]\npreempt = true\n", "preempt is by ranks: write order = \"ranked\"");
  has(ranked + "queues = 4\n", "queues is of order = \"sp-pifo\"");
  has(ranked + "preempt = true\n[switch]\nport_buffer = \"1MB\"\n", "does not go with switch.port_buffer");
}

// --- slack.law = "replay"

std::string replay_complaint(const std::string& of, const std::string& transport, const std::string& more,
                             const std::string& workload) {
  return complaint_of([&] {
    const Scenario s = parse_scenario(
        "transport = [\"" + transport + "\"]\n[topology]\nkind = \"star\"\nhosts = 3\n" + more +
            "[[case]]\nname = \"a\"\n[[case]]\nname = \"b\"\nset.slack.law = \"replay\"\nset.slack.of = \"" +
            of + "\"\n[[case]]\nname = \"c\"\nset.slack.law = \"replay\"\nset.slack.of = \"b\"\n" + workload,
        "t.toml");
    for (const Settings& settings : s.settings)
      if (!settings.label.ends_with("c") || of == "c") make_plan(s, settings, 1);
  });
}
const std::string kDatagrams =
    "[[workload]]\nkind = \"list\"\nservice = \"ud\"\n[[workload.flow]]\nsrc = \"h1\"\ndst = \"h2\"\n"
    "size = \"1MB\"\n";
const std::string kConstant = "[slack]\nlaw = \"constant\"\n";

TEST(SlackReaderTest, AReplayNeedsARunThatCanBeReplayed) {
  const auto has = [](const std::string& complaint, const std::string& part) {
    EXPECT_NE(complaint.find(part), std::string::npos) << complaint;
  };
  EXPECT_EQ(replay_complaint("a", "roce", kConstant, kDatagrams), "none");
  has(replay_complaint("d", "roce", kConstant, kDatagrams),
      "slack.of = \"d\" is no label here: roce,a, roce,c");
  has(replay_complaint("a", "roce", "", kDatagrams), "whose frames carry no slack");
  has(replay_complaint("c", "roce", kConstant, kDatagrams), "which is a replay itself");
  has(replay_complaint("a", "roce+pfc", kConstant, kDatagrams), "replays are of labels without PFC");
  has(replay_complaint("a", "roce", kConstant, kFlow), "write service = \"ud\" in workload");
  has(replay_complaint("a", "roce", kConstant + "[slack.edge]\naqm = \"codel\"\n", kDatagrams), "slack.edge");
  has(replay_complaint("a", "roce", kConstant + "[switch.codel]\nenabled = true\n", kDatagrams),
      "has CoDel in its switches");
  has(complaint("[slack]\nlaw = \"replay\"\n"), "slack.law = \"replay\" needs the label");
  has(complaint(kConstant + "of = \"a\"\n"), "slack.of is of slack.law = \"replay\"");
}

TEST(SlackReaderTest, AnOmniscientReplayNeedsAnOriginalThatCollectsTimes) {
  const auto of = [](const std::string& slack, const std::string& a, const std::string& b) {
    return complaint_of([&] {
      const Scenario s = parse_scenario(
          "transport = [\"roce\"]\n[topology]\nkind = \"parking-lot\"\nswitches = 3\nhosts_per_switch = 2\n" +
              slack + "[[case]]\nname = \"a\"\n" + a +
              "[[case]]\nname = \"b\"\nset.slack.law = \"omniscient\"\n" + b + kDatagrams,
          "t.toml");
      const RunPlan plan = make_plan(s, s.settings.at(1), 1);
      EXPECT_EQ(plan.settings.nic.config.slack.switches, 3u);
      EXPECT_EQ(plan.wire_mtu, plan.original->wire_mtu) << "frames are as long";
      EXPECT_EQ(plan.settings.nic.config.slack.shim_bytes(), 20u + 4u + 3u * 8u);
      EXPECT_TRUE(make_plan(s, s.settings.at(0), 1).exact_starts)
          << "the original's own run is what is replayed";
    });
  };
  const auto has = [](const std::string& complaint, const std::string& part) {
    EXPECT_NE(complaint.find(part), std::string::npos) << complaint;
  };
  const std::string times = "[slack]\nlaw = \"constant\"\nhop_times = true\n",
                    names_a = "set.slack.of = \"a\"\n", ranked = "set.switch.class.3.order = \"ranked\"\n";
  EXPECT_EQ(of(times, "", names_a + ranked), "none");
  EXPECT_EQ(of(kConstant, "set.slack.hop_times = true\n", names_a + ranked), "none");
  has(of(kConstant, "", names_a), "names roce,a, whose frames do not collect the times that this one needs");
  has(of(times, "", ""), "slack.law = \"omniscient\" needs the label or case");
  has(of(times, ranked + "set.switch.class.3.preempt = true\n", names_a + ranked),
      "in which frames are preempted");
  has(of(times, "", names_a + "set.slack.hop_times = false\n"), "slack.hop_times is how slack.law");
  has(complaint("[slack]\nhop_times = true\n"), "slack.hop_times is beside a slack");
}

TEST(SlackReaderTest, TimesOfMoreSwitchesThanAFrameHasRoomForAreRefused) {
  const std::string complaint = complaint_of([] {
    const Scenario s = parse_scenario(
        "transport = [\"roce\"]\n[topology]\nkind = \"parking-lot\"\nswitches = 16\nhosts_per_switch = "
        "1\n[slack]\n"
        "law = \"constant\"\nhop_times = true\n" +
            kDatagrams,
        "t.toml");
    make_plan(s, s.settings.at(0), 1);
  });
  EXPECT_NE(complaint.find("frames have room for the times of 15 switches, and the longest path has 16"),
            std::string::npos)
      << complaint;
}

}  // namespace
}  // namespace rocelab
