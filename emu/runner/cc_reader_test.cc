#include <gtest/gtest.h>

#include <algorithm>

#include "base/wire/shim_parts.h"
#include "emu/runner/complaint_fixture.h"
#include "emu/runner/plan.h"
#include "emu/runner/scenario.h"
#include "irn_provider/cc/algorithms.h"
#include "irn_provider/cc/cc_algorithm.h"
#include "ovs_patches/switch_model/mechanisms/escape.h"
#include "ovs_patches/switch_model/mechanisms/rcp.h"
#include "ovs_patches/switch_model/mechanisms/rocc.h"
#include "ovs_patches/switch_model/mechanisms/telemetry.h"
#include "ovs_patches/switch_model/mechanisms/watchdog.h"

namespace rocelab {
namespace {

std::string text(const std::string& transport, const std::string& more = "") {
  return "transport = [" + transport + R"(]
[topology]
kind = "star"
hosts = 3
)" + more;
}

std::vector<Settings> settings(const std::string& transport, const std::string& more = "",
                               const std::vector<Override>& overrides = {}) {
  return parse_scenario(text(transport, more), "t.toml", overrides).settings;
}

std::string complaint(const std::string& transport, const std::string& more) {
  return complaint_of([&] { settings(transport, more); });
}

std::string value_of(const Settings& s, const std::string& key) {
  for (const Parameter& p : s.parameters)
    if (p.key == key) return p.value;
  return "absent";
}

TEST(CcReaderTest, LabelsNameTheCongestionControl) {
  const auto s = settings(R"("irn", "irn+dcqcn", "roce+pfc+timely", "irn+pfc+dctcp")");
  EXPECT_EQ(name_of(s[0].nic.config.cc), "none");
  EXPECT_EQ(name_of(s[1].nic.config.cc), "dcqcn");
  EXPECT_EQ(s[1].nic.config.mode, TransportMode::kIrn);
  EXPECT_FALSE(s[1].switches.pfc.enabled);
  EXPECT_EQ(name_of(s[2].nic.config.cc), "timely");
  EXPECT_EQ(s[2].nic.config.mode, TransportMode::kRoce);
  EXPECT_TRUE(s[2].switches.pfc.enabled);
  EXPECT_EQ(name_of(s[3].nic.config.cc), "dctcp");
  EXPECT_EQ(value_of(s[1], "congestion_control.name"), "\"dcqcn\"");
}

TEST(CcReaderTest, MarkingAndEctFollowTheAlgorithm) {
  const auto s = settings(R"("irn", "irn+dcqcn", "irn+timely", "irn+dctcp")");
  for (std::size_t i = 0; i < s.size(); ++i) {
    const bool marks = i == 1 || i == 3;
    EXPECT_EQ(s[i].nic.config.ecn_capable, marks) << s[i].label;
    EXPECT_EQ(s[i].switches.classes[3].ecn.enabled, marks) << s[i].label;
  }
  EXPECT_EQ(s[1].switches.classes[3].ecn.k_min, 5_KB);
  EXPECT_EQ(s[1].switches.classes[3].ecn.k_max, 200_KB);
  EXPECT_DOUBLE_EQ(s[1].switches.classes[3].ecn.p_max, 0.01);
  EXPECT_EQ(s[3].switches.classes[3].ecn.k_min, s[3].switches.classes[3].ecn.k_max);
  const auto own = settings(R"("irn+dcqcn")", "[switch.ecn]\nkmin = \"40KB\"\n");
  EXPECT_EQ(own[0].switches.classes[3].ecn.k_min, 40_KB);
  EXPECT_EQ(own[0].switches.classes[3].ecn.k_max, 200_KB);
}

TEST(CcReaderTest, APresetIsTheBaseOfTheKeysBesideIt) {
  const auto s = settings(R"("irn+dcqcn")", R"([congestion_control.dcqcn]
preset = "conweave-ns3"
rate_ai = "20Mb/s"
)");
  const DcqcnParams& p = *s[0].nic.config.cc.get<DcqcnRp>();
  EXPECT_TRUE(p.periodic);
  EXPECT_EQ(p.rate_timer, 300_us);
  EXPECT_EQ(p.rate_ai, 20_Mbps);
  EXPECT_EQ(s[0].switches.classes[3].ecn.k_max, 400_KB);
  EXPECT_EQ(value_of(s[0], "congestion_control.dcqcn.rate_hai"), "\"100Mbps\"");
  EXPECT_EQ(value_of(s[0], "congestion_control.timely.delta"), "absent") << "only what is in use is listed";
}

TEST(CcReaderTest, TheNameCanBeSetAndSweptLikeAnyKey) {
  EXPECT_EQ(name_of(settings(R"("irn")", "", {{"congestion_control.name", "timely"}})[0].nic.config.cc),
            "timely");
  const auto s = settings(R"("irn")", "[axes]\n\"congestion_control.timely.t_low\" = [\"0us\", \"50us\"]\n",
                          {{"congestion_control.name", "timely"}});
  ASSERT_EQ(s.size(), 2u);
  EXPECT_EQ(s[0].nic.config.cc.get<Timely>()->t_low, 0_us);
  EXPECT_EQ(s[1].nic.config.cc.get<Timely>()->t_low, 50_us);
}

TEST(CcReaderTest, RttsCanBeTakenWithoutCongestionControl) {
  const auto s = settings(R"("roce+pfc")", "", {{"congestion_control.rtt_segment", "16KB"}});
  EXPECT_EQ(s[0].nic.config.cc.timed_segment(), 16_KB);
  EXPECT_TRUE(s[0].nic.config.cc.in_use());
  EXPECT_FALSE(settings(R"("roce+pfc")", "")[0].nic.config.cc.in_use());
  EXPECT_EQ(settings(R"("irn+timely")", "")[0].nic.config.cc.timed_segment(), 16_KB);
}

TEST(CcReaderTest, RatesAreTracedWhereAsked) {
  EXPECT_FALSE(settings(R"("irn+timely")", "")[0].nic.config.cc.trace_rates);
  const auto s = settings(R"("irn", "irn+timely")", "[congestion_control]\ntrace_rates = true\n");
  for (const Settings& each : s) EXPECT_TRUE(each.nic.config.cc.trace_rates);
  EXPECT_FALSE(s[0].nic.config.cc.in_use()) << "there is nothing to trace";
}

TEST(CcReaderTest, IwarpIsTcpWithSlowStartAndWithoutBdpFc) {
  const auto s = settings(R"("iwarp", "irn")");
  const NicConfig& nic = s[0].nic.config;
  EXPECT_EQ(nic.mode, TransportMode::kIrn);
  EXPECT_TRUE(nic.irn.tcp);
  EXPECT_EQ(nic.irn.bdp_cap, 0u);
  EXPECT_FALSE(s[0].nic.compute_bdp_cap);
  EXPECT_EQ(name_of(nic.cc), "aimd");
  EXPECT_TRUE(nic.cc.get<Aimd>()->slow_start);
  EXPECT_EQ(nic.cc.get<Aimd>()->initial_window, 4u);
  EXPECT_FALSE(s[1].nic.config.irn.tcp) << "other labels stay as they are";
}

TEST(CcReaderTest, OverheadsAndTimersOfIrn) {
  const auto s = settings(R"("irn")", "[irn]\nretransmit_fetch = \"2us\"\nrto = \"dynamic\"\n");
  EXPECT_EQ(s[0].nic.config.irn.retransmit_fetch, 2_us);
  EXPECT_TRUE(s[0].nic.config.irn.dynamic_rto);
}

TEST(CcReaderTest, HpccBringsTelemetryAndTheNetworksRtt) {
  const Scenario s = parse_scenario(
      text(R"("irn+pfc+hpcc", "irn")", "[congestion_control.hpcc]\nflows = 10\nw_ai = \"80B\"\n"), "t.toml");
  const RunPlan plan = make_plan(s, s.settings[0], 1);
  EXPECT_TRUE(plan.world.switches[0].config.mechanisms.of<TelemetryMechanism>().enabled);
  EXPECT_EQ(plan.world.switches[0].config.max_frame,
            plan.wire_mtu + Bytes::from_count(Telemetry::kMaxShimBytes));
  EXPECT_EQ(plan.live.max_frame_bytes,
            (plan.wire_mtu + SwitchConfig::kLongerOverIpv6).count() + Telemetry::kMaxShimBytes);
  const HpccParams& p = *plan.world.hosts[0].nic.cc.get<Hpcc>();
  EXPECT_EQ(p.base_rtt, plan.base_rtt);
  EXPECT_EQ(p.w_ai, 80_B);
  EXPECT_EQ(p.flows, 10u);
  EXPECT_FALSE(
      make_plan(s, s.settings[1], 1).world.switches[0].config.mechanisms.of<TelemetryMechanism>().enabled);
}

TEST(CcReaderTest, RcpIsOnAtBothEndsAndHasTheNetworksRtt) {
  const auto plan_of = [](const std::string& more, std::size_t label = 0) {
    const Scenario s = parse_scenario(text(R"("irn+rcp", "irn")", more), "t.toml");
    return make_plan(s, s.settings[label], 1);
  };
  const auto switch_of = [](const RunPlan& plan) {
    return plan.world.switches[0].config.mechanisms.of<RcpMechanism>();
  };
  const RunPlan plan = plan_of("");
  EXPECT_EQ(name_of(plan.world.hosts[0].nic.cc), "rcp");
  EXPECT_TRUE(switch_of(plan).enabled);
  EXPECT_EQ(switch_of(plan).rtt, plan.base_rtt);
  EXPECT_EQ(switch_of(plan).slot, 10_ms);
  EXPECT_EQ(plan.wire_mtu, plan_of("", 1).wire_mtu + Bytes::from_count(kRcpShimBytes));
  EXPECT_FALSE(switch_of(plan_of("", 1)).enabled);
  const RunPlan other = plan_of("[switch.rcp]\nrtt = \"200ms\"\nbeta = 1\nslot = \"5ms\"\n");
  EXPECT_EQ(switch_of(other).rtt, 200_ms);
  EXPECT_EQ(switch_of(other).beta, 1);
  EXPECT_EQ(switch_of(other).slot, 5_ms);
}

TEST(CcReaderTest, WhatRcpCannotHaveIsNamedWithItsPlace) {
  const auto said = [](const std::string& more, const std::string& what) {
    const std::string why = complaint(R"("irn+rcp")", more);
    EXPECT_NE(why.find(what), std::string::npos) << why;
    EXPECT_NE(why.find("t.toml:"), std::string::npos) << why;
  };
  said("[switch.rcp]\nalpha = 0\n", "alpha");
  said("[switch.rcp]\nbetta = 0.4\n", "did you mean \"beta\"?");
  said("[switch.rcp]\nslot = \"0us\"\n", "slot");
  said("[switch.rcp]\nrtt = \"0us\"\n", "rtt");
  said("[switch.rcp]\ninitial = 1.5\n", "initial");
  said("[switch.rcp]\ngamma = 0\n", "gamma");
  said("[congestion_control.rcp]\nmin_rate = \"0b/s\"\n", "min_rate");
}

TEST(CcReaderTest, EscapeBesideHpccHasRoomForItsHopsToo) {
  const Scenario s = parse_scenario(text(R"("irn+pfc+hpcc")", "[switch.escape]\nenabled = true\n"), "t.toml");
  const RunPlan plan = make_plan(s, s.settings[0], 1);
  const SwitchConfig& config = plan.world.switches[0].config;
  EXPECT_TRUE(config.mechanisms.of<TelemetryMechanism>().enabled &&
              config.mechanisms.of<EscapeMechanism>().enabled);
  EXPECT_EQ(config.max_frame, plan.wire_mtu + Bytes::from_count(Telemetry::kMaxShimBytes));
  EXPECT_EQ(plan.live.max_frame_bytes, (plan.wire_mtu + SwitchConfig::kLongerOverIpv6).count() +
                                           Telemetry::kMaxShimBytes + kEscapeShimBytes);
}

TEST(CcReaderTest, WhatTelemetryCannotSayIsRefused) {
  const auto problem = [](const std::string& more) -> std::string {
    return complaint_of([&] {
      const Scenario s = parse_scenario(text(R"("irn+pfc+hpcc")", more), "t.toml");
      make_plan(s, s.settings[0], 1);
    });
  };
  EXPECT_NE(problem("rate = \"13Gb/s\"\n").find("rate 13Gbps has no code in HPCC's telemetry"),
            std::string::npos);
}

TEST(CcReaderTest, HpccOverRoceHasEveryPacketAcknowledged) {
  const auto hpcc = settings(R"("roce+pfc+hpcc")");
  EXPECT_EQ(hpcc[0].nic.config.ack_interval, 1u);
  EXPECT_TRUE(hpcc[0].switches.mechanisms.of<TelemetryMechanism>().enabled);
  EXPECT_EQ(settings(R"("roce+pfc+dcqcn")")[0].nic.config.ack_interval, 66u);
  EXPECT_EQ(settings(R"("irn+hpcc")")[0].nic.config.ack_interval, 66u) << "IRN acknowledges all anyway";
  EXPECT_EQ(settings(R"("irn+hpcc")", "[nic]\nroce_hosts = [\"h1\"]\n")[0].nic.config.ack_interval, 1u);
  EXPECT_NE(complaint(R"("roce+pfc+hpcc")", "[nic]\nack_interval = 66\n")
                .find("nic.ack_interval = 66 leaves packets without an acknowledgement"),
            std::string::npos);
  for (const char* cc : {"aimd", "dctcp"}) {
    EXPECT_NE(complaint("\"roce+" + std::string(cc) + "\"", "").find("use it with mode \"irn\""),
              std::string::npos);
    EXPECT_NE(complaint("\"irn+" + std::string(cc) + "\"", "[nic]\nroce_hosts = [\"h1\"]\n")
                  .find("nic.roce_hosts run RoCE"),
              std::string::npos);
  }
}

// No READ response is acknowledged, so that none would bring back what switches say.
TEST(CcReaderTest, ReadsOverRoceWithHpccOrRcpAreRefused) {
  const std::string reads = "[[workload]]\nkind = \"permutation\"\nsize = \"1MB\"\nop = \"read\"\n";
  const auto problem = [&](const std::string& transport) -> std::string {
    return complaint_of([&] {
      const Scenario s = parse_scenario(text(transport, reads), "t.toml");
      make_plan(s, s.settings[0], 1);
    });
  };
  EXPECT_NE(problem(R"("roce+pfc+hpcc")").find("READs over RoCE with hpcc"), std::string::npos);
  EXPECT_NE(problem(R"("roce+pfc+rcp")").find("READs over RoCE with rcp"), std::string::npos);
  EXPECT_EQ(problem(R"("irn+pfc+hpcc")"), "none");
  EXPECT_EQ(problem(R"("irn+rcp")"), "none");
  EXPECT_EQ(problem(R"("roce+pfc+dcqcn")"), "none");
}

TEST(CcReaderTest, TheWatchdogOfPfcIsOffUnlessItHasAPeriod) {
  const auto off = settings(R"("roce+pfc")");
  EXPECT_EQ(off[0].switches.mechanisms.of<WatchdogMechanism>().period, 0_ps);
  const auto on = settings(R"("roce+pfc")", "[switch.pfc.watchdog]\nperiod = \"1ms\"\naction = \"drop\"\n");
  const PfcWatchdogParams& params = on[0].switches.mechanisms.of<WatchdogMechanism>();
  EXPECT_EQ(params.period, 1_ms);
  EXPECT_EQ(params.action, WatchdogAction::kDrop);
  EXPECT_EQ(value_of(on[0], "switch.pfc.watchdog.action"), "\"drop\"");
  EXPECT_NE(complaint(R"("roce+pfc")", "[switch.pfc.watchdog]\nperiod = \"0us\"\n").find("more than 0"),
            std::string::npos);
}

TEST(CcReaderTest, MistakesNamePlaceAndRemedy) {
  const auto expect = [](const std::string& got, const std::string& want) {
    EXPECT_NE(got.find(want), std::string::npos) << "got: " << got;
  };
  expect(complaint(R"("irn+dcqn")", ""), "did you mean \"irn+dcqcn\"?");
  expect(complaint(R"("irn")", "[congestion_control]\nname = \"timly\"\n"),
         "t.toml:6:8: congestion_control.name = \"timly\" is none of");
  expect(complaint(R"("irn+timely")", "[congestion_control]\nrtt_segment = \"8KB\"\n"),
         "differs from timely.segment");
  expect(complaint(R"("irn")", "[congestion_control.timely]\ntlow = \"1us\"\n"), "did you mean \"t_low\"?");
  expect(complaint(R"("irn")", "[congestion_control.dcqcn]\npreset = \"papr\"\n"),
         "is none of \"paper\", \"irn-paper\", \"rocc-authors\", \"connectx\", \"conweave-ns3\"; did you "
         "mean \"paper\"?");
  expect(complaint(R"("irn")", "[congestion_control.timely]\nt_low = \"600us\"\n"),
         "congestion_control.timely.t_high is less than t_low");
  expect(complaint(R"("irn")", "[congestion_control.timely]\nt_low = 50\n"), "has no unit");
  expect(complaint(R"("iwarp")", "[irn]\ngo_back_n = true\n"), "goes with neither");
  expect(complaint(R"("roce+dctcp")", ""), "use it with mode \"irn\"");
  expect(complaint(R"("irn")", "[congestion_control.dcqcn]\ng = 2\n"), "is outside");
}

TEST(CcReaderTest, AMistakeIsOneLineWithPlaceBoundsAndTheNearestName) {
  const auto told = [](const std::string& table) {
    return complaint(R"("irn")", "[congestion_control." + table + "\n");
  };
  EXPECT_EQ(told("dcqn]\ng = 1"),
            "t.toml:5:21: unknown key \"congestion_control.dcqn\"; did you mean \"dcqcn\"?");
  EXPECT_EQ(told("hpcc]\netta = 0.9"),
            "t.toml:6:1: unknown key \"congestion_control.hpcc.etta\"; did you mean \"eta\"?");
  EXPECT_EQ(
      told("hpcc]\nbase_rtt = \"computd\""),
      "t.toml:6:12: congestion_control.hpcc.base_rtt = \"computd\" is neither \"computed\" nor a duration "
      "such as \"2us\"");
  EXPECT_EQ(told("hpcc]\nbase_rtt = \"0us\""),
            "t.toml:6:12: congestion_control.hpcc.base_rtt must be more than 0, or \"computed\"");
  EXPECT_EQ(told("timely]\nsegment = \"2MB\""),
            "t.toml:6:11: congestion_control.timely.segment = \"2MB\" is more than \"1MB\"");
  EXPECT_EQ(told("timely]\nt_low = \"600us\"\nt_high = \"500us\""),
            "t.toml:7:10: congestion_control.timely.t_high is less than t_low");
  EXPECT_EQ(
      told("aimd]\ninitial_window = \"bpd\""),
      "t.toml:6:18: congestion_control.aimd.initial_window = \"bpd\" is neither \"bdp\" nor a whole number");
  EXPECT_EQ(told("rocc]\nperiod = \"0us\""),
            "t.toml:6:10: congestion_control.rocc.period must be more than 0, or \"by-link\"");
  EXPECT_EQ(
      told("rocc]\nflow_table = \"aged\""),
      "t.toml:6:14: congestion_control.rocc.flow_table = \"aged\" is none of queue, age, elephant-trap; did "
      "you mean \"age\"?");
}

// Values of a congestion point are those of each link unless the table or its preset says one for all.
TEST(CcReaderTest, RoccsPresetsAreValuesOfItsCongestionPoints) {
  const auto rocc = [](const std::string& table) {
    return settings(R"("roce+pfc+rocc")", "[congestion_control.rocc]\n" + table)[0];
  };
  const auto points = [](const Settings& s) { return s.switches.mechanisms.of<RoccMechanism>().points; };
  const Settings paper = rocc(""), testbed = rocc("preset = \"p4-testbed\"\n");
  EXPECT_FALSE(points(paper).q_ref);
  EXPECT_EQ(points(paper).params(10_Gbps).q_ref, 75_KB);
  EXPECT_EQ(value_of(paper, "congestion_control.rocc.q_ref"), "\"by-link\"");
  EXPECT_EQ(value_of(paper, "congestion_control.rocc.recovery_timer"), "\"2T\"");
  EXPECT_EQ(paper.nic.config.cc.get<RoccRp>()->recovery_timer, 80_us);
  EXPECT_EQ(points(testbed).delta_q, 80_B);
  EXPECT_EQ(testbed.nic.config.cc.get<RoccRp>()->recovery_timer, 40_us) << "two periods of its own";
  const Settings authors = rocc("preset = \"authors\"\n");
  EXPECT_EQ(authors.nic.config.cc.get<RoccRp>()->recovery_timer, 55_us);
  EXPECT_EQ(points(authors).f_first, 10_Mbps);
  EXPECT_FALSE(points(paper).f_first);
  EXPECT_FALSE(points(rocc("preset = \"authors\"\nrate_computation = \"host\"\n")).f_first)
      << "the switch's, and hosts compute";
  EXPECT_EQ(value_of(paper, "congestion_control.rocc.f_first"), "\"f_max\"");
  EXPECT_FALSE(points(rocc("preset = \"p4-testbed\"\nq_ref = \"by-link\"\n")).q_ref);
}

}  // namespace
}  // namespace rocelab
