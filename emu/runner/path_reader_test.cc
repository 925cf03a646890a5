// [[topology.path]]: what pinned paths are read from, and where frames then go.
#include <gtest/gtest.h>

#include "emu/runner/complaint_fixture.h"
#include "emu/runner/offered_load.h"
#include "emu/runner/plan.h"
#include "emu/runner/route_walk.h"
#include "emu/runner/scenario.h"

namespace rocelab {
namespace {

const std::string kFatTree = "transport = \"irn\"\n[topology]\nkind = \"fat-tree\"\narity = 4\n";

std::string path(const std::string& to, const std::string& through) {
  return "[[topology.path]]\nto = " + to + "\nthrough = [" + through + "]\n";
}

Topology topology_of(const std::string& text) {
  return parse_scenario(text, "t.toml").settings.at(0).topology;
}

std::string complaint(const std::string& text) {
  return complaint_of([&] { parse_scenario(text, "t.toml"); });
}

// The switches from host to host, by the rules.
std::string way(const Topology& t, const Routing& routing, const std::string& src, const std::string& dst,
                std::uint16_t src_port = 0xc000) {
  const std::vector<Route> rules = routing.rules(Rng(1));
  std::string names;
  std::uint32_t node = t.neighbour(t.find(src), 0);
  for (int links = 0; links < 12 && !t.is_host(node); ++links) {
    names += (names.empty() ? "" : " ") + t.nodes()[node].name;
    const int port = forwarded(rules, node - t.hosts(), routing.address(t.find(dst)).ipv4, src_port);
    node = t.neighbour(node, static_cast<std::uint32_t>(port));
  }
  return names + (t.nodes()[node].name == dst ? "" : " .. lost");
}

// Figure 4.11 of the Escape chapter: the path to h16, and the one that it takes when core1 - agg7 fails,
// which leads down into a pod and up again.
const std::string kDirect = path("\"h16\"", R"("agg1", "core1", "agg7", "edge8")");
const std::string kBouncy = path("\"h16\"", R"("agg1", "core1", "agg5", "core2", "agg7", "edge8")");

TEST(PathReaderTest, FramesToAHostGoByItsPathFromWhereverTheyMeetIt) {
  const std::pair<std::string, int> by_agg1[] = {{"ecmp", 128}, {"single", 0}, {"first", 256}};
  for (const auto& [paths, expected] : by_agg1) {
    const Topology t = topology_of(kFatTree + "paths = \"" + paths + "\"\n" + kBouncy);
    const Routing routing(t);
    int met = 0;  // source ports whose frames come to agg1
    for (std::uint16_t port = 0xc000; port < 0xc100; ++port) {
      const std::string from_h1 = way(t, routing, "h1", "h16", port);
      if (from_h1.find("agg1") != std::string::npos) {
        ++met;
        EXPECT_EQ(from_h1, "edge1 agg1 core1 agg5 core2 agg7 edge8") << paths;
      }
      EXPECT_EQ(way(t, routing, "h1", "h15", port).size(), std::string("edge1 agg1 core1 agg7 edge8").size())
          << "its neighbour's paths are the shortest ones, " << paths;
    }
    EXPECT_EQ(met, expected) << paths;
    // Frames of h9, which is at edge5, join the path at agg5.
    EXPECT_EQ(routing.next_ports(t.find("agg5"), t.find("h16")).size(), 1u);
    EXPECT_EQ(t.neighbour(t.find("agg5"), routing.next_ports(t.find("agg5"), t.find("h16")).at(0)),
              t.find("core2"));
  }
}

TEST(PathReaderTest, RulesAndPathsAgreeAndNothingCirclesWhateverFails) {
  Topology t = topology_of(kFatTree + kDirect + kBouncy +
                           path(R"(["h3", "h4"])", R"("agg8", "core3", "agg2", "edge2")"));
  const std::uint32_t second = t.find_link(t.find("core3"), t.find("agg8"));  // fails with each of the others
  for (const PathChoice paths : {PathChoice::kAll, PathChoice::kSpread, PathChoice::kFirst})
    for (std::uint32_t failed = 0; failed <= 2 * t.links().size(); ++failed) {
      t.paths = paths;
      const std::uint32_t link = failed / 2;
      std::vector<bool> dead(t.links().size());
      if (link < dead.size() && t.is_host(t.links()[link].a)) continue;  // no way at all
      if (link < dead.size()) dead[link] = true;
      if (failed % 2 != 0) dead[second] = true;
      const Routing routing(t, dead);
      const std::vector<Route> rules = routing.rules(Rng(1));
      for (std::uint32_t src = 0; src < t.hosts(); ++src)
        for (std::uint32_t dst = 0; dst < t.hosts(); ++dst) {
          if (src == dst) continue;
          for (std::uint16_t port = 0xc000; port < 0xc008; ++port) {
            const int links = walk(t, routing, rules, src, dst, port);
            ASSERT_GT(links, 0) << src << " -> " << dst << ", " << failed;
            ASSERT_LE(links, static_cast<int>(routing.longest_path(src, dst).size()));
            if (paths != PathChoice::kAll) {
              ASSERT_EQ(links, static_cast<int>(routing.path(src, dst).size()));
            }
          }
        }
    }
}

TEST(PathReaderTest, ALaterPathIsTakenWhileALinkOfAnEarlierOneIsDown) {
  const Topology t =
      topology_of(kFatTree + path("\"h16\"", R"("edge1", "agg1", "core1", "agg7", "edge8")") + kBouncy);
  EXPECT_EQ(way(t, Routing(t), "h1", "h16"), "edge1 agg1 core1 agg7 edge8");
  std::vector<bool> dead(t.links().size());
  dead[t.find_link(t.find("core1"), t.find("agg7"))] = true;
  dead[t.find_link(t.find("edge1"), t.find("agg2"))] = true;
  EXPECT_EQ(way(t, Routing(t, dead), "h1", "h16"), "edge1 agg1 core1 agg5 core2 agg7 edge8");
  dead[t.find_link(t.find("core2"), t.find("agg7"))] = true;  // neither counts: as without them
  EXPECT_EQ(way(t, Routing(t, dead), "h1", "h16"), "edge1 agg1 edge2 agg2 core3 agg8 edge8");
}

// Whether or not it is by the first ports.
TEST(PathReaderTest, APathThatIsLongerIsInTheFormulas) {
  const auto base_rtt = [](const std::string& paths) {
    const Scenario s = parse_scenario(kFatTree + paths, "t.toml");
    return make_plan(s, s.settings.at(0), 1).base_rtt;
  };
  const std::string other = path("\"h16\"", R"("agg2", "core3", "agg6", "core4", "agg8", "edge8")");
  const Duration plain = base_rtt("");
  for (const std::string& paths : {kBouncy, other}) {
    const Topology t = topology_of(kFatTree + paths);
    const Routing routing(t);
    std::size_t links = 0;
    for (const auto& [src, dst] : routing.distinct_pairs())
      links = std::max(links, routing.longest_path(src, dst).size());
    EXPECT_EQ(links, 8u);
    EXPECT_GT(base_rtt(paths), plain + 2 * 2_us) << "two links more, one way";
  }
}

// HPCC's telemetry has room for seven switches: also on a path that is for a failure.
TEST(PathReaderTest, APathForFailuresIsNotLongerThanTelemetry) {
  std::string scenario =
      kFatTree + kDirect +
      path("\"h16\"", R"("agg1", "core1", "agg5", "edge5", "agg6", "core3", "agg8", "edge8")");
  scenario.replace(scenario.find("irn"), 3, "irn+pfc+hpcc");
  const auto says = [](const std::string& text) {
    return complaint_of([&] { make_plans(parse_scenario(text, "t.toml")); });
  };
  EXPECT_EQ(says(scenario), "none");
  EXPECT_NE(
      says(scenario + "[[link_event]]\nat = \"1ms\"\nbetween = [\"core1\", \"agg7\"]\nstate = \"down\"\n")
          .find("room for 7 switches, and the longest path has 9"),
      std::string::npos);
}

TEST(PathReaderTest, WhatIsOfferedGoesByThePath) {
  const std::string load =
      "[[workload]]\nkind = \"poisson\"\nload = 0.4\nsize = \"100KB\"\nduration = "
      "\"1ms\"\nsenders = [\"h1\"]\nreceivers = [\"h16\"]\n";
  const Settings s =
      parse_scenario(
          kFatTree + path("\"h16\"", R"("edge1", "agg1", "core1", "agg5", "core2", "agg7", "edge8")") + load,
          "t.toml")
          .settings.at(0);
  const Topology& t = s.topology;
  const std::vector<double> bps = offered_load(t, Routing(t), s.workloads.at(0), 1024);
  for (const auto& [a, b] :
       {std::pair("core1", "agg5"), std::pair("agg5", "core2"), std::pair("core2", "agg7")}) {
    const std::uint32_t link = t.find_link(t.find(a), t.find(b));
    EXPECT_GT(bps.at(2 * link + (t.links()[link].a == t.find(a) ? 0 : 1)), 15e9) << a << " " << b;
  }
  EXPECT_EQ(bps.at(2 * t.find_link(t.find("edge1"), t.find("agg2"))), 0);
}

TEST(PathReaderTest, OfLinksSideBySideThePortIsNamed) {
  const std::string pair =
      "transport = \"irn\"\n[topology]\nkind = \"custom\"\nhosts = [\"a\", \"b\"]\nswitches = [\"s\", "
      "\"t\"]\n[[topology.link]]\nbetween = [\"a\", \"s\"]\n[[topology.link]]\nbetween = [\"b\", \"t\"]\n"
      "[[topology.link]]\nbetween = [\"s\", \"t\"]\n[[topology.link]]\nbetween = [\"s\", \"t\"]\n";
  const Topology t = topology_of(pair + path("\"b\"", "\"s-eth3\", \"t\""));
  EXPECT_EQ(Routing(t).next_ports(t.find("s"), t.find("b")), std::vector<std::uint32_t>{2});
  EXPECT_EQ(Routing(t).next_ports(t.find("t"), t.find("a")), (std::vector<std::uint32_t>{1, 2}));
  const auto says = [&](const std::string& through) { return complaint(pair + path("\"b\"", through)); };
  EXPECT_EQ(says("\"s\", \"t\""),
            "t.toml:16:11: topology.path.0.through goes from \"s\" to \"t\", which share 2 links: name the "
            "port, \"s-eth2\" to \"s-eth3\"");
  EXPECT_NE(says("\"s-eth1\", \"t\"").find("has \"t\" behind \"s-eth1\", which leads to \"a\""),
            std::string::npos);
  EXPECT_NE(says("\"s-eth4\", \"t\"").find("that \"s\" does not have, \"s-eth4\": it has 3"),
            std::string::npos);
  EXPECT_NE(says("\"s-eth0\", \"t\"").find("names no port: \"s-eth0\""), std::string::npos);
  EXPECT_NE(says("\"s-eth2\", \"t-eth1\"").find("ends with a port"), std::string::npos);
}

TEST(PathReaderTest, RefusesWhatIsNoPath) {
  const auto says = [](const std::string& to, const std::string& through) {
    return complaint(kFatTree + path(to, through));
  };
  EXPECT_EQ(says("\"h16\"", R"("agg1", "core1", "agg7", "edge8")"), "none");
  EXPECT_NE(says("\"h17\"", R"("agg7", "edge8")").find("names no host: \"h17\""), std::string::npos);
  EXPECT_NE(says("[]", R"("agg7", "edge8")").find("to must name a host"), std::string::npos);
  EXPECT_NE(says("\"h16\"", R"("agg1", "core9", "agg7", "edge8")").find("unknown node \"core9\""),
            std::string::npos);
  EXPECT_NE(says("\"h16\"", R"("agg1", "core3", "agg7", "edge8")")
                .find("goes from \"agg1\" to \"core3\", which share no link"),
            std::string::npos);
  EXPECT_NE(
      says("\"h16\"", R"("agg1", "core1", "agg7")").find("must end at \"edge8\", the switch of \"h16\""),
      std::string::npos);
  EXPECT_NE(says("\"h16\"", R"("edge8")").find("at least two switches"), std::string::npos);
  EXPECT_NE(says("\"h16\"", R"("h1", "edge1")").find("\"h1\" is a host"), std::string::npos);
  EXPECT_NE(
      says("\"h16\"", R"("agg1", "core1", "agg1", "core2", "agg7", "edge8")").find("lists \"agg1\" twice"),
      std::string::npos);
  EXPECT_NE(complaint(kFatTree + "[[topology.path]]\nto = \"h16\"\n").find("through"), std::string::npos);
  EXPECT_NE(complaint("transport = \"irn\"\n[topology]\nkind = \"ring\"\nswitches = 3\nclockwise = true\n" +
                      path("\"h1\"", R"("s2", "s1")"))
                .find("against the only direction"),
            std::string::npos);
}

}  // namespace
}  // namespace rocelab
