#include <gtest/gtest.h>

#include <algorithm>

#include "emu/runner/complaint_fixture.h"
#include "emu/runner/plan.h"
#include "emu/runner/scenario.h"
#include "ovs_patches/switch_model/mechanisms/escape.h"
#include "ovs_patches/switch_model/mechanisms/loop_breaker.h"

namespace rocelab {
namespace {

std::string text(const std::string& more) {
  return "transport = [\"roce+pfc\"]\n[topology]\nkind = \"star\"\nhosts = 3\n" + more;
}
Settings settings(const std::string& more) { return parse_scenario(text(more), "t.toml").settings[0]; }

std::string complaint(const std::string& more);

TEST(DeviceReaderTest, FixesOfEscapeAreChosenOneByOne) {
  EXPECT_EQ(settings("[switch.escape]\nenabled = true\n").switches.mechanisms.of<EscapeMechanism>().fixes,
            kAllEscapeFixes);
  const Settings letter = settings("[switch.escape]\nfixes = []\n");
  EXPECT_EQ(letter.switches.mechanisms.of<EscapeMechanism>().fixes, 0);
  const Parameter listed{"switch.escape.fixes", "[]"};
  EXPECT_NE(std::ranges::find(letter.parameters, listed), letter.parameters.end());
  const EscapeParams two = settings("[switch.escape]\nfixes = [\"headroom\", \"order\"]\n")
                               .switches.mechanisms.of<EscapeMechanism>();
  EXPECT_TRUE(two.has(EscapeFix::kHeadroom) && two.has(EscapeFix::kOrder));
  EXPECT_FALSE(two.has(EscapeFix::kPool) || two.has(EscapeFix::kReclaim));
  EXPECT_FALSE(two.by_hosts);
  EXPECT_TRUE(
      settings("[switch.escape]\nflow = \"hosts\"\n").switches.mechanisms.of<EscapeMechanism>().by_hosts);
  try {
    settings("[switch.escape]\nfixes = [\"pool\", \"bounds\"]\n");
    FAIL() << "an unknown fix was accepted";
  } catch (const ScenarioError& error) {
    EXPECT_NE(std::string(error.what()).find("names \"bounds\""), std::string::npos) << error.what();
  }
}

TEST(DeviceReaderTest, PfcThresholdsHaveNamesForWhichKeysStandIn) {
  const SwitchConfig ours = settings("").switches;
  EXPECT_EQ(ours.pfc.xoff, kComputed);
  const SwitchConfig authors =
      settings("[switch]\nshared_pool = \"1MB\"\n[switch.pfc]\npreset = \"rocc-authors\"\n").switches;
  EXPECT_EQ(authors.pfc.xoff, 500_KB);
  EXPECT_EQ(authors.pfc.xon, 10_KB);
  EXPECT_EQ(authors.ingress_buffer, 1200_KB);
  EXPECT_EQ(authors.shared_pool, 1_MB) << "a key stands in for the preset's value";
  const SwitchConfig higher =
      settings("[switch.pfc]\npreset = \"rocc-authors-100g\"\nxon = \"20KB\"\n").switches;
  EXPECT_EQ(higher.pfc.xoff, 800_KB);
  EXPECT_EQ(higher.pfc.xon, 20_KB);
  EXPECT_EQ(settings("[switch.pfc]\npreset = \"escape-testbed\"\n").switches.pfc.xoff, 125_KB);
}

TEST(DeviceReaderTest, LinksOfARateMayHaveMarkingOfTheirOwn) {
  const std::string ecn =
      "rate = \"100Gb/s\"\n[switch.ecn]\nenabled = true\nkmin = \"10KB\"\nkmax = \"20KB\"\npmax = 0.5\n"
      "[[switch.ecn.by_rate]]\nrate = \"25Gb/s\"\nkmin = \"1KB\"\nkmax = \"4KB\"\n"
      "[[switch.ecn.by_rate]]\nrate = \"400Gb/s\"\nkmax = \"1600KB\"\npmax = 0.2\n"
      "[[topology.link]]\nbetween = [\"h2\", \"s1\"]\nrate = \"25Gb/s\"\n"
      "[[topology.link]]\nbetween = [\"h3\", \"s1\"]\nrate = \"400Gb/s\"\n";
  const Scenario scenario = parse_scenario(text(ecn), "t.toml");
  const RunPlan plan = make_plan(scenario, scenario.settings[0], 1);
  const EcnConfig plain = plan.world.switches[0].config.classes[3].ecn;
  EXPECT_EQ(plain.k_min, 10_KB);
  EXPECT_FALSE(plan.world.ports[0].config.ecn.enabled);  // its class's
  const EcnConfig slow = plan.world.ports[1].config.ecn, fast = plan.world.ports[2].config.ecn;
  EXPECT_TRUE(slow.enabled && slow.k_min == 1_KB && slow.k_max == 4_KB && slow.p_max == 0.5);
  EXPECT_TRUE(fast.enabled && fast.k_min == 10_KB && fast.k_max == 1600_KB && fast.p_max == 0.2);
  EXPECT_EQ(plain.average, 1);
  EXPECT_NE(complaint("[switch.ecn]\naverage = 0\n").find("average"), std::string::npos);
  const std::string again = "[[switch.ecn.by_rate]]\nrate = \"25Gb/s\"\n";
  EXPECT_NE(complaint(again + again).find("switch.ecn.by_rate.1.rate = 25Gbps has thresholds already"),
            std::string::npos);
  EXPECT_NE(complaint(again + "kmax = \"1KB\"\n").find("by_rate.0.kmax is less than kmin"),
            std::string::npos);
  EXPECT_NE(complaint("[[switch.ecn.by_rate]]\nkmax = \"1KB\"\n").find("needs the key \"rate\""),
            std::string::npos);
}

TEST(DeviceReaderTest, WhatEscapesChapterHasNotIsOffUnlessItIsAskedFor) {
  const EscapeParams plain =
      settings("[switch.escape]\nenabled = true\n").switches.mechanisms.of<EscapeMechanism>();
  EXPECT_FALSE(plain.announce || plain.return_tokens);
  const std::string both = "[switch.escape]\nannounce = true\nreturn_tokens = true\n";
  const EscapeParams escape = settings(both).switches.mechanisms.of<EscapeMechanism>();
  EXPECT_TRUE(escape.announce && escape.return_tokens);
  EXPECT_NE(complaint(both + "fixes = [\"pool\", \"order\"]\n").find("needs the fixes"), std::string::npos);
}

TEST(DeviceReaderTest, EscapeServesTheLosslessClassesOrThoseThatAreNamed) {
  const auto classes = [](const std::string& more) {
    return settings(more).switches.mechanisms.of<EscapeMechanism>().classes;
  };
  EXPECT_EQ(classes("[switch.escape]\nenabled = true\n"), 0xff);
  const std::string two = "[switch]\nlossless_classes = [3, 4]\n[switch.escape]\nenabled = true\nclasses = ";
  EXPECT_EQ(classes(two + "\"lossless\"\n"), 0xff);
  EXPECT_EQ(classes(two + "[4]\n"), 1 << 4);
  EXPECT_NE(complaint(two + "[5]\n").find("class 5, which is not in lossless_classes"), std::string::npos);
  EXPECT_NE(complaint(two + "[]\n").find("names none"), std::string::npos);
}

std::string complaint(const std::string& more) {
  return complaint_of([&] { settings(more); });
}

TEST(DeviceReaderTest, TheWallClocksDilationIsANumberBecauseNothingHasToBeCalibrated) {
  const std::string wall = "[engine]\nclock = \"wall\"\n";
  EXPECT_EQ(settings(wall).engine.dilation, 1);
  EXPECT_EQ(settings(wall + "dilation = 2.5\n").engine.dilation, 2.5);
  const std::string automatic = complaint(wall + "dilation = \"auto\"\n");
  EXPECT_NE(automatic.find("engine.dilation = \"auto\" has nothing to calibrate"), std::string::npos)
      << automatic;
  const std::string other = complaint(wall + "dilation = \"slow\"\n");
  EXPECT_NE(other.find("must be a number, not \"slow\""), std::string::npos) << other;
}

TEST(DeviceReaderTest, QueuesHaveAnOrderAndAFullRuleByClass) {
  const SwitchConfig config =
      settings(
          "[switch]\nqueue_order = \"fair\"\n[switch.class.1]\norder = \"lifo\"\n"
          "when_full = \"push-out-longest\"\n[switch.class.3]\negress_max = \"100KB\"\nmay_drop = true\n")
          .switches;
  EXPECT_EQ(config.queue_order, QueueOrder::kFifo);
  EXPECT_EQ(config.classes[0].order, QueueOrder::kFair);
  EXPECT_EQ(config.classes[1].order, QueueOrder::kLifo);
  EXPECT_EQ(config.classes[1].full, FullRule::kPushOutLongest);
  EXPECT_EQ(config.classes[3].egress_max, 100_KB);
  EXPECT_EQ(settings("[switch]\ninput_buffered = true\n").switches.queue_order, QueueOrder::kRoundRobin);
}

TEST(DeviceReaderTest, AQueueMayHoldWhatItsPortMayUnlessItHasALimitOfItsOwn) {
  const std::string port = "[switch]\nport_buffer = \"1MB\"\nport_when_full = \"push-out-lower\"\n";
  const SwitchConfig config = settings(port).switches;
  EXPECT_EQ(config.port_buffer, 1_MB);
  EXPECT_EQ(config.egress_limit, 1_MB);
  EXPECT_EQ(config.port_rule, PortRule::kPushOutLower);
  EXPECT_EQ(settings(port + "lossy_buffer = \"60KB\"\n").switches.egress_limit, 60_KB);
}

TEST(DeviceReaderTest, RulesThatAQueueCannotHaveAreNamedWithTheirKey) {
  const std::pair<const char*, const char*> wrong[] = {
      {"[switch.class.8]\norder = \"lifo\"\n", "switch.class.8 is no class"},
      {"[switch.class.0]\norder = \"lifi\"\n", "did you mean \"lifo\""},
      {"[switch]\ninput_buffered = true\n[switch.class.0]\norder = \"lifo\"\n",
       "order excludes switch.queue_order"},
      {"[switch.class.3]\nwhen_full = \"push-out\"\n", "would drop frames of class 3"},
      {"[switch.class.3]\negress_max = \"100KB\"\n", "write may_drop = true beside it"},
      {"[switch.class.0]\negress_max = \"100KB\"\nmay_drop = true\n", "is of lossless classes"},
      {"[switch.class.3]\nmay_drop = true\n", "only with egress_max"},
      {"[switch]\nshared_pool = \"1MB\"\n[switch.class.0]\nwhen_full = \"push-out\"\n",
       "set switch.alpha_lossy = 0"},
      {"[switch]\nqueue_order = \"fair\"\n[switch.escape]\nenabled = true\n", "FIFO queues only"},
      {"[switch.class.0]\nordr = \"lifo\"\n", "ordr"},
      {"[switch.class.0]\norder = \"ranked\"\n",
       "class 0.order = \"ranked\" needs something that gives ranks"},
      {"[switch.class.0]\norder = \"levels\"\n",
       "class 0.order = \"levels\" needs something that gives ranks"},
      {"[switch]\nport_when_full = \"push-out-lower\"\n", "only with port_buffer"},
      {"[switch]\nport_buffer = \"1MB\"\nport_when_full = \"push-out\"\n",
       "is none of refuse, push-out-lower"},
      {"[switch]\nport_buffer = \"1MB\"\ninput_buffered = true\n", "goes with neither input_buffered"},
      {"[switch]\nport_buffer = 1000\n", "has no unit"},
  };
  for (const auto& [text, want] : wrong)
    EXPECT_NE(complaint(text).find(want), std::string::npos) << text << complaint(text);
}

TEST(DeviceReaderTest, LoopBreakerIsOffUnlessItIsAskedFor) {
  const auto params = [](const std::string& more) {
    return settings(more).switches.mechanisms.of<LoopBreakerMechanism>();
  };
  EXPECT_FALSE(params("").enabled);
  const LoopBreakerParams on = params("[switch.loop_breaker]\nenabled = true\n");
  EXPECT_TRUE(on.enabled);
  EXPECT_EQ(on.interval, 1_ms);
  EXPECT_EQ(on.period, 0_ps) << "the interval";
  EXPECT_EQ(on.drop, LoopBreakerDrop::kQueue);
  const LoopBreakerParams all =
      params("[switch.loop_breaker]\ninterval = \"2ms\"\nperiod = \"50us\"\ndrop = \"to-xon\"\n");
  EXPECT_EQ(all.interval, 2_ms);
  EXPECT_EQ(all.period, 50_us);
  EXPECT_EQ(all.drop, LoopBreakerDrop::kToXon);
}

TEST(DeviceReaderTest, WhatLoopBreakerCannotBeIsNamedWithItsKey) {
  const std::string table = "[switch.loop_breaker]\nenabled = true\n";
  const auto expect_part = [](const std::string& found, const std::string& part) {
    EXPECT_NE(found.find(part), std::string::npos) << found;
  };
  expect_part(complaint(table + "interval = \"0us\"\n"), "must be more than 0");
  expect_part(complaint(table + "period = \"0us\"\n"), "must be more than 0");
  expect_part(complaint(table + "drop = \"head\"\n"), "to-xon");
  expect_part(complaint(table + "intervall = \"1ms\"\n"), "interval");
  expect_part(complaint(table + "[switch.escape]\nenabled = true\n"), "use one of them");
  try {
    parse_scenario("transport = [\"roce\"]\n[topology]\nkind = \"star\"\nhosts = 3\n" + table, "t.toml");
    FAIL() << "accepted without PFC";
  } catch (const ScenarioError& error) {
    expect_part(error.what(), "needs PFC");
  }
}

// 4.3.1 of the IRN chapter: no timeouts under PFC, where nothing is lost. Where something is, they are on.
TEST(DeviceReaderTest, RecoveryTimersAreOnUnderPfcWhereFramesCanBeLost) {
  const auto on = [](const std::string& more, const std::string& transport = "roce+pfc") {
    const Scenario s = parse_scenario(text(more), "t.toml", {{"transport", transport}});
    return s.settings[0].nic.config.recovery_timers;
  };
  EXPECT_FALSE(on(""));
  EXPECT_TRUE(on("", "roce"));
  const std::string fault = "[[fault]]\nfrom = \"h1\"\nto = \"s1\"\n";
  EXPECT_FALSE(on(fault)) << "one that does nothing";
  for (const char* what : {"drop_rate = 0.01\n", "corrupt_rate = 0.01\n", "drop_list = [7]\n"}) {
    EXPECT_TRUE(on(fault + what)) << what;
    EXPECT_FALSE(on(fault + what + "[timers]\ntimeouts = \"off\"\n")) << what;
  }
  EXPECT_TRUE(on("[[link_event]]\nat = \"1ms\"\nbetween = [\"h1\", \"s1\"]\nstate = \"down\"\n"));
  EXPECT_TRUE(on("[switch.loop_breaker]\nenabled = true\n"));
  EXPECT_FALSE(on("[switch.pfc.watchdog]\nperiod = \"1ms\"\n"));
  EXPECT_TRUE(on("[switch.pfc.watchdog]\nperiod = \"1ms\"\naction = \"drop\"\n"));
  EXPECT_TRUE(on("[switch]\nlossless_classes = [4]\n")) << "RoCE's own class is lossy";
  const Settings lossy = settings(fault + "drop_rate = 0.01\n");
  const Parameter listed{"timers.timeouts", "\"on\""};
  EXPECT_NE(std::ranges::find(lossy.parameters, listed), lossy.parameters.end());
}

}  // namespace
}  // namespace rocelab
