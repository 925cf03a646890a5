#include "emu/runner/topology_file.h"

#include <gtest/gtest.h>

#include "emu/runner/complaint_fixture.h"
#include "emu/runner/scenario.h"
#include "emu/runner/text_file.h"

namespace rocelab {
namespace {

const std::string kSamples = std::string(ROCELAB_SOURCE_DIR) + "/tests/data/interchange/";

std::string complaint(const std::string& text) {
  return complaint_of([&] { parse_topology_file(text, "t.txt"); });
}

TEST(TopologyFileTest, FatTreeSampleComesBackByteForByte) {
  const std::string text = read_text(kSamples + "conweave_fat_k4_100G_OS2.txt");
  const Topology t = parse_topology_file(text, "sample");
  t.check();
  EXPECT_EQ(t.hosts(), 32u);
  EXPECT_EQ(t.switches(), 20u);
  EXPECT_EQ(t.links()[0].rate, 100_Gbps);
  EXPECT_EQ(t.links()[0].delay, 1_us);
  EXPECT_EQ(topology_file(t), text);
}

TEST(TopologyFileTest, LeafSpineSampleComesBackAsItsGeneratorWouldWriteTheErrorRate) {
  const std::string text = read_text(kSamples + "conweave_leaf_spine_128_100G_OS2.txt");
  const Topology t = parse_topology_file(text, "sample");
  EXPECT_EQ(t.hosts(), 128u);
  std::string want;  // with its "0" as "0.000000", and without the comment behind the links
  std::size_t at = 0;
  for (int line = 0; line < 194; ++line) {
    const std::size_t end = text.find('\n', at);
    want += text.substr(at, end - at) + (line < 2 ? "\n" : ".000000\n");
    at = end + 1;
  }
  EXPECT_EQ(topology_file(t), want);
}

TEST(TopologyFileTest, HostsMayComeBehindSwitches) {
  const Topology t = parse_topology_file(read_text(kSamples + "ns3rdma_topology.txt"), "sample");
  t.check();
  EXPECT_EQ(t.hosts(), 3u);
  EXPECT_EQ(t.number_of(t.find("h1")), 1u);
  EXPECT_EQ(t.number_of(t.find("s0")), 0u);
  EXPECT_EQ(t.links()[2].delay, 1_us);  // 0.001ms
  EXPECT_EQ(t.links()[2].rate, 40_Gbps);
}

TEST(TopologyFileTest, GeneratedTopologiesSurviveTheWay) {
  Topology made = make_fat_tree({4, 2, {25_Gbps, 300_ns}, {100_Gbps, 1_us}, {400_Gbps, 1_us}});
  made.link(3).a_to_b.drop_rate = made.link(3).b_to_a.drop_rate = 0.25;
  const Topology back = parse_topology_file(topology_file(made), "made");
  ASSERT_EQ(back.links().size(), made.links().size());
  for (std::size_t i = 0; i < made.links().size(); ++i) {
    EXPECT_EQ(back.links()[i].a, made.links()[i].a);
    EXPECT_EQ(back.links()[i].b, made.links()[i].b);
    EXPECT_EQ(back.links()[i].rate, made.links()[i].rate);
    EXPECT_EQ(back.links()[i].delay, made.links()[i].delay);
  }
  EXPECT_EQ(back.links()[3].b_to_a.drop_rate, 0.25);
}

TEST(TopologyFileTest, LinksSideBySideAreLinksOfTheirOwn) {
  const std::string text =
      "4 2 4\n2 3\n0 2 40Gbps 1000ns 0.000000\n1 3 40Gbps 1000ns 0.000000\n2 3 100Gbps 1000ns 0.250000\n"
      "3 2 40Gbps 3000ns 0.000000\n";
  const Topology t = parse_topology_file(text, "t.txt");
  ASSERT_EQ(t.links_between(t.find("s2"), t.find("s3")), (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(t.links()[2].rate, 100_Gbps);
  EXPECT_EQ(t.links()[2].b_to_a.drop_rate, 0.25);
  EXPECT_EQ(t.links()[3].rate, 40_Gbps);
  EXPECT_EQ(t.links()[3].b_to_a.drop_rate, 0);
  EXPECT_EQ(t.links()[3].b_port, 2u);
  EXPECT_EQ(topology_file(t), text);
  EXPECT_EQ(topology_file(parse_topology_file(topology_file(t), "t.txt")), text);
}

TEST(TopologyFileTest, SimAisHeaderCountsServersAndNvSwitches) {
  const Topology t = parse_topology_file(
      "7 2 0 3 6 A100\n4 5 6\n0 4 200Gbps 0.0005ms 0\n1 4 200Gbps 0.0005ms 0\n2 5 200Gbps 0.0005ms 0\n"
      "3 5 200Gbps 0.0005ms 0\n4 6 400Gbps 0.0005ms 0\n5 6 400Gbps 0.0005ms 0\n",
      "t.txt");
  EXPECT_EQ(t.hosts(), 4u);
  EXPECT_EQ(t.switches(), 3u);
  EXPECT_EQ(t.links()[4].rate, 400_Gbps);
  EXPECT_EQ(t.links()[4].delay, 500_ns);
}

TEST(TopologyFileTest, NvSwitchesAreRefusedOrLeftOut) {
  // Two servers of two GPUs; nodes 4 and 5 are their NVSwitches.
  const std::string text =
      "8 2 2 2 10 H100\n4 5 6 7\n0 4 2880Gbps 0.000025ms 0\n0 6 200Gbps 0.0005ms 0\n1 4 2880Gbps 0.000025ms "
      "0\n"
      "1 7 200Gbps 0.0005ms 0\n2 5 2880Gbps 0.000025ms 0\n2 6 200Gbps 0.0005ms 0\n3 5 2880Gbps 0.000025ms 0\n"
      "3 7 200Gbps 0.0005ms 0\n6 7 400Gbps 0.0005ms 0\n6 7 400Gbps 0.0005ms 0\n";
  EXPECT_EQ(complaint(text),
            "t.txt:1: NVSwitches are not supported: with one, a GPU has a second link beside the network's; "
            "nvswitches = \"leave-out\" reads the network without them, which "
            "then also carries what the GPUs of a server send to each other");
  const Topology t = parse_topology_file(text, "t.txt", NvSwitches::kLeaveOut);
  EXPECT_EQ(t.hosts(), 4u);
  EXPECT_EQ(t.switches(), 2u);
  EXPECT_EQ(t.links().size(), 6u);
  EXPECT_EQ(t.neighbour(t.find("h2"), 0), t.find("s6"));
  EXPECT_EQ(t.number_of(t.find("s7")), 7u);
}

TEST(TopologyFileTest, SmallErrorRatesComeBackExactly) {
  for (const double rate : {0.25, 1e-6, 4e-7, 1.25e-12, 0.1234567}) {
    Topology made = make_star(2, {});
    made.link(1).a_to_b.drop_rate = made.link(1).b_to_a.drop_rate = rate;
    const Topology back = parse_topology_file(topology_file(made), "made");
    EXPECT_EQ(back.links()[1].a_to_b.drop_rate, rate) << topology_file(made);
    EXPECT_EQ(back.links()[0].a_to_b.drop_rate, 0);
  }
}

TEST(TopologyFileTest, WhatItCannotSayIsNamed) {
  const auto omissions = [](const std::string& more) {
    return topology_file_omissions(
        parse_scenario("transport = \"irn\"\n[topology]\nkind = \"ring\"\nswitches = 3\n" + more, "t.toml")
            .settings[0]);
  };
  const auto fault = [](const std::string& from, const std::string& to, const std::string& keys) {
    return "[[fault]]\nfrom = \"" + from + "\"\nto = \"" + to + "\"\n" + keys;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(omissions(""), Texts{});
  const std::string rate = "drop_rate = 0.1\n";
  EXPECT_EQ(omissions(fault("h1", "s1", rate) + fault("s1", "h1", rate)), Texts{});
  EXPECT_EQ(omissions(fault("s1", "h1", rate)),
            Texts{"the fault from \"s1\" to \"h1\" (drop_rate of one direction)"});
  EXPECT_EQ(
      omissions("clockwise = true\n" + fault("s1", "s2", rate + "drop_list = [3]\ncorrupt_rate = 0.5\n") +
                "[[link_event]]\nat = \"1us\"\nbetween = [\"s1\", \"s2\"]\nstate = \"down\"\n"
                "[[topology.path]]\nto = \"h3\"\nthrough = [\"s1\", \"s2\", \"s3\"]\n"),
      (Texts{"the fault from \"s1\" to \"s2\" (drop_rate of one direction, corrupt_rate, drop_list)",
             "that links are one-way (topology.clockwise)", "1 pinned paths", "1 link events"}));
}

TEST(TopologyFileTest, NicsOfAHostAreHostsThere) {
  const Settings s =
      parse_scenario("transport = \"irn\"\n[topology]\nkind = \"star\"\nhosts = 2\nnics_per_host = 2\n",
                     "t.toml")
          .settings[0];
  EXPECT_EQ(topology_file_omissions(s),
            (std::vector<std::string>{"which 2 NICs are of one host: each is a host"}));
  EXPECT_EQ(parse_topology_file(topology_file(s.topology), "t.txt").hosts(), 4u);
}

TEST(TopologyFileTest, ComplaintsNameTheLine) {
  const std::string good = "3 1 2\n2\n0 2 40Gbps 1us 0\n1 2 40Gbps 1us 0\n";
  EXPECT_EQ(complaint(good), "none");
  EXPECT_EQ(
      complaint(read_text(kSamples + "ns3rdma_flow.txt")),
      "t.txt:1: the first line of a topology file is: nodes, switches, links; or SimAI's: nodes, GPUs of "
      "a server, NVSwitches, switches, links, type of GPU");
  EXPECT_EQ(complaint("3 1 3\n2\n0 2 40Gbps 1us 0\n1 2 40Gbps 1us 0\n"),
            "t.txt:4: the first line promises 3 links, but there are 2");
  EXPECT_EQ(complaint("3 1 2\n3\n"), "t.txt:2: the switch 3 is outside 0..2");
  EXPECT_EQ(complaint("3 1 2\n2\n0 2 40 1us 0\n").substr(0, 8), "t.txt:3:");
  EXPECT_EQ(complaint("3 1 2\n2\n0 2 40Gbps 0ns 0\n"),
            "t.txt:3: the delay must be more than 0: time can only advance where links delay");
  EXPECT_NE(complaint("3 1 2\n2\n0 1 40Gbps 1us 0\n").find("t.txt:3: a link needs a switch"),
            std::string::npos);
  EXPECT_EQ(complaint("4 2 3\n2 3\n0 2 40Gbps 1us 0\n0 3 40Gbps 1us 0\n1 3 40Gbps 1us 0\n"),
            "t.txt:4: host \"h0\" has a link already: a NIC has one (hosts with several NICs: "
            "topology.nics_per_host)");
  EXPECT_EQ(complaint("3 0 3\n\n0 1 25Gbps 1us 0\n1 2 25Gbps 1us 0\n2 0 25Gbps 1us 0\n"),
            "t.txt:1: the topology has no switch: hosts that are joined to one another are not supported");
  EXPECT_EQ(complaint("6 2 4\n4 5\n0 4 40Gbps 1us 0\n1 4 40Gbps 1us 0\n2 5 40Gbps 1us 0\n3 5 40Gbps 1us 0\n"),
            "t.txt:5: \"h2\" cannot be reached from \"h0\"");
  EXPECT_EQ(complaint("4 2 2\n2 3\n0 2 40Gbps 1us 0\n1 2 40Gbps 1us 0\n"),
            "t.txt:2: \"s3\" cannot be reached from \"h0\"");
  EXPECT_EQ(complaint("# a comment\n3 1 1\n2\n0 2 40Gbps 1us 0\n"), "t.txt:2: host \"h1\" has no link");
  EXPECT_EQ(complaint("3 1 2\n2\n0 2 40Gbps 1us 1.5\n"), "t.txt:3: the error rate must be in 0..1");
  EXPECT_EQ(complaint("3 1 2\n2\n0 2 40Gbps 1us\n").substr(0, 34), "t.txt:3: a link has five columns: ");
}

}  // namespace
}  // namespace rocelab
