#include "emu/runner/offered_load.h"

#include <gtest/gtest.h>

#include <numeric>

#include "emu/runner/complaint_fixture.h"
#include "emu/runner/plan.h"

namespace rocelab {
namespace {

// Line 3 is [topology]'s first key.
std::string scenario(const std::string& topology, const std::string& workloads) {
  return "transport = \"irn\"\n[topology]\n" + topology + workloads;
}

std::string poisson(const std::string& name, const std::string& more) {
  return "[[workload]]\nname = \"" + name + "\"\nkind = \"poisson\"\nsize = \"10KB\"\n" + more;
}

std::string complaint(const std::string& topology, const std::string& workloads) {
  return complaint_of([&] { parse_scenario(scenario(topology, workloads), "t.toml"); });
}

const std::string kStar = "kind = \"star\"\nhosts = 4\n";
const std::string kFatTree = "kind = \"fat-tree\"\narity = 4\nrate = \"40Gb/s\"\n";
const std::string kLoad7 = "duration = \"1ms\"\nload = 0.7\n";

TEST(OfferedLoadTest, UniformTrafficLoadsEachTierOfAFatTreeByItsShareOfThePairs) {
  const Settings s = parse_scenario(scenario(kFatTree, poisson("p", kLoad7)), "t.toml").settings[0];
  const Routing routing(s.topology);
  const std::vector<double> load = offered_load(s.topology, routing, s.workloads[0], 1024);
  const auto at = [&](const char* from, const char* to) {
    const std::uint32_t a = s.topology.find(from), link = s.topology.find_link(a, s.topology.find(to));
    return load[2 * link + (s.topology.links()[link].a == a ? 0 : 1)];
  };
  // 16 hosts, 2 below an edge switch, 4 in a pod: of the 15 others 14 are behind the edge switch, 12 the pod.
  EXPECT_NEAR(at("h1", "edge1"), 28e9, 1);
  EXPECT_NEAR(at("edge8", "h16"), 28e9, 1);
  EXPECT_NEAR(at("edge1", "agg2"), 28e9 * 14 / 15, 1);
  EXPECT_NEAR(at("agg2", "edge1"), 28e9 * 14 / 15, 1);
  EXPECT_NEAR(at("agg1", "core2"), 28e9 * 12 / 15, 1);
  EXPECT_NEAR(at("core4", "agg8"), 28e9 * 12 / 15, 1);
}

TEST(OfferedLoadTest, AcknowledgementsThatCountAreOnTheWayBack) {
  const std::string one_way = "senders = [\"h1\"]\nreceivers = [\"h2\"]\ncounts = \"acks\"\n" + kLoad7;
  const Settings s = parse_scenario(scenario(kStar, poisson("p", one_way)), "t.toml").settings[0];
  const Routing routing(s.topology);
  const std::vector<double> load = offered_load(s.topology, routing, s.workloads[0], 1024);
  const auto of = [&](const char* host, int direction) {
    const std::uint32_t h = s.topology.find(host);
    const std::uint32_t link = s.topology.nodes()[h].links[0];
    return load[2 * link + (s.topology.links()[link].a == h ? direction : 1 - direction)];
  };
  EXPECT_GT(of("h1", 0), 0);
  EXPECT_NEAR(of("h1", 0), of("h2", 1), 1) << "data";
  EXPECT_NEAR(of("h2", 0), of("h1", 1), 1) << "acknowledgements";
  EXPECT_NEAR(of("h1", 0) + of("h2", 0), 0.7 * 40e9, 1);
  EXPECT_NEAR(of("h2", 0) / of("h1", 0), 86.0 / 1106, 0.01);
}

TEST(OfferedLoadTest, ALinkAboveTheEdgeIsCheckedToo) {
  EXPECT_EQ(complaint(kFatTree, poisson("p", kLoad7)), "none");
  EXPECT_EQ(complaint(kFatTree + "core_rate = \"10Gb/s\"\n", poisson("p", kLoad7)),
            "t.toml:12:8: workload.p.load brings the link from \"agg1\" to \"core1\" to 224 % of its rate "
            "(22.4 of 10 Gb/s): lower the load, or say overload = true");
  EXPECT_EQ(complaint(kFatTree + "core_rate = \"10Gb/s\"\n", poisson("p", kLoad7 + "overload = true\n")),
            "none");
  EXPECT_EQ(complaint(kFatTree + "core_rate = \"10Gb/s\"\n",
                      poisson("p", "duration = \"1ms\"\nload = 0.3\n")),  // 9.6 Gb/s
            "none");
}

TEST(OfferedLoadTest, ASlowerLinkAmongEqualPathsIsFound) {
  const std::string slow =
      "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n"
      "[[topology.link]]\nbetween = [\"leaf2\", \"spine2\"]\nrate = \"10Gb/s\"\n";
  EXPECT_NE(complaint(slow, poisson("p", kLoad7)).find("the link from \"leaf2\" to \"spine2\" to 186.7 %"),
            std::string::npos);
}

TEST(OfferedLoadTest, WorkloadsAddUp) {
  EXPECT_EQ(complaint(kStar, poisson("a", kLoad7) + poisson("b", kLoad7)),
            "t.toml:16:8: workload.b.load brings the link from \"h1\" to \"s1\" to 140 % of its rate "
            "(56 of 40 Gb/s): lower the load, or say overload = true");
  for (const char* says : {"a", "b"})
    EXPECT_EQ(complaint(kStar, poisson("a", kLoad7 + (*says == 'a' ? "overload = true\n" : "")) +
                                   poisson("b", kLoad7 + (*says == 'b' ? "overload = true\n" : ""))),
              "none");
  // On other links than the one that may be overloaded.
  const std::string apart =
                        poisson("a", kLoad7 + "overload = true\nsenders = [\"h1\"]\nreceivers = [\"h2\"]\n"),
                    two = "senders = [\"h3\"]\nreceivers = [\"h4\"]\n";
  EXPECT_NE(complaint(kStar, apart + poisson("b", kLoad7 + two) + poisson("c", kLoad7 + two))
                .find("workload.c.load brings the link from \"h3\" to \"s1\" to 140 %"),
            std::string::npos);
}

TEST(OfferedLoadTest, OnlyThoseAtTheSameTimeAddUp) {
  EXPECT_EQ(complaint(kStar, poisson("a", kLoad7) + poisson("b", kLoad7 + "start = \"1ms\"\n")), "none");
  EXPECT_NE(complaint(kStar, poisson("a", kLoad7) + poisson("b", kLoad7 + "start = \"999us\"\n")), "none");
  // 100 flows of 10.86 KB on the wire at 4 * 28 Gb/s are over after some 78 us.
  const std::string few = "flows = 100\nload = 0.7\n";
  EXPECT_EQ(complaint(kStar, poisson("a", few) + poisson("b", kLoad7 + "start = \"90us\"\n")), "none");
  EXPECT_NE(complaint(kStar, poisson("a", few) + poisson("b", kLoad7 + "start = \"70us\"\n")), "none");
  // A stop ends it, too.
  const std::string stopped = poisson("a", kLoad7 + "stop = \"500us\"\n");
  EXPECT_EQ(complaint(kStar, stopped + poisson("b", kLoad7 + "start = \"500us\"\n")), "none");
  EXPECT_NE(complaint(kStar, stopped + poisson("b", kLoad7 + "start = \"499us\"\n")), "none");
}

TEST(OfferedLoadTest, AnIncastThatRepeatsHasARate) {
  const auto incast = [](const std::string& more) {
    return "[[workload]]\nkind = \"incast\"\ntotal = \"1MB\"\nrepeats = 10\n" + more;
  };
  const std::string fixed = "receiver = \"h1\"\n";
  EXPECT_EQ(complaint(kStar, incast(fixed + "period = \"300us\"\n")), "none");  // 28.6 Gb/s with headers
  EXPECT_NE(complaint(kStar, incast(fixed + "period = \"200us\"\n"))
                .find("t.toml:10:10: workload.incast.period brings the link from \"s1\" to \"h1\" to 10"),
            std::string::npos);
  EXPECT_EQ(complaint(kStar, incast(fixed + "period = \"200us\"\noverload = true\n")), "none");
  const std::string background = poisson("p", "duration = \"5ms\"\nload = 0.5\n");
  EXPECT_NE(complaint(kStar, incast(fixed + "period = \"300us\"\n") + background)
                .find("workload.p.load brings the link from \"s1\" to \"h1\" to 12"),
            std::string::npos);
  EXPECT_NE(complaint(kStar, incast("receiver = \"random\"\nperiod = \"300us\"\n") + background)
                .find("workload.p.load brings the link from \"s1\" to \"h1\" to 12"),
            std::string::npos);
  EXPECT_EQ(complaint(kStar, "[[workload]]\nkind = \"incast\"\nsize = \"10MB\"\n" + fixed), "none");
}

TEST(OfferedLoadTest, OneHostMayTakeFromSeveralAsMuchAsItsLinkCarries) {
  const std::string to_one = "duration = \"1ms\"\nreceivers = [\"h4\"]\nsenders = [\"h1\", \"h2\", \"h3\"]\n";
  EXPECT_EQ(complaint(kStar, poisson("p", to_one + "load = 0.33\n")), "none");
  EXPECT_NE(complaint(kStar, poisson("p", to_one + "load = 0.34\n"))
                .find("from \"s1\" to \"h4\" to 102 % of its rate"),
            std::string::npos);
}

TEST(OfferedLoadTest, WhatIsOfferedArrives) {
  // Whatever the shape: the load on the receivers' links is that on the senders'.
  for (const char* shape : {"kind = \"ring\"\nswitches = 5\nhosts_per_switch = 2\n",
                            "kind = \"ring\"\nswitches = 4\nclockwise = true\n",
                            "kind = \"parking-lot\"\nswitches = 4\n", "kind = \"fat-tree\"\narity = 6\n"}) {
    const Settings s =
        parse_scenario(
            scenario(
                shape,
                poisson("p",
                        "duration = \"1ms\"\nload = 0.7\noverload = true\nsenders = [\"h1\", \"h3\"]\n")),
            "t.toml")
            .settings[0];
    const Routing routing(s.topology);
    const std::vector<double> load = offered_load(s.topology, routing, s.workloads[0], 1024);
    double sent = 0, received = 0;
    for (std::size_t l = 0; l < s.topology.links().size(); ++l)
      if (s.topology.is_host(s.topology.links()[l].a)) {
        sent += load[2 * l];
        received += load[2 * l + 1];
      }
    EXPECT_NEAR(sent, 2 * 0.7 * 40e9, 1) << shape;
    EXPECT_NEAR(received, sent, 1) << shape;
  }
}

TEST(OfferedLoadTest, IncastsWithExponentialGapsHaveARate) {
  const auto incast = [](const std::string& more) {
    return "[[workload]]\nkind = \"incast\"\ntotal = \"1MB\"\nduration = \"3ms\"\n" + more;
  };
  EXPECT_EQ(complaint(kStar, incast("receiver = \"h1\"\nevery = \"300us\"\n")), "none");
  EXPECT_NE(complaint(kStar, incast("receiver = \"h1\"\nevery = \"200us\"\n"))
                .find("workload.incast.every brings the link from \"s1\" to \"h1\" to 10"),
            std::string::npos);
  // Four receivers share the requests, and all hosts send.
  EXPECT_EQ(complaint(kStar, incast("receiver = \"random-each\"\nevery = \"60us\"\n")), "none");
  EXPECT_NE(complaint(kStar, incast("receiver = \"random-each\"\nevery = \"50us\"\n")).find("to 10"),
            std::string::npos);
}

TEST(OfferedLoadTest, OneProcessOfTheNetworkLoadsAllSendersAlike) {
  const std::string slow = kStar + "[[topology.link]]\nbetween = [\"h1\", \"s1\"]\nrate = \"10Gb/s\"\n";
  EXPECT_EQ(complaint(slow, poisson("p", kLoad7 + "overload = true\n")), "none");
  // Of 130 Gb/s in all a quarter of 0.7 each.
  EXPECT_NE(complaint(slow, poisson("p", kLoad7 + "arrivals = \"network\"\n")).find("to 227.5 % of its rate"),
            std::string::npos);
}

TEST(OfferedLoadTest, TrafficBetweenSwitchesLoadsTheirLinksInFull) {
  const std::string leaves = "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n";
  const Settings s =
      parse_scenario(scenario(leaves, poisson("p", kLoad7 + "receivers = \"other-switches\"\n")), "t.toml")
          .settings[0];
  const Routing routing(s.topology);
  const std::vector<double> load = offered_load(s.topology, routing, s.workloads[0], 1024);
  for (const double bps : load) EXPECT_NEAR(bps, 28e9, 1);
}

TEST(OfferedLoadTest, SinglePathsCarryWhatTheirDestinationsGet) {
  // Two senders to one host: their traffic meets on one of the two spines.
  const std::string leaves =
      "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\ntrunk_rate = \"20Gb/s\"\n";
  const std::string to_h3 =
      "senders = [\"h1\", \"h2\"]\nreceivers = [\"h3\"]\nduration = \"1ms\"\nload = 0.4\n";
  EXPECT_EQ(complaint(leaves, poisson("p", to_h3)), "none");
  EXPECT_NE(complaint(leaves + "paths = \"single\"\n", poisson("p", to_h3)).find("to 160 % of its rate"),
            std::string::npos);
}

}  // namespace
}  // namespace rocelab
