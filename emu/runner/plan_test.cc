#include "emu/runner/plan.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "emu/runner/complaint_fixture.h"
#include "emu/runner/flow_file.h"
#include "irn_provider/cc/rocc_rp.h"
#include "lockstep/segment.h"
#include "ovs_patches/switch_model/headroom.h"
#include "ovs_patches/switch_model/mechanisms/rocc.h"

namespace rocelab {
namespace {

RunPlan plan_of(const std::string& text) {
  const Scenario s = parse_scenario(text, "t.toml");
  return make_plan(s, s.settings.at(0), 1);
}

const std::string kDumbbell = R"([topology]
kind = "dumbbell"
left = 2
right = 3
delay = "3us"
trunk_rate = "100Gb/s"
trunk_delay = "1us"
[[fault]]
from = "s2"
to = "s1"
drop_rate = 0.25
[[fault]]
from = "h4"
to = "s2"
drop_rate = 0.5
[[workload]]
kind = "list"
jitter = "0us"
[[workload.flow]]
src = "h1"
dst = "h4"
size = "1KB"
start = "1.5ns"
op = "send"
)";

TEST(PlanTest, PortsNameTheirPeersBothWays) {
  const RunPlan plan = plan_of("transport = \"roce+pfc\"\n" + kDumbbell);
  const auto& ports = plan.world.ports;
  ASSERT_EQ(ports.size(), 7u);
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].peer_host != kNoPeer) {
      EXPECT_EQ(plan.world.hosts[ports[i].peer_host].port, i);
      EXPECT_EQ(ports[i].config.peer, PeerKind::kHost);
    } else {
      EXPECT_EQ(ports[ports[i].peer_port].peer_port, i);
      EXPECT_EQ(ports[i].config.peer, PeerKind::kSwitch);
      EXPECT_EQ(ports[i].config.rate, 100_Gbps);
    }
  }
  EXPECT_STREQ(ports[3].interface, "s2-eth1");
  EXPECT_EQ(plan.world.switches[1].first_port, 3u);
  EXPECT_EQ(plan.world.switches[1].ports, 4u);
}

TEST(PlanTest, FaultsStandAtTheSendingEnd) {
  const RunPlan plan = plan_of("transport = \"irn\"\n" + kDumbbell);
  EXPECT_EQ(plan.world.hosts[3].to_switch.drop_rate, 0.5);
  for (const PortEntry& port : plan.world.ports)
    EXPECT_EQ(port.to_peer.drop_rate, std::string(port.interface) == "s2-eth4" ? 0.25 : 0);
}

TEST(PlanTest, LookaheadIsTheSmallestFrameOnTheShortestLink) {
  EXPECT_EQ(plan_of("transport = \"irn\"\n" + kDumbbell).lookahead, 1_us + wire_time(60_B, 100_Gbps));
}

TEST(PlanTest, ThresholdsComeFromTheSwitchModel) {
  const RunPlan plan = plan_of("transport = \"roce+pfc\"\n" + kDumbbell);
  for (std::size_t i = 0; i < plan.limits.size(); ++i) {
    const PortLimits& l = plan.limits[i];
    EXPECT_EQ(l.headroom, headroom_for({l.rate, l.delay}, plan.wire_mtu, wire_time(plan.wire_mtu, l.rate)));
    EXPECT_EQ(l.xoff + l.headroom, l.buffer);
    EXPECT_EQ(l.xon, l.xoff - 2 * plan.wire_mtu);
  }
}

// Escape's tokens reserve places on one path.
// The first port is satisfied with less: the value that is named must do for all.
TEST(PlanTest, ABufferTooSmallForPfcNamesItsKeyAndTheLeastThatDoesForEveryPort) {
  const auto star = [](const std::string& buffer, const std::string& more = "") {
    return "transport = \"roce+pfc\"\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"200Gb/s\"\n"
           "delay = \"1us\"\n[[topology.link]]\nbetween = [\"h4\", \"s1\"]\ndelay = \"12.5us\"\n[switch]\n" +
           (buffer.empty() ? "" : "lossless_buffer = \"" + buffer + "\"\n") + more;
  };
  const auto complaint = [](const std::string& text) -> std::string {
    return complaint_of([&] { plan_of(text); });
  };
  const Bytes frame = plan_of(star("5MB")).wire_mtu;
  const Bytes headroom = headroom_for({200_Gbps, 12'500_ns}, frame, wire_time(frame, 200_Gbps));
  const Bytes least = headroom + 2 * frame;
  EXPECT_EQ(
      complaint(star("240KB")),
      "t.toml:11:19: switch.lossless_buffer = \"240KB\" is too small for PFC: port s1-eth4 to h4 (200Gbps, "
      "12500ns) needs " +
          to_string(least) + ", of which " + to_string(headroom) + " are headroom. Write at least \"" +
          to_string(least) + "\", which is enough for every port");
  EXPECT_EQ(complaint(star("")).rfind("t.toml:10:2: switch.lossless_buffer = \"240KB\"", 0), 0u);
  EXPECT_EQ(complaint(star(to_string(least))), "none");
  EXPECT_NE(complaint(star(to_string(least - 1_B))).find("is too small"), std::string::npos);
  const std::string given = "pfc.headroom = \"300KB\"\npfc.xon = \"5KB\"\n";
  EXPECT_NE(complaint(star("240KB", given)).find("at least \"305KB\""), std::string::npos);
  EXPECT_EQ(complaint(star("305KB", given)), "none");
  const std::string low = "pfc.xoff = \"2KB\"\n";
  EXPECT_NE(complaint(star("1MB", low)).find("raise pfc.xoff or lower pfc.xon"), std::string::npos);
}

TEST(PlanTest, EscapeByHostsIsRefusedWhereTwoHostsHaveSeveralPaths) {
  const auto problem = [](const std::string& topology) -> std::string {
    return complaint_of([&] {
      plan_of("transport = \"roce+pfc\"\n[topology]\n" + topology +
              "[switch.escape]\nenabled = true\nflow = \"hosts\"\n");
    });
  };
  EXPECT_EQ(problem("kind = \"dumbbell\"\nleft = 2\nright = 2\n"), "none");
  EXPECT_NE(problem("kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 1\n")
                .find("\"leaf1\" has several paths to \"h2\": use \"connection\""),
            std::string::npos);
}

// A pool gets a token back when it is this old: not while it, or its frame, is on the way.
TEST(PlanTest, EscapeReclaimsNoTokenThatMayBeOnItsWay) {
  const auto problem = [](const std::string& escape) -> std::string {
    return complaint_of([&] {
      plan_of("transport = \"roce+pfc\"\n" + kDumbbell + "[switch.escape]\nenabled = true\n" + escape);
    });
  };
  EXPECT_EQ(problem(""), "none");
  EXPECT_EQ(problem("reclaim = \"50us\"\n"), "none");
  EXPECT_NE(problem("reclaim = \"10us\"\n").find("us: places would be promised twice"), std::string::npos);
  EXPECT_NE(problem("reclaim = \"50us\"\ntokens = 100\n").find("switch.escape.reclaim of 50us"),
            std::string::npos);
  EXPECT_EQ(problem("reclaim = \"10us\"\nfixes = []\n"), "none") << "the letter says nothing of it";
}

// Menikkumbura, 3.3.6: only the form that looks values up has a registry, with a set for each rate of a link.
TEST(PlanTest, WhereHostsComputeRoccTheyKnowItsFormAndTheSetsOfTheLinks) {
  const auto rocc_of = [](const std::string& table) {
    const RunPlan plan = plan_of("transport = [\"roce+pfc+rocc\"]\n" + kDumbbell +
                                 "[congestion_control.rocc]\nq_ref = \"90KB\"\n" + table);
    const RoccSwitchParams& rocc = plan.world.switches[0].config.mechanisms.of<RoccMechanism>();
    EXPECT_EQ(rocc.form, plan.world.hosts[0].nic.cc.get<RoccRp>()->form);
    EXPECT_EQ(rocc.table.kind,
              rocc.form == RoccForm::kRate ? RoccFlowTableKind::kQueue : RoccFlowTableKind::kAge);
    return *plan.world.hosts[0].nic.cc.get<RoccRp>();
  };
  EXPECT_EQ(rocc_of("").form, RoccForm::kRate);
  EXPECT_EQ(rocc_of("rate_computation = \"host\"\n").form, RoccForm::kValues);
  EXPECT_EQ(rocc_of("rate_computation = \"host\"\n").registry.used, 0);
  const RoccRpParams looked_up = rocc_of("rate_computation = \"host-registry\"\n");
  EXPECT_EQ(looked_up.form, RoccForm::kQueue);
  ASSERT_EQ(looked_up.registry.used, 2) << "40 and 100 Gb/s";
  const RoccValues* slow = looked_up.registry.find(4000);
  ASSERT_NE(slow, nullptr);
  EXPECT_EQ(slow->q_ref, 150) << "what the scenario sets";
  EXPECT_NE(looked_up.registry.find(10'000), nullptr);
  EXPECT_EQ(looked_up.registry.find(2'500), nullptr);
  EXPECT_THROW(rocc_of("rate_computation = \"hosts\"\n"), ScenarioError);
}

TEST(PlanTest, NicsKnowTheirLinkAndTheCap) {
  const RunPlan irn = plan_of("transport = \"irn\"\n" + kDumbbell),
                roce = plan_of("transport = \"roce\"\n" + kDumbbell);
  EXPECT_EQ(irn.world.hosts[0].nic.link_delay, 3_us);
  EXPECT_EQ(irn.world.hosts[0].nic.irn.bdp_cap, irn.bdp_cap);
  EXPECT_GT(irn.bdp_cap, 60u);
  EXPECT_EQ(roce.bdp_cap, 0u);
  EXPECT_EQ(roce.wire_mtu, 1102_B);  // WRITE ONLY with immediate: 58 + 16 + 4 + 1024
  EXPECT_EQ(irn.wire_mtu, 1106_B);   // and IRN's 4
  EXPECT_EQ(irn.world.switches[0].config.max_frame, irn.wire_mtu);
  EXPECT_EQ(irn.live.expected_participants, 2u);
}

TEST(PlanTest, EqualInputsGiveEqualPlans) {
  const std::string text = "transport = \"irn\"\n" + kDumbbell;
  EXPECT_EQ(flow_lines(plan_of(text)), flow_lines(plan_of(text)));
  EXPECT_EQ(plan_of(text).routes, plan_of(text).routes);
}

TEST(PlanTest, FilesForTheTrafficProgram) {
  const RunPlan plan = plan_of("transport = \"irn\"\n" + kDumbbell);
  EXPECT_EQ(
      flow_lines(plan),
      "# t, irn, seed 1\n# id src dst op size message_size start_ns qps label after dscp\n1 h1 h4 send 1000 "
      "1000 1.500 1 list\n");
  EXPECT_EQ(host_lines(plan), "h1 10.0.0.1\nh2 10.0.0.2\nh3 10.0.1.1\nh4 10.0.1.2\nh5 10.0.1.3\n");
}

TEST(PlanTest, SegmentOfEveryPlanCanBeCreated) {
  const RunPlan plan = plan_of("transport = \"roce+pfc\"\n" + kDumbbell);
  lockstep::SegmentPlan layout;
  static_cast<LiveSettings&>(layout) = plan.live;
  layout.world = plan.world;
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("rocelab_plan_test." + std::to_string(getpid()));
  {
    const lockstep::Segment segment = lockstep::Segment::create(path, layout);
    EXPECT_EQ(segment.header().lookahead_ps, plan.lookahead.ps());
    EXPECT_NE(segment.find_host("h5"), nullptr);
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace rocelab
