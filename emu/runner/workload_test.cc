#include "emu/runner/workload.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "emu/runner/complaint_fixture.h"
#include "emu/runner/formula.h"
#include "emu/runner/workload_parts.h"

namespace rocelab {
namespace {

Settings settings_of(const std::string& workload,
                     const std::string& topology = "kind = \"star\"\nhosts = 9\n") {
  return parse_scenario("transport = \"irn\"\n[topology]\n" + topology + workload, "t.toml").settings.at(0);
}

TEST(WorkloadTest, ExponentialHasMeanAndSpreadOne) {
  Rng rng(7);
  double sum = 0, squares = 0;
  constexpr int kDraws = 200'000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = draw_exponential(rng);
    ASSERT_GE(x, 0);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kDraws, 1, 0.01);
  EXPECT_NEAR(squares / kDraws, 2, 0.05);
}

TEST(WorkloadTest, IncastJitterFollowsTheSeedAlone) {
  const Settings s = settings_of("[[workload]]\nkind = \"incast\"\nreceiver = \"h9\"\nsize = \"1MB\"\n");
  const std::vector<Flow> a = draw_flows(s, Rng(1)), b = draw_flows(s, Rng(1)), c = draw_flows(s, Rng(2));
  ASSERT_EQ(a.size(), 8u);
  std::set<std::int64_t> starts;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].start, b[i].start);
    EXPECT_EQ(a[i].id, i + 1);
    EXPECT_EQ(a[i].dst, 8u);
    EXPECT_LT(a[i].start, Time::zero() + 1_us);
    EXPECT_TRUE(i == 0 || a[i - 1].start <= a[i].start);
    starts.insert(a[i].start.ps());
  }
  EXPECT_EQ(starts.size(), 8u);
  EXPECT_NE(a[0].start, c[0].start);
}

TEST(WorkloadTest, PermutationSendsFromAndToEveryoneOnce) {
  const Settings s = settings_of("[[workload]]\nkind = \"permutation\"\nsize = \"1MB\"\n");
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::set<std::uint32_t> from, to;
    for (const Flow& f : draw_flows(s, Rng(seed))) {
      EXPECT_NE(f.src, f.dst);
      from.insert(f.src);
      to.insert(f.dst);
    }
    EXPECT_EQ(from.size(), 9u);
    EXPECT_EQ(to.size(), 9u);
  }
}

const std::string kTwoNics = "kind = \"star\"\nhosts = 6\nnics_per_host = 2\n";

TEST(WorkloadTest, NicsSendToTheirOwnNumberOnOtherHostsUnlessAnyMayBe) {
  for (const std::string kind :
       {"kind = \"permutation\"\n", "kind = \"all-to-all\"\n", "kind = \"incast\"\nreceiver = \"h6.1\"\n",
        "kind = \"incast\"\nreceiver = \"random-each\"\nrepeats = 9\nperiod = \"1ms\"\n",
        "kind = \"poisson\"\nload = 0.1\nduration = \"1ms\"\n"})
    for (const std::string nic : {"same-rail", "any"}) {
      const std::string text = "[[workload]]\n" + kind + "size = \"10KB\"\nnic = \"" + nic + "\"\n";
      const Settings s = settings_of(text, kTwoNics);
      std::set<std::uint32_t> senders, receivers;
      bool crossed = false;
      const std::vector<Flow> flows = draw_flows(s, Rng(3));
      for (const Flow& f : flows) {
        EXPECT_NE(s.topology.machine_of(f.src), s.topology.machine_of(f.dst)) << text;
        crossed |= s.topology.nic_number_of(f.src) != s.topology.nic_number_of(f.dst);
        senders.insert(f.src);
        receivers.insert(f.dst);
      }
      EXPECT_EQ(crossed, nic == "any") << text;
      if (kind.find("permutation") != kind.npos) {
        EXPECT_EQ(senders.size(), 12u) << text;
        EXPECT_EQ(receivers.size(), 12u) << text;
      }
      if (kind.find("h6.1") != kind.npos) {
        EXPECT_EQ(flows.size(), nic == "any" ? 10u : 5u) << text;
      }
    }
}

TEST(WorkloadTest, ListedHostsTakeTheirNicsInTurnAndFollowTheNicThatIsNamed) {
  const auto flow = [](const char* src, const char* dst) {
    return std::string("  [[workload.flow]]\n  src = \"") + src + "\"\n  dst = \"" + dst +
           "\"\n  size = \"1KB\"\n";
  };
  const Settings s =
      settings_of("[[workload]]\nkind = \"list\"\njitter = \"0us\"\n" + flow("h1", "h2") + flow("h1", "h3") +
                      flow("h1", "h2") + flow("h4", "h2.1") + flow("h5.1", "h6") + flow("h5.0", "h6.1"),
                  kTwoNics);
  std::vector<std::string> ends;
  for (const Flow& f : draw_flows(s, Rng(1)))
    ends.push_back(s.topology.nodes()[f.src].name + " " + s.topology.nodes()[f.dst].name);
  EXPECT_EQ(ends, (std::vector<std::string>{"h1.0 h2.0", "h1.1 h3.1", "h1.0 h2.0", "h4.1 h2.1", "h5.1 h6.1",
                                            "h5.0 h6.1"}));
}

TEST(WorkloadTest, AHostInAListOfSendersMeansAllItsNics) {
  const Settings s = settings_of(
      "[[workload]]\nkind = \"all-to-all\"\nsize = \"1KB\"\nsenders = [\"h1\", \"h2.1\"]\n"
      "receivers = [\"h3\"]\n",
      kTwoNics);
  EXPECT_EQ(s.workloads[0].senders, (std::vector<std::uint32_t>{0, 1, 3}));
  EXPECT_EQ(draw_flows(s, Rng(1)).size(), 3u) << "each to the NIC of its number";
}

TEST(WorkloadTest, PoissonLoadsEachLinkAsAsked) {
  const Settings s = settings_of(
      "[[workload]]\nkind = \"poisson\"\nload = 0.7\noverload = true\nduration = \"50ms\"\nsize_min = "
      "\"1KB\"\nsize_max = "
      "\"200KB\"\n",
      "kind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 6\n");
  std::vector<double> bytes(18);
  std::set<std::uint32_t> destinations;
  for (const Flow& f : draw_flows(s, Rng(3))) {
    FlowShape shape;
    shape.size = f.size;
    bytes[f.src] += static_cast<double>(wire_bytes_of(shape).count());
    EXPECT_NE(f.src, f.dst);
    EXPECT_LT(f.start, Time::zero() + 50_ms);
    EXPECT_GE(f.size, 1_KB);
    EXPECT_LE(f.size, 200_KB);
    destinations.insert(f.dst);
  }
  double total = 0;
  for (const double b : bytes) total += b / 18;
  EXPECT_NEAR(total * 8 / 50e-3 / 40e9, 0.7, 0.02);
  EXPECT_EQ(destinations.size(), 18u);
}

// The load is (data + acknowledgements) / link: 10 packets of 1,024 bytes and their headers, and for IRN ten
// ACKs of 62 bytes, for RoCE one for every 4 packets and for the last, each with 24 bytes of the wire.
TEST(WorkloadTest, PoissonCountsAcknowledgementsWhereItIsAskedTo) {
  const std::string text =
      "[nic]\nack_interval = 4\n[topology]\nkind = \"star\"\nhosts = 9\n[[workload]]\nkind = "
      "\"poisson\"\nsize = \"10240B\"\nload = 0.5\nflows = 20000\n";
  const auto flows_per_second = [&](const char* transport, const std::string& more) {
    const std::string whole = std::string("transport = \"") + transport + "\"\n" + text + more;
    const std::vector<Flow> flows = draw_flows(parse_scenario(whole, "t.toml").settings.at(0), Rng(3));
    return static_cast<double>(flows.size()) / (flows.back().start - Time::zero()).seconds();
  };
  FlowShape shape;
  shape.size = 10240_B;
  const auto data = static_cast<double>(wire_bytes_of(shape).count());
  const double irn = flows_per_second("irn", ""), roce = flows_per_second("roce+pfc", "");
  EXPECT_EQ(irn, roce) << "labels have the same flows";
  EXPECT_NEAR(irn * data * 8 / 9 / 40e9, 0.5, 0.01);
  const std::string counts = "counts = \"acks\"\n";
  EXPECT_NEAR(flows_per_second("irn", counts) / irn, data / (data + 10 * (62 + 24)), 1e-6);
  EXPECT_NEAR(flows_per_second("roce+pfc", counts) / irn, data / (data + 3 * (62 + 24)), 1e-6);
  const std::string read = "op = \"read\"\n";
  EXPECT_EQ(flows_per_second("roce+pfc", read + counts), flows_per_second("roce+pfc", read))
      << "READ responses of RoCE are not acknowledged";
  EXPECT_LT(flows_per_second("irn", read + counts), flows_per_second("irn", read));
}

TEST(WorkloadTest, PoissonLoadHoldsForSmallFlowsToo) {
  // 64 B flows: headers are more than half of what a link carries.
  const Settings s = settings_of(
      "[[workload]]\nkind = \"poisson\"\nload = 0.5\nflows = 20000\nsize_min = \"64B\"\nsize_max = "
      "\"2KB\"\n");
  double bytes = 0;
  const std::vector<Flow> flows = draw_flows(s, Rng(3));
  for (const Flow& f : flows) {
    FlowShape shape;
    shape.size = f.size;
    bytes += static_cast<double>(wire_bytes_of(shape).count());
  }
  EXPECT_NEAR(bytes * 8 / (flows.back().start - Time::zero()).seconds() / 9 / 40e9, 0.5, 0.01);
}

TEST(WorkloadTest, PoissonByTheTimeBetweenFlowsIsOneProcessOfTheNetwork) {
  const std::string of = "[[workload]]\nkind = \"poisson\"\nsize = \"10KB\"\nflows = 20000\n";
  const std::vector<Flow> flows = draw_flows(settings_of(of + "every = \"5us\"\n"), Rng(3));
  EXPECT_NEAR((flows.back().start - Time::zero()).seconds() / 20000, 5e-6, 1e-7);
  const Settings s = settings_of(of + "every = \"5us\"\n");
  const WorkloadSettings& w = s.workloads[0];
  const double load = 8 * mean_wire_bytes(w, s.nic.config.active_mtu) /
                      (5e-6 * bps_of(s.topology, senders_of(w, s.topology)));
  const Settings same = settings_of(of + "arrivals = \"network\"\nload = " + std::to_string(load) + "\n");
  EXPECT_EQ(draw_flows(same, Rng(3))[0].dst, flows[0].dst) << "the same draws";
  EXPECT_THROW(settings_of(of + "every = \"5us\"\nload = 0.1\n"), ScenarioError);
  EXPECT_THROW(settings_of(of + "every = \"5us\"\narrivals = \"senders\"\n"), ScenarioError);
  EXPECT_THROW(settings_of(of + "every = \"0us\"\n"), ScenarioError);
  EXPECT_THROW(settings_of(of), ScenarioError);
}

TEST(WorkloadTest, ALimitOfFlowsCutsTheEndOnly) {
  const std::string poisson = "[[workload]]\nkind = \"poisson\"\nload = 0.5\nsize = \"10KB\"\n";
  const std::vector<Flow> some = draw_flows(settings_of(poisson + "flows = 100\n"), Rng(5)),
                          more = draw_flows(settings_of(poisson + "flows = 1000\n"), Rng(5)),
                          timed = draw_flows(settings_of(poisson + "duration = \"100us\"\n"), Rng(5));
  ASSERT_EQ(some.size(), 100u);
  ASSERT_EQ(more.size(), 1000u);
  ASSERT_GT(timed.size(), 100u);
  for (std::size_t i = 0; i < some.size(); ++i) {
    EXPECT_TRUE(some[i].start == more[i].start && some[i].src == more[i].src && some[i].dst == more[i].dst);
    EXPECT_EQ(some[i].start, timed[i].start);
  }
  EXPECT_LT(timed.back().start, Time::zero() + 100_us);
}

TEST(WorkloadTest, PeriodicIncastStripesOverRandomSenders) {
  const Settings s = settings_of(
      "[[workload]]\nkind = \"incast\"\nreceiver = \"h9\"\nfan_in = 3\ntotal = \"100B\"\nrepeats = 50\n"
      "period = \"10us\"\n");
  const std::vector<Flow> flows = draw_flows(s, Rng(1));
  ASSERT_EQ(flows.size(), 150u);
  std::set<std::set<std::uint32_t>> groups;
  for (std::uint32_t request = 0; request < 50; ++request) {
    std::set<std::uint32_t> senders;
    Bytes total;
    for (std::size_t i = 3 * request; i < 3 * request + 3; ++i) {
      EXPECT_EQ(flows[i].request, request);
      EXPECT_EQ(flows[i].dst, 8u);
      EXPECT_GE(flows[i].start, Time::zero() + static_cast<std::int64_t>(request) * 10_us);
      EXPECT_LT(flows[i].start, Time::zero() + static_cast<std::int64_t>(request) * 10_us + 1_us);
      senders.insert(flows[i].src);
      total += flows[i].size;
    }
    EXPECT_EQ(senders.size(), 3u);
    EXPECT_EQ(senders.count(8), 0u);
    EXPECT_EQ(total, 100_B);
    groups.insert(senders);
  }
  EXPECT_GT(groups.size(), 20u);  // of 56 that there are
}

TEST(WorkloadTest, ARandomReceiverFollowsTheSeedAndGetsFromAllOthers) {
  const Settings s = settings_of("[[workload]]\nkind = \"incast\"\nreceiver = \"random\"\nsize = \"1KB\"\n");
  std::set<std::uint32_t> receivers;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Flow> flows = draw_flows(s, Rng(seed));
    ASSERT_EQ(flows.size(), 8u);
    for (const Flow& f : flows) EXPECT_TRUE(f.src != f.dst && f.dst == flows[0].dst);
    receivers.insert(flows[0].dst);
  }
  EXPECT_GT(receivers.size(), 4u);
}

TEST(WorkloadTest, ReceiversCanBeOthersThanTheSenders) {
  const std::string both = "\nsenders = [\"h1\", \"h2\"]\nreceivers = [\"h3\", \"h4\"]\nsize = \"10KB\"\n";
  const auto flows_with = [&](const std::string& workload) {
    const Scenario s = parse_scenario(
        "transport = [\"irn\"]\n[topology]\nkind = \"star\"\nhosts = 5\n[[workload]]\n" + workload + both,
        "t.toml");
    return make_plan(s, s.settings.at(0), 1).flows;
  };
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const Flow& f : flows_with("kind = \"all-to-all\"")) pairs.emplace(f.src, f.dst);
  EXPECT_EQ(pairs, (std::set<std::pair<std::uint32_t, std::uint32_t>>{{0, 2}, {0, 3}, {1, 2}, {1, 3}}));
  int to[5] = {};
  for (const Flow& f : flows_with("kind = \"poisson\"\nload = 0.5\nflows = 400")) {
    EXPECT_LT(f.src, 2u);
    ++to[f.dst];
  }
  EXPECT_EQ(to[2] + to[3], 400);
  EXPECT_NEAR(to[2], 200, 50);
}

TEST(WorkloadTest, OneHostSendsToMany) {
  const auto pairs = [](const std::string& hosts) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> found;
    const std::string all = "[[workload]]\nkind = \"all-to-all\"\nsize = \"1MB\"\n";
    for (const Flow& f : draw_flows(settings_of(all + hosts, "kind = \"star\"\nhosts = 4\n"), Rng(1))) {
      EXPECT_EQ(f.size, 1_MB);
      found.emplace(f.src, f.dst);
    }
    return found;
  };
  using Pairs = std::set<std::pair<std::uint32_t, std::uint32_t>>;
  EXPECT_EQ(pairs("senders = [\"h1\"]\nreceivers = [\"h2\", \"h3\", \"h4\"]\n"),
            (Pairs{{0, 1}, {0, 2}, {0, 3}}));
  EXPECT_EQ(pairs("senders = [\"h1\"]\nreceivers = [\"h1\", \"h3\"]\n"), (Pairs{{0, 2}}));
  EXPECT_EQ(pairs("receivers = [\"h2\"]\n"), (Pairs{{0, 1}, {2, 1}, {3, 1}}));
  EXPECT_THROW(pairs("senders = [\"h1\"]\nreceivers = [\"h1\"]\n"), ScenarioError);
  EXPECT_THROW(pairs("senders = [\"h1\"]\n"), ScenarioError);
}

TEST(WorkloadTest, PoissonCanGoFromOneHostToAnother) {
  const auto flows_to = [](const std::string& receiver) {
    const Scenario s = parse_scenario(
        "transport = [\"irn\"]\n[topology]\nkind = \"star\"\nhosts = 3\n[[workload]]\nkind = \"poisson\"\n"
        "load = 0.5\nflows = 50\nsize = \"10KB\"\nsenders = [\"h1\"]\nreceivers = [\"" +
            receiver + "\"]\n",
        "t.toml");
    return make_plan(s, s.settings.at(0), 1).flows;
  };
  const std::vector<Flow> flows = flows_to("h3");
  EXPECT_EQ(flows.size(), 50u);
  for (const Flow& f : flows) EXPECT_TRUE(f.src == 0 && f.dst == 2);
  EXPECT_THROW(flows_to("h1"), ScenarioError);
}

TEST(WorkloadTest, MoreFlowsThanAMachineHoldsAreRefused) {
  const std::string poisson = "[[workload]]\nkind = \"poisson\"\nload = 0.5\nsize = \"1KB\"\nduration = ";
  EXPECT_NO_THROW(settings_of(poisson + "\"10ms\"\n"));
  EXPECT_THROW(settings_of(poisson + "\"10s\"\n"), ScenarioError);
  EXPECT_NO_THROW(settings_of(poisson + "\"10s\"\nflows = 100\n"));
  const std::string incast = "[[workload]]\nkind = \"incast\"\nreceiver = \"h9\"\nsize = \"1B\"\nperiod = ";
  EXPECT_NO_THROW(settings_of(incast + "\"1ms\"\nrepeats = 1000\n"));
  EXPECT_THROW(
      settings_of(incast + "\"10us\"\nrepeats = 1000000\noverload = true\n", "kind = \"star\"\nhosts = 16\n"),
      ScenarioError)
      << "15 senders";
  EXPECT_THROW(settings_of(incast + "\"1000000s\"\nrepeats = 2\n"), ScenarioError);
}

TEST(WorkloadTest, AllToAllIsEveryOrderedPair) {
  const Settings s = settings_of("[[workload]]\nkind = \"all-to-all\"\nop = \"read\"\nsize = \"1KB\"\n");
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const Flow& f : draw_flows(s, Rng(1))) {
    EXPECT_EQ(f.op, FlowOp::kRead);
    EXPECT_NE(f.src, f.dst);
    pairs.insert({f.src, f.dst});
  }
  EXPECT_EQ(pairs.size(), 72u);
}

TEST(WorkloadTest, LabelsOfAScenarioGetTheSameFlows) {
  const Scenario s = parse_scenario(
      "transport = [\"roce\", \"irn+pfc\"]\n[topology]\nkind = \"star\"\nhosts = 9\n[[workload]]\nkind = "
      "\"poisson\"\nload = 0.5\n"
      "duration = \"1ms\"\nsize_min = \"1KB\"\nsize_max = \"9KB\"\n",
      "t.toml");
  const std::vector<Flow> a = draw_flows(s.settings[0], Rng(4)), b = draw_flows(s.settings[1], Rng(4));
  ASSERT_EQ(a.size(), b.size());
  ASSERT_GT(a.size(), 1000u);
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(a[i].start == b[i].start && a[i].size == b[i].size && a[i].dst == b[i].dst);
}

TEST(WorkloadTest, MessagesDefaultToOnePerQueuePair) {
  const std::string incast = "[[workload]]\nkind = \"incast\"\nreceiver = \"h9\"\nsize = \"1MB\"\n";
  EXPECT_EQ(draw_flows(settings_of(incast), Rng(1))[0].message_size, 1_MB);
  EXPECT_EQ(draw_flows(settings_of(incast + "qps = 4\n"), Rng(1))[0].message_size, 250_KB);
  EXPECT_EQ(draw_flows(settings_of(incast + "message_size = \"64KB\"\n"), Rng(1))[0].message_size, 64_KB);
  EXPECT_EQ(draw_flows(settings_of(incast + "message_size = \"2MB\"\n"), Rng(1))[0].message_size, 1_MB);
}

std::string complaint(const std::string& workload,
                      const std::string& topology = "kind = \"star\"\nhosts = 9\n") {
  const std::string text = complaint_of([&] { settings_of(workload, topology); });
  const std::size_t at = text.find(": ");
  return at == std::string::npos ? text : text.substr(at + 2);
}

const std::string kTwoLeaves = "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 3\n";

TEST(WorkloadTest, OneProcessOfTheNetworkDrawsItsPairs) {
  const std::string poisson =
      "[[workload]]\nkind = \"poisson\"\nload = 0.4\nsize = \"20KB\"\narrivals = \"network\"\n";
  const Settings s = settings_of(poisson + "duration = \"50ms\"\n");
  const std::vector<Flow> flows = draw_flows(s, Rng(3));
  FlowShape shape;
  shape.size = 20_KB;
  const double bits = static_cast<double>(wire_bytes_of(shape).count()) * 8;
  EXPECT_NEAR(static_cast<double>(flows.size()) * bits / 50e-3 / (9 * 40e9), 0.4, 0.01);
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> pairs;
  double gaps = 0, squares = 0;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    EXPECT_NE(flows[i].src, flows[i].dst);
    ++pairs[{flows[i].src, flows[i].dst}];
    const double gap = i == 0 ? 0 : (flows[i].start - flows[i - 1].start).seconds();
    gaps += gap, squares += gap * gap;
  }
  ASSERT_EQ(pairs.size(), 72u);
  for (const auto& [pair, count] : pairs) EXPECT_NEAR(count, static_cast<double>(flows.size()) / 72, 200);
  const double n = static_cast<double>(flows.size() - 1);
  EXPECT_NEAR(squares / n / (gaps / n * gaps / n), 2, 0.1) << "exponential";
  const std::vector<Flow> first = draw_flows(settings_of(poisson + "flows = 100\n"), Rng(3));
  ASSERT_EQ(first.size(), 100u);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].start, flows[i].start);
}

TEST(WorkloadTest, ReceiversMayBeBehindOtherSwitchesOnly) {
  const auto leaf = [](std::uint32_t host) { return host / 3; };
  for (const char* more :
       {"kind = \"poisson\"\nload = 0.3\nflows = 500\n",
        "kind = \"poisson\"\nload = 0.3\nflows = 500\narrivals = \"network\"\n", "kind = \"all-to-all\"\n"}) {
    const std::vector<Flow> flows = draw_flows(
        settings_of("[[workload]]\nsize = \"10KB\"\nreceivers = \"other-switches\"\n" + std::string(more),
                    kTwoLeaves),
        Rng(2));
    std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (const Flow& f : flows) {
      EXPECT_NE(leaf(f.src), leaf(f.dst));
      pairs.emplace(f.src, f.dst);
    }
    EXPECT_EQ(pairs.size(), 18u) << more;
  }
  EXPECT_EQ(
      complaint("[[workload]]\nkind = \"all-to-all\"\nsize = \"1KB\"\nreceivers = \"other-switches\"\n"),
      "workload.all-to-all.receivers = \"other-switches\" leaves \"h1\" nobody to send to: all hosts are "
      "behind "
      "its switch");
}

TEST(WorkloadTest, ReceiversCanBeKeptAtADistance) {
  const std::string far =
      "[[workload]]\nkind = \"poisson\"\nsize = \"10KB\"\nload = 0.3\nflows = 500\nmin_switches = ";
  std::set<std::pair<std::uint32_t, std::uint32_t>> by_number;
  for (const Flow& f : draw_flows(settings_of(far + "3\n", kTwoLeaves), Rng(2))) {
    EXPECT_NE(f.src / 3, f.dst / 3) << "leaf, spine, leaf";
    by_number.emplace(f.src, f.dst);
  }
  EXPECT_EQ(by_number.size(), 18u);
  EXPECT_NE(complaint(far + "2\n").find("leaves \"h1\" nobody to send to: no receiver is so far"),
            std::string::npos);
}

TEST(WorkloadTest, IncastsComeWithExponentialGaps) {
  const std::string incast =
      "[[workload]]\nkind = \"incast\"\nfan_in = 3\nsize = \"1KB\"\njitter = \"0us\"\n";
  const std::vector<Flow> flows = draw_flows(
      settings_of(incast + "receiver = \"random-each\"\nevery = \"20us\"\nduration = \"40ms\"\n"), Rng(1));
  std::map<std::uint32_t, std::set<std::uint32_t>> receivers, senders;
  std::map<std::uint32_t, Time> starts;
  for (const Flow& f : flows) {
    receivers[f.request].insert(f.dst);
    senders[f.request].insert(f.src);
    starts[f.request] = f.start;
    EXPECT_NE(f.src, f.dst);
    EXPECT_LT(f.start, Time::zero() + 40_ms);
  }
  EXPECT_NEAR(static_cast<double>(starts.size()), 2000, 150);
  EXPECT_EQ(flows.size(), 3 * starts.size());
  std::set<std::uint32_t> all;
  for (const auto& [request, hosts] : receivers) {
    ASSERT_EQ(hosts.size(), 1u);
    EXPECT_EQ(senders[request].size(), 3u);
    all.insert(*hosts.begin());
  }
  EXPECT_EQ(all.size(), 9u) << "each request draws its receiver";
  double gaps = 0, squares = 0;
  for (std::uint32_t i = 1; i < starts.size(); ++i) {
    const double gap = (starts[i] - starts[i - 1]).seconds();
    gaps += gap, squares += gap * gap;
  }
  const double n = static_cast<double>(starts.size() - 1);
  EXPECT_NEAR(squares / n / (gaps / n * gaps / n), 2, 0.3);
}

TEST(WorkloadTest, MistakesInArrivalsNameTheirKey) {
  const std::string incast = "[[workload]]\nkind = \"incast\"\nreceiver = \"random-each\"\nsize = \"1KB\"\n";
  EXPECT_EQ(complaint(incast + "every = \"20us\"\nrepeats = 3\nduration = \"1ms\"\n"),
            "workload.incast.every excludes repeats: requests come by one of them");
  EXPECT_NE(complaint(incast + "every = \"20us\"\n").find("duration"), std::string::npos);
  EXPECT_EQ(complaint(incast + "duration = \"1ms\"\n"),
            "workload.incast.duration needs every: the mean time between requests");
  EXPECT_NE(complaint(incast + "every = \"1ns\"\nduration = \"1s\"\n").find("makes more than 10000000 flows"),
            std::string::npos);
  EXPECT_NE(
      complaint(
          "[[workload]]\nkind = \"poisson\"\nload = 0.4\nflows = 1\nsize = \"1KB\"\narrivals = \"all\"\n")
          .find("workload.poisson.arrivals"),
      std::string::npos);
  EXPECT_EQ(complaint("[[workload]]\nkind = \"permutation\"\nsize = \"1KB\"\ncdf_form = \"steps\"\n"),
            "workload.permutation.cdf_form needs a cdf: it says how its lines are meant");
}

}  // namespace
}  // namespace rocelab
