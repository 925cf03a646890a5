#include "emu/runner/scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "emu/runner/complaint_fixture.h"
#include "emu/runner/plan.h"

namespace rocelab {
namespace {

// Line 1 is the first line here.
const std::string kStar = R"(transport = ["roce", "irn+pfc"]
seeds = [3, 4]
[topology]
kind = "star"
hosts = 3
rate = "40Gb/s"
delay = "2us"
[[workload]]
kind = "incast"
receiver = "h3"
size = "8MB"
)";

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = kStar;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string complaint(const std::string& text, const std::vector<Override>& overrides = {}) {
  return complaint_of([&] {
    for (const RunPlan& plan : make_plans(parse_scenario(text, "t.toml", overrides)))
      EXPECT_FALSE(plan.flows.empty());
  });
}

#define EXPECT_COMPLAINT(text, want)                                \
  {                                                                 \
    const std::string got = complaint(text);                        \
    EXPECT_NE(got.find(want), std::string::npos) << "got: " << got; \
  }

// Beyond them sums of times leave 64 bits.
TEST(ScenarioTest, NetworksWithoutMeasureAreRefused) {
  EXPECT_EQ(complaint(kStar, {{"topology.delay", "11s"}}),
            "--set topology.delay=11s: topology.delay is more than 10s");
  EXPECT_NE(complaint(kStar, {{"topology.delay", "10s"}, {"transport", "irn"}}).find("IRN's bitmaps at most"),
            std::string::npos);
  EXPECT_EQ(complaint(kStar, {{"topology.delay", "10s"}, {"transport", "roce"}}), "none");
  EXPECT_NE(complaint(kStar, {{"topology.rate", "1b/s"}, {"transport", "roce"}}).find("more than 1000000s"),
            std::string::npos);
  EXPECT_NE(complaint(kStar, {{"nic.vfs", "33"}}).find("is outside 1..32"), std::string::npos);
}

// Results go there: not beside the folder of all results.
TEST(ScenarioTest, ANameIsThatOfAFolder) {
  for (const char* name : {"../x", "a/b", "/tmp/x", "..", ""})
    EXPECT_COMPLAINT("name = \"" + std::string(name) + "\"\n" + kStar, "t.toml:1:8: name names the folder");
  EXPECT_COMPLAINT("name = \"m\u00fcsli 2.1\"\n" + kStar, "none");
}

TEST(ScenarioTest, LabelsAreThePresetsOfTheIrnChapter) {
  const Scenario s = parse_scenario(kStar, "t.toml");
  ASSERT_EQ(s.settings.size(), 2u);
  const Settings& roce = s.settings[0];
  const Settings& irn = s.settings[1];
  EXPECT_EQ(roce.nic.config.mode, TransportMode::kRoce);
  EXPECT_FALSE(roce.switches.pfc.enabled);
  EXPECT_FALSE(roce.nic.config.pfc_enabled);
  EXPECT_TRUE(roce.nic.config.recovery_timers);
  EXPECT_EQ(roce.nic.config.roce_rto, 320_us);
  EXPECT_EQ(irn.nic.config.mode, TransportMode::kIrn);
  EXPECT_TRUE(irn.switches.pfc.enabled);
  EXPECT_TRUE(irn.nic.config.pfc_enabled);
  EXPECT_FALSE(irn.nic.config.recovery_timers);  // 4.3.1: timeouts are off when PFC is on
  EXPECT_EQ(irn.nic.config.irn.rto_low, 100_us);
  EXPECT_EQ(irn.nic.config.irn.rto_low_packets, 3u);
  EXPECT_EQ(irn.switches.ingress_buffer, 240_KB);
}

TEST(ScenarioTest, RateWithoutUnitNamesPlaceAndRemedy) {
  EXPECT_COMPLAINT(replaced("rate = \"40Gb/s\"", "rate = 40"),
                   "t.toml:6:8: topology.rate has no unit: write for example rate = \"40Gb/s\"");
}

TEST(ScenarioTest, ZeroDelayIsRefusedForLackOfLookahead) {
  EXPECT_COMPLAINT(replaced("delay = \"2us\"", "delay = \"0us\""),
                   "t.toml:7:9: topology.delay = 0 leaves no lookahead");
}

TEST(ScenarioTest, UnknownKeysNameTheNearest) {
  EXPECT_COMPLAINT(replaced("hosts = 3", "hosst = 3\nhosts = 3"),
                   "t.toml:5:1: unknown key \"topology.hosst\"; did you mean \"hosts\"?");
  EXPECT_COMPLAINT("tranport = \"irn\"\n" + kStar,
                   "t.toml:1:1: unknown key \"tranport\"; did you mean \"transport\"?");
  EXPECT_COMPLAINT(kStar + "[swich]\nlossy_buffer = \"1MB\"\n",
                   "unknown key \"swich\"; did you mean \"switch\"?");
  EXPECT_COMPLAINT(kStar + "[switch.pfc]\nheadrom = \"1KB\"\n",
                   "unknown key \"switch.pfc.headrom\"; did you mean \"headroom\"?");
  EXPECT_COMPLAINT(replaced("\"roce\"", "\"roc\""),
                   "t.toml:1:14: transport names the unknown label \"roc\"; did you mean \"roce\"?");
  EXPECT_COMPLAINT(replaced("\"incast\"", "\"incats\""), "did you mean \"incast\"?");
  EXPECT_COMPLAINT(replaced("\"h3\"", "\"h33\""),
                   "t.toml:10:12: workload.incast.receiver names no host: \"h33\"; did you mean \"h3\"?");
}

TEST(ScenarioTest, AMisspeltKeyIsNamedBeforeTheKeyThatIsMissing) {
  EXPECT_COMPLAINT(replaced("hosts = 3", "hosst = 3"),
                   "t.toml:5:1: unknown key \"topology.hosst\"; did you mean \"hosts\"?");
  EXPECT_COMPLAINT(replaced("receiver", "reciever"),
                   "t.toml:10:1: unknown key \"workload.incast.reciever\"; did you mean \"receiver\"?");
  EXPECT_COMPLAINT("transport = [\"x\"]\n[[label]]\nnme = \"x\"\nmode = \"irn\"\npfc = true\n",
                   "t.toml:3:1: unknown key \"label.0.nme\"; did you mean \"name\"?");
  EXPECT_COMPLAINT(replaced("hosts = 3\n", ""), "t.toml:3:2: [topology] needs the key \"hosts\"");
  EXPECT_COMPLAINT(replaced("kind = \"incast\"\n", "knd = \"incast\"\n"),
                   "t.toml:9:1: unknown key \"workload.0.knd\"; did you mean \"kind\"?");
}

TEST(ScenarioTest, ComplaintsAboutLabelsHaveTheirPlace) {
  EXPECT_COMPLAINT(replaced("[\"roce\", \"irn+pfc\"]", "[\"roce\",\n  \"irn+pcf\"]"),
                   "t.toml:2:3: transport names the unknown label \"irn+pcf\"; did you mean \"irn+pfc\"?");
  EXPECT_COMPLAINT(replaced("\"irn+pfc\"", "\"roce\""), "t.toml:1:22: transport names \"roce\" twice");
  EXPECT_COMPLAINT(kStar + "[[compare]]\nof = \"ir\"\nover = \"roce\"\n",
                   "t.toml:13:6: compare.0.of names the unknown label \"ir\"; did you mean \"irn\"?");
  // What a preset label changes: where the file names it.
  EXPECT_COMPLAINT(replaced("\"irn+pfc\"", "\"rc3\"") + "[irn]\nrc3 = true\n", "t.toml:1:22: the label rc3");
}

TEST(ScenarioTest, ImpossibleValuesAreRefused) {
  EXPECT_COMPLAINT(replaced("size = \"8MB\"", "size = \"0B\""), "must be more than 0");
  EXPECT_COMPLAINT(replaced("hosts = 3", "hosts = 0"), "t.toml:5:9: topology.hosts = 0 is outside 1..");
  EXPECT_COMPLAINT(replaced("hosts = 3", "hosts = \"3\""), "must be a whole number");
  EXPECT_COMPLAINT(replaced("seeds = [3, 4]", "seeds = [3, 3]"), "holds 3 twice");
  EXPECT_COMPLAINT(kStar + "[timers]\nrto_low = \"1ms\"\n", "timers.rto_high is less than rto_low");
  EXPECT_COMPLAINT(kStar + "[switch]\nlossless_buffer = \"2KB\"\n",
                   "switch.lossless_buffer = \"2KB\" is too small for PFC");
  EXPECT_COMPLAINT(kStar + "[engine]\nclock = \"sundial\"\n", "is none of lockstep");
}

std::string with_topology(const std::string& topology) {
  return "transport = \"irn\"\n[topology]\n" + topology +
         "[[workload]]\nkind = \"permutation\"\nsize = \"1KB\"\n";
}

TEST(ScenarioTest, ImpossibleTopologiesAreRefused) {
  EXPECT_COMPLAINT(with_topology("kind = \"fat-tree\"\narity = 7\n"),
                   "t.toml:4:9: topology.arity = 7 is impossible");
  EXPECT_COMPLAINT(with_topology("kind = \"fat-tree\"\narity = 42\n"),
                   "t.toml:2:2: this topology has 18522 hosts; at most 16384 are supported");
  EXPECT_COMPLAINT(with_topology("kind = \"fat-tree\"\narity = 6\noversubscription = 1.5\n"),
                   "t.toml:5:20: topology.oversubscription cannot be: it would take 4.5");
  EXPECT_COMPLAINT(
      with_topology("kind = \"fat-tree\"\narity = 6\noversubscription = 2\nhosts_per_edge = 3\n"),
      "t.toml:5:20: topology.oversubscription excludes hosts_per_edge");
  EXPECT_COMPLAINT(with_topology("kind = \"leaf-spine\"\nleaves = 4\nspines = 2\n"),
                   "t.toml:2:2: [topology] needs the key \"hosts_per_leaf\"");
  EXPECT_COMPLAINT(with_topology("kind = \"ring\"\nswitches = 2\n"),
                   "t.toml:4:12: topology.switches must be at least 3 for a ring");
  EXPECT_COMPLAINT(with_topology("kind = \"custom\"\nhosts = [\"a\", \"b\"]\nswitches = [\"s\", \"t\"]\n"
                                 "[[topology.link]]\nbetween = [\"a\", \"s\"]\n"
                                 "[[topology.link]]\nbetween = [\"b\", \"t\"]\n"),
                   "t.toml:2:2: \"b\" cannot be reached from \"a\"");
}

TEST(ScenarioTest, ImpossibleWorkloadsAreRefused) {
  const auto star = [](const std::string& workload) {
    return "transport = \"irn\"\n[topology]\nkind = \"star\"\nhosts = 4\n[[workload]]\n" + workload;
  };
  const std::string poisson = "kind = \"poisson\"\nsize = \"1KB\"\nduration = \"1ms\"\n";
  EXPECT_COMPLAINT(star(poisson + "load = 1.2\n"), "t.toml:9:8: workload.poisson.load = 1.2 is outside");
  EXPECT_COMPLAINT(
      star("kind = \"poisson\"\nload = 0.5\nsize = \"1KB\"\n"),
      "t.toml:5:1: workload \"poisson\" of kind \"poisson\" needs a duration or a number of flows");
  EXPECT_COMPLAINT(star("kind = \"list\"\n[[workload.flow]]\nsrc = \"h1\"\ndst = \"h1\"\nsize = \"1KB\"\n"),
                   "t.toml:9:7: workload.list.flow.0.dst is the flow's source too");
  EXPECT_COMPLAINT(star("kind = \"list\"\n[[workload.flow]]\nsrc = \"h1\"\ndst = \"h2\"\nsize = \"0B\"\n"),
                   "t.toml:10:8: workload.list.flow.0.size must be more than 0");
  EXPECT_COMPLAINT(star("kind = \"incast\"\nreceiver = \"h1\"\nsenders = [\"h2\", \"h1\"]\nsize = \"1KB\"\n"),
                   "t.toml:8:11: workload.incast.senders holds the receiver \"h1\"");
  EXPECT_COMPLAINT(star("kind = \"incast\"\nreceiver = \"h1\"\nfan_in = 4\nsize = \"1KB\"\n"),
                   "t.toml:8:10: workload.incast.fan_in = 4 is more than the 3 hosts that can send");
  EXPECT_COMPLAINT(star("kind = \"incast\"\nreceiver = \"h1\"\nrepeats = 2\nsize = \"1KB\"\n"),
                   "workload.incast.period must be more than 0 where an incast repeats");
  EXPECT_COMPLAINT(star("kind = \"incast\"\nreceiver = \"h1\"\ntotal = \"1MB\"\nsize = \"1KB\"\n"),
                   "t.toml:8:9: workload.incast.total excludes size");
  EXPECT_COMPLAINT(star("kind = \"permutation\"\ncdf = \"nowhere.cdf\"\n"),
                   "nowhere.cdf: cannot be read; is the path right?");
  EXPECT_COMPLAINT(
      "transport = \"irn\"\n[topology]\nkind = \"fat-tree\"\narity = 4\noversubscription = 2\n"
      "[[workload]]\n" +
          poisson + "load = 0.6\n",
      "t.toml:10:8: workload.poisson.load brings the link from \"edge1\" to \"agg1\" to 108.4 %");
  EXPECT_COMPLAINT(
      "transport = \"irn\"\n[topology]\nkind = \"fat-tree\"\narity = 4\noversubscription = 2\n"
      "[[workload]]\n" +
          poisson + "overload = true\nload = 0.6\n",
      "none");
}

TEST(ScenarioTest, OversubscriptionSetsTheHostsOfAnEdge) {
  const auto hosts = [](const std::string& topology) {
    return parse_scenario(with_topology(topology), "t.toml").settings[0].topology.hosts();
  };
  EXPECT_EQ(hosts("kind = \"fat-tree\"\narity = 6\n"), 54u);
  EXPECT_EQ(hosts("kind = \"fat-tree\"\narity = 4\noversubscription = 2\n"), 32u);
  EXPECT_EQ(hosts("kind = \"leaf-spine\"\nleaves = 8\nspines = 8\noversubscription = 2\n"), 128u);
  EXPECT_EQ(hosts("kind = \"leaf-spine\"\nleaves = 2\nspines = 4\nrate = \"25Gb/s\"\n"
                  "trunk_rate = \"100Gb/s\"\noversubscription = 1\n"),
            32u);
}

TEST(ScenarioTest, DuplicatesAreRefused) {
  EXPECT_COMPLAINT(kStar + "[[workload]]\nkind = \"incast\"\nreceiver = \"h1\"\nsize = \"1MB\"\n",
                   "two workloads are called \"incast\"");
  EXPECT_COMPLAINT("[topology]\nkind = \"custom\"\nhosts = [\"a\", \"a\"]\nswitches = [\"s\"]\n",
                   "the scenario needs the key \"transport\"");
  EXPECT_COMPLAINT(
      "transport = \"irn\"\n[topology]\nkind = \"custom\"\nhosts = [\"a\", \"a\"]\nswitches = [\"s\"]\n",
      "two nodes are called \"a\"");
  EXPECT_COMPLAINT(replaced("hosts = 3", "hosts = 3\nhosts = 4"), "t.toml:6:");  // TOML itself forbids it
  EXPECT_COMPLAINT(replaced("[\"roce\", \"irn+pfc\"]", "[\"roce\", \"roce\"]"), "names \"roce\" twice");
}

TEST(ScenarioTest, SyntaxErrorsNameThePlace) {
  EXPECT_COMPLAINT("transport = [\"irn\"\n[topology]\n", "t.toml:2:");
}

TEST(ScenarioTest, OverridesApplyLastAndNameThemselves) {
  const Scenario s = parse_scenario(kStar, "t.toml",
                                    {{"topology.rate", "100Gb/s"},
                                     {"workload.incast.size", "1MB"},
                                     {"transport", "irn"},
                                     {"seeds", "9"},
                                     {"irn.bdp_cap", "paper"},
                                     {"switch.lossy_buffer", "1MB"}});
  ASSERT_EQ(s.settings.size(), 1u);
  EXPECT_EQ(s.seeds, std::vector<std::uint64_t>{9});
  EXPECT_EQ(s.settings[0].topology.links()[0].rate, 100_Gbps);
  EXPECT_EQ(s.settings[0].workloads[0].size.min, 1_MB);
  EXPECT_EQ(s.settings[0].nic.config.irn.bdp_cap, 110u);
  EXPECT_EQ(complaint(kStar, {{"topology.rate", "40"}}),
            "--set topology.rate=40: topology.rate has no unit: write for example rate = \"40Gb/s\"");
  EXPECT_NE(complaint(kStar, {{"topology.rat", "40Gb/s"}}).find("did you mean \"rate\"?"), std::string::npos);
  EXPECT_NE(complaint(kStar, {{"workload.outcast.size", "1MB"}}).find("names no entry \"outcast\""),
            std::string::npos);
}

TEST(ScenarioTest, OwnLabelsChangeAnyKey) {
  const std::string label =
      "[[label]]\nname = \"irn-free\"\nmode = \"irn\"\npfc = false\nset.irn.bdp_cap = 0\n";
  const Scenario s = parse_scenario(replaced("\"roce\"", "\"irn-free\"") + label, "t.toml");
  ASSERT_EQ(s.settings.size(), 2u);
  EXPECT_EQ(make_plan(s, s.settings[0], 1).bdp_cap, 0u);
  EXPECT_GT(make_plan(s, s.settings[1], 1).bdp_cap, 0u);
  EXPECT_COMPLAINT(kStar + "[[label]]\nname = \"irn\"\nmode = \"irn\"\npfc = false\n", "exists already");
}

TEST(ScenarioTest, AxesMultiplyLabels) {
  const Scenario s =
      parse_scenario(kStar + "[axes]\n\"switch.lossy_buffer\" = [\"120KB\", \"240KB\"]\n", "t.toml");
  ASSERT_EQ(s.settings.size(), 4u);
  EXPECT_EQ(s.settings[0].label, "roce,lossy_buffer=120KB");
  EXPECT_EQ(s.settings[0].switches.egress_limit, 120_KB);
  EXPECT_EQ(s.settings[3].label, "irn+pfc,lossy_buffer=240KB");
}

TEST(ScenarioTest, AxesDoNotRepeatAValue) {
  const auto axis = [](const std::string& values) {
    return kStar + "[axes]\n\"switch.pfc.slack\" = [\n" + values + "]\n";
  };
  EXPECT_COMPLAINT(axis("0.3,\n0.30\n"),
                   "t.toml:15:1: axes.switch.pfc.slack has two values that are called \"slack=0.3\"");
  EXPECT_COMPLAINT(kStar + "[axes]\n\"switch.lossy_buffer\" = [\"120KB\", \"240KB\", \"120KB\"]\n",
                   "t.toml:13:44: axes.switch.lossy_buffer has two values");
  EXPECT_EQ(
      complaint(kStar, {{"axes.workload.incast.size", "[\"1MB\", \"1MB\"]"}}).rfind("--set axes.workload", 0),
      0u);
}

TEST(ScenarioTest, ValuesThatDifferInTheLastDigitHaveDifferentLabelsAndParameters) {
  const std::string poisson =
      "transport = \"irn\"\n[topology]\nkind = \"star\"\nhosts = 4\n"
      "[[workload]]\nkind = \"poisson\"\nflows = 10\nsize = \"1KB\"\nload = 0.5\n"
      "[axes]\n\"workload.poisson.load\" = [0.7, 0.7000001, 0.7000000000000001, 1e-5, 1]\n";
  const Scenario s = parse_scenario(poisson, "t.toml");
  std::vector<std::string> labels, loads;
  for (const Settings& settings : s.settings) {
    labels.push_back(settings.label);
    for (const Parameter& p : settings.parameters)
      if (p.key == "workload.poisson.load") loads.push_back(p.value);
  }
  EXPECT_EQ(labels,
            (std::vector<std::string>{"irn,load=0.7", "irn,load=0.7000001", "irn,load=0.7000000000000001",
                                      "irn,load=1e-05", "irn,load=1"}));
  EXPECT_EQ(loads, (std::vector<std::string>{"0.7", "0.7000001", "0.7000000000000001", "1e-05", "1"}));
}

TEST(ScenarioTest, FilesThatCannotBeReadNameTheLineThatNamesThem) {
  const std::string head = "transport = \"irn\"\n[topology]\nkind = \"file\"\n";
  EXPECT_COMPLAINT(head + "file = \"nowhere.txt\"\n",
                   "t.toml:4:8: topology.file names nowhere.txt: cannot be read; is the path right?");
  EXPECT_COMPLAINT(head + "file = \"/\"\n", "t.toml:4:8: topology.file names /: is a folder, not a file");
  const std::string star = "transport = \"irn\"\n[topology]\nkind = \"star\"\nhosts = 4\n[[workload]]\n";
  EXPECT_COMPLAINT(star + "kind = \"file\"\ndialect = \"hpcc\"\nfile = \"nowhere.txt\"\n",
                   "t.toml:8:8: workload.file.file names nowhere.txt: cannot be read");
  EXPECT_COMPLAINT(star + "kind = \"permutation\"\ncdf = \"nowhere.cdf\"\n",
                   "t.toml:7:7: workload.permutation.cdf names nowhere.cdf: cannot be read");
  try {
    read_scenario("/");
    ADD_FAILURE() << "a folder was read";
  } catch (const ScenarioError& error) {
    EXPECT_STREQ(error.what(), "/: is a folder, not a file");
  }
}

TEST(ScenarioTest, FlowsAreBounded) {
  const auto star = [](const std::string& workload) {
    return "transport = \"irn\"\n[topology]\nkind = \"star\"\nhosts = 4\n[[workload]]\n" + workload;
  };
  const std::string incast = "kind = \"incast\"\nreceiver = \"h1\"\n";
  EXPECT_COMPLAINT(star(incast + "size = \"9000000TB\"\n"), "unknown unit");
  EXPECT_COMPLAINT(star(incast + "size = \"9000000000GB\"\n"),
                   "t.toml:8:8: workload.incast.size = \"9000000000GB\" is more than 1000GB");
  EXPECT_COMPLAINT(star(incast + "total = \"1001GB\"\n"),
                   "t.toml:8:9: workload.incast.total = \"1001GB\" is more than 1000GB");
  EXPECT_COMPLAINT(star(incast + "size = \"1000GB\"\n"), "none");
  EXPECT_COMPLAINT(
      star(incast + "size = \"10GB\"\nmessage_size = \"1B\"\n"),
      "t.toml:9:16: workload.incast.message_size makes more than 10000000 messages of a flow of 10GB");
}

TEST(ScenarioTest, WhatOnlyAPlanCanRefuseNamesTheKeyToo) {
  std::string hosts, links;
  for (int h = 1; h <= 255; ++h) {
    const std::string name = "\"h" + std::to_string(h) + "\"";
    hosts += (h > 1 ? ", " : "") + name;
    links += "[[topology.link]]\nbetween = [" + name + ", \"s1\"]\n";
  }
  EXPECT_COMPLAINT("transport = \"irn\"\n[topology]\nkind = \"custom\"\nhosts = [" + hosts +
                       "]\nswitches = [\"s1\"]\n" + links,
                   "t.toml:2:2: switch \"s1\" has more than 254 hosts");
  EXPECT_COMPLAINT(kStar + "[switch]\nlossless_buffer = \"3KB\"\n",
                   "t.toml:13:19: switch.lossless_buffer = \"3KB\" is too small");
  EXPECT_COMPLAINT(replaced("delay = \"2us\"", "delay = \"200us\""),
                   "t.toml:3:2: switch.lossless_buffer = \"240KB\" is too small");
  const std::string ring =
      "transport = \"irn\"\n[topology]\nkind = \"ring\"\nswitches = 4\n[[workload]]\nkind = "
      "\"permutation\"\nsize = \"1KB\"\n";
  const std::string got = complaint(ring, {{"congestion_control.name", "hpcc"}, {"topology.switches", "20"}});
  EXPECT_EQ(got.rfind("t.toml:2:2: HPCC's telemetry has room", 0), 0u) << got;
}

TEST(ScenarioTest, HostsWithSeveralNicsHaveWhatTheTopologyCanGive) {
  const auto of = [](const std::string& topology, const std::string& more = "") {
    return "transport = \"irn\"\n[topology]\n" + topology + more;
  };
  const std::string two = "nics_per_host = 2\n", star = "kind = \"star\"\nhosts = 3\n" + two,
                    planes = "kind = \"multi-plane\"\nplane = \"star\"\nhosts = 3\n" + two,
                    workload = "[[workload]]\nkind = \"incast\"\nsize = \"1KB\"\n",
                    list = "[[workload]]\nkind = \"list\"\n[[workload.flow]]\nsize = \"1KB\"\n";
  EXPECT_COMPLAINT(of("kind = \"star\"\nhosts = 3\nnics_per_host = 9\n"),
                   "t.toml:5:17: topology.nics_per_host = 9 is outside 1..8");
  EXPECT_COMPLAINT(of("kind = \"file\"\nfile = \"t.txt\"\n" + two),
                   "t.toml:5:17: topology.nics_per_host goes with other kinds of topology");
  EXPECT_COMPLAINT(of("kind = \"star\"\nhosts = 200\n" + two), "switch \"s1\" has more than 254 NICs");
  EXPECT_COMPLAINT(
      of("kind = \"leaf-spine\"\nleaves = 80\nspines = 1\nhosts_per_leaf = 30\nnics_per_host = 8\n"),
      "this topology has 2400 hosts with 8 NICs each, which are 19200 NICs; at most 16384");
  EXPECT_COMPLAINT(of("kind = \"rail-optimised\"\nhosts_per_group = 2\nspines = 1\n"),
                   "t.toml:2:2: [topology] needs the key \"nics_per_host\"");
  EXPECT_COMPLAINT(of("kind = \"rail-optimised\"\ngroups = 2\nhosts_per_group = 2\nspines = 0\n" + two),
                   "topology.spines = 0 leaves no way between the 2 groups");
  EXPECT_COMPLAINT(
      of(star, workload + "receiver = \"h3\"\n"),
      "workload.incast.receiver names the host \"h3\", which has 2 NICs: name one of them, \"h3.0\" "
      "to \"h3.1\"");
  EXPECT_COMPLAINT(of(star, workload + "receiver = \"h3.2\"\n"),
                   "names no host: \"h3.2\"; did you mean \"h3.0\"?");
  EXPECT_COMPLAINT(of(planes, workload + "receiver = \"h3.1\"\nnic = \"any\"\n"),
                   "are in different planes: use \"same-rail\"");
  EXPECT_COMPLAINT(of("kind = \"star\"\nhosts = 3\n", workload + "receiver = \"h3\"\nnic = \"any\"\n"),
                   "nic needs hosts with several NICs: topology.nics_per_host");
  EXPECT_COMPLAINT(of(planes, list + "src = \"h1.0\"\ndst = \"h2.1\"\n"),
                   "dst is in another plane than the source \"h1.0\"");
  EXPECT_COMPLAINT(of(star, "[[workload]]\nkind = \"all-to-all\"\nsize = \"1KB\"\nsenders = [\"h1\"]\n"),
                   "leave no pair of NICs of different hosts");
  EXPECT_COMPLAINT(of(planes, workload + "receiver = \"h3.1\"\n"), "none");
}

TEST(ScenarioTest, ParametersListDefaultsToo) {
  const Settings s = parse_scenario(kStar, "t.toml").settings[1];
  const auto has = [&](const Parameter& p) {
    return std::find(s.parameters.begin(), s.parameters.end(), p) != s.parameters.end();
  };
  EXPECT_TRUE(has({"topology.rate", "\"40Gbps\""}));
  EXPECT_TRUE(has({"timers.rto_low", "\"100us\""}));
  EXPECT_TRUE(has({"pfc", "true"}));
  EXPECT_TRUE(has({"timers.timeouts", "\"off\""}));  // what "auto" came to
  EXPECT_TRUE(has({"workload.incast.size", "\"8MB\""}));
}

TEST(ScenarioTest, FaultsStandOnOneDirection) {
  const std::string fault = "[[fault]]\nfrom = \"h1\"\nto = \"s1\"\ndrop_list = [7, 3]\ndrop_rate = 0.5\n";
  const Link link = parse_scenario(kStar + fault, "t.toml").settings[0].topology.links()[0];
  EXPECT_EQ(link.a_to_b.listed, 2u);
  EXPECT_EQ(link.a_to_b.drop_list[0], 3u);
  EXPECT_EQ(link.a_to_b.drop_rate, 0.5);
  EXPECT_EQ(link.b_to_a, FaultConfig{});
  EXPECT_COMPLAINT(kStar + fault + fault, "has a fault already");
  EXPECT_COMPLAINT(kStar + "[[fault]]\nfrom = \"h1\"\nto = \"h2\"\n",
                   "t.toml:14:6: fault.0.to names nodes that share no link: \"h1\" and \"h2\"");
}

TEST(ScenarioTest, OfLinksSideBySideOneIsNamed) {
  const std::string link = "[[topology.link]]\nbetween = ";
  const std::string pair =
      "transport = \"irn\"\n[topology]\nkind = \"custom\"\nhosts = [\"a\", \"b\"]\nswitches = [\"s\", "
      "\"t\"]\n" +
      link + "[\"a\", \"s\"]\n" + link + "[\"b\", \"t\"]\n" + link + "[\"s\", \"t\"]\nrate = \"10Gb/s\"\n" +
      link + "[\"t\", \"s\"]\nrate = \"20Gb/s\"\n";
  const std::string fault = "[[fault]]\nfrom = \"t\"\nto = \"s\"\ndrop_rate = 0.5\n";
  const std::string event = "[[link_event]]\nat = \"5us\"\nbetween = [\"s\", \"t\"]\nstate = \"down\"\n";
  const Settings s = parse_scenario(pair + fault + "link = 2\n" + event + "link = 1\n", "t.toml").settings[0];
  EXPECT_EQ(s.topology.links()[2].rate, 10_Gbps);
  EXPECT_EQ(s.topology.links()[3].rate, 20_Gbps);
  EXPECT_EQ(s.topology.links()[2].b_to_a, FaultConfig{});
  EXPECT_EQ(s.topology.links()[3].a_to_b.drop_rate, 0.5);  // which names t first
  EXPECT_EQ(s.link_events.at(0).link, 2u);
  EXPECT_COMPLAINT(
      pair + fault,
      "fault.0.to names nodes that share 2 links: say which, link = 1 to 2 in the order of their "
      "ports");
  EXPECT_COMPLAINT(pair + event, "link_event.0.between names nodes that share 2 links: say which");
  EXPECT_COMPLAINT(pair + fault + "link = 3\n", "fault.0.link = 3 is outside 1..2");
  EXPECT_COMPLAINT(kStar + "[[fault]]\nfrom = \"h1\"\nto = \"s1\"\nlink = 2\n",
                   "fault.0.link = 2 is outside 1..1");
  EXPECT_COMPLAINT(pair + link + "[\"a\", \"t\"]\n", "has a link already: a NIC has one");
}

TEST(ScenarioTest, AFlowThatBeginsWhenTheRunIsOverIsRefused) {
  const auto star = [](const std::string& flow, const std::string& limit) {
    return "transport = \"irn\"\n[topology]\nkind = \"star\"\nhosts = 2\n[engine]\nlimit = \"" + limit +
           "\"\n[[workload]]\nkind = \"list\"\njitter = \"0us\"\n[[workload.flow]]\nsrc = \"h1\"\ndst = "
           "\"h2\"\n"
           "size = \"1KB\"\n" +
           flow;
  };
  EXPECT_COMPLAINT(star("start = \"999us\"\n", "1ms"), "none");
  EXPECT_COMPLAINT(
      star("start = \"1ms\"\n", "1ms"),
      "t.toml:6:9: flow 1 (\"list\", from \"h1\" to \"h2\") begins at 1ms, and engine.limit ends the "
      "run at 1ms: raise it, or let no flow begin so late");
  EXPECT_COMPLAINT(kStar + "start = \"1s\"\n", ", and engine.limit ends the run at 1s: raise it");
}

TEST(ScenarioTest, SomeHostsMayRunInTheOtherMode) {
  const Scenario s = parse_scenario(kStar + "[nic]\nirn_hosts = [\"h2\"]\n", "t.toml");
  const RunPlan plan = make_plan(s, s.settings[0], 1);
  EXPECT_EQ(plan.world.hosts[0].nic.mode, TransportMode::kRoce);
  EXPECT_EQ(plan.world.hosts[1].nic.mode, TransportMode::kIrn);
  EXPECT_COMPLAINT(kStar + "[nic]\nirn_hosts = [\"s1\"]\n", "names \"s1\", which is no host");
  EXPECT_COMPLAINT(kStar + "[nic]\nmax_qps = 5000\n", "needs vfs = 1");
  EXPECT_EQ(
      parse_scenario(kStar + "[nic]\nmax_qps = 5000\nvfs = 1\n", "t.toml").settings[0].nic.config.max_qps,
      5000u);
  EXPECT_EQ(parse_scenario(kStar + "[nic]\nqp_burst = 64\n", "t.toml").settings[0].nic.config.qp_burst, 64u);
  EXPECT_COMPLAINT(kStar + "[nic]\nqp_burst = 0\n", "qp_burst");
  EXPECT_COMPLAINT(kStar + "[nic]\nirn_hosts = [\"h2\"]\nroce_hosts = [\"h2\"]\n", "names \"h2\" again");
}

TEST(ScenarioTest, ComparisonsOfLabelsLeftOutAreAccepted) {
  const std::string compare = "[[compare]]\nof = \"irn\"\nover = \"roce+pfc\"\nmetric = \"rct_s\"\n";
  const Scenario s = parse_scenario(kStar + compare, "t.toml");
  ASSERT_EQ(s.comparisons.size(), 1u);
  EXPECT_TRUE(std::isnan(s.comparisons[0].paper));
  EXPECT_COMPLAINT(kStar + "[[compare]]\nof = \"irm\"\nover = \"roce\"\n", "unknown label \"irm\"");
}

TEST(ScenarioTest, EveryScenarioOfTheProjectMakesPlans) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(ROCELAB_SOURCE_DIR) + "/scenarios")) {
    if (entry.path().extension() != ".toml") continue;
    ++files;
    const Scenario s = read_scenario(entry.path());
    EXPECT_EQ(s.name, entry.path().stem());
    EXPECT_EQ(make_plans(s).size(), s.settings.size() * s.seeds.size()) << entry.path();
  }
  EXPECT_GE(files, 7);
}

TEST(ScenarioTest, LossOnAllLinksSparesThoseThatHaveTheirOwn) {
  const std::string text =
      "transport = [\"roce+pfc\"]\n[topology]\nkind = \"star\"\nhosts = 3\ndrop_rate = 0.01\ncorrupt_rate = "
      "0.002\n"
      "[[fault]]\nfrom = \"h1\"\nto = \"s1\"\ndrop_list = [5]\n";
  const Settings s = parse_scenario(text, "t.toml").settings[0];
  const std::vector<Link>& links = s.topology.links();
  EXPECT_EQ(links[0].a_to_b.drop_rate, 0);
  EXPECT_EQ(links[0].a_to_b.listed, 1u);
  for (const FaultConfig& side : {links[0].b_to_a, links[1].a_to_b, links[2].b_to_a}) {
    EXPECT_EQ(side.drop_rate, 0.01);
    EXPECT_EQ(side.corrupt_rate, 0.002);
  }
  EXPECT_TRUE(s.timers.recovery) << "frames are lost in spite of PFC";
  const auto wrong = [](const std::string& key) {
    return complaint_of([&] {
      parse_scenario("transport = \"irn\"\n[topology]\nkind = \"star\"\nhosts = 3\n" + key, "t.toml");
    });
  };
  EXPECT_EQ(wrong("drop_rate = 1.5\n"), "t.toml:5:13: topology.drop_rate = 1.5 is outside 0..1");
  EXPECT_NE(wrong("paths = \"one\"\n").find("topology.paths"), std::string::npos);
}

}  // namespace
}  // namespace rocelab
