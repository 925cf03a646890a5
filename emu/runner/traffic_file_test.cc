#include "emu/runner/traffic_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "emu/runner/complaint_fixture.h"
#include "emu/runner/text_file.h"

namespace rocelab {
namespace {

const std::string kSamples = std::string(ROCELAB_SOURCE_DIR) + "/tests/data/interchange/";

std::string complaint(const std::string& text, TrafficDialect dialect) {
  return complaint_of([&] { parse_traffic(text, "f.txt", dialect); });
}

// A scenario in the samples' folder: names of files are relative to it.
Scenario scenario_of(const std::string& topology, const std::string& workload) {
  return parse_scenario(
      "transport = \"irn\"\n[topology]\n" + topology + "[[workload]]\nkind = \"file\"\n" + workload,
      kSamples + "s.toml");
}

RunPlan plan_of(const std::string& topology, const std::string& workload) {
  const Scenario s = scenario_of(topology, workload);
  return make_plan(s, s.settings.at(0), 1);
}

const std::string kLeafSpine = "kind = \"file\"\nfile = \"conweave_leaf_spine_128_100G_OS2.txt\"\n";

TEST(TrafficFileTest, ConweaveSampleComesBackByteForByte) {
  const RunPlan plan =
      plan_of(kLeafSpine, "file = \"sample_conweave_flow_perm128.txt\"\ndialect = \"conweave\"\n");
  ASSERT_EQ(plan.flows.size(), 128u);
  EXPECT_EQ(plan.flows[0].start, Time::zero());  // 2 s there
  EXPECT_EQ(plan.flows[0].size, 10_MB);
  EXPECT_EQ(traffic_file(plan, TrafficDialect::kConweave, {}),
            read_text(kSamples + "sample_conweave_flow_perm128.txt"));
}

TEST(TrafficFileTest, HpccSampleHasTwoFlowsAndAComment) {
  const auto lines = parse_traffic(read_text(kSamples + "hpcc_flow.txt"), "f", TrafficDialect::kHpcc);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1].src, 3u);
  EXPECT_EQ(lines[1].dst, 1u);
  EXPECT_EQ(lines[1].dst_port, 100u);
  EXPECT_EQ(lines[1].size, 200'000'000);
  EXPECT_EQ(lines[1].start_ps, 2'000'000'000'000);
}

TEST(TrafficFileTest, Ns3RdmaCountsPackets) {
  const RunPlan plan =
      plan_of("kind = \"file\"\nfile = \"ns3rdma_topology.txt\"\n",
              "file = \"ns3rdma_flow.txt\"\ndialect = \"ns3-rdma\"\npacket_payload = \"1024B\"\n");
  ASSERT_EQ(plan.flows.size(), 2u);
  EXPECT_EQ(plan.settings.topology.nodes()[plan.flows[0].src].name, "h2");
  EXPECT_EQ(plan.flows[0].size.count(), 10'000'000LL * 1024);
}

TEST(TrafficFileTest, EveryDialectReadsWhatItWrites) {
  RunPlan plan = plan_of("kind = \"star\"\nhosts = 4\n",
                         "name = \"f\"\nfile = \"hpcc_ports.txt\"\ndialect = \"hpcc\"\n");
  ASSERT_EQ(plan.flows.size(), 3u);
  EXPECT_EQ(plan.flows[0].group, "f:100");
  EXPECT_EQ(plan.flows[1].group, "f:200");
  EXPECT_EQ(plan.flows[1].start, Time::zero() + 1500_ns);
  EXPECT_EQ(traffic_file(plan, TrafficDialect::kHpcc, {}), read_text(kSamples + "hpcc_ports.txt"));
  for (const TrafficDialect d :
       {TrafficDialect::kHpcc, TrafficDialect::kConweave, TrafficDialect::kNs3Rdma}) {
    const auto lines = parse_traffic(traffic_file(plan, d, {}), "f", d);
    ASSERT_EQ(lines.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(lines[i].src, plan.flows[i].src);
      EXPECT_EQ(lines[i].start_ps, (plan.flows[i].start - Time::zero() + 2_s).ps());
      EXPECT_EQ(lines[i].size * (d == TrafficDialect::kNs3Rdma ? 1000 : 1), plan.flows[i].size.count());
    }
  }
}

TEST(TrafficFileTest, ALineOfAnotherDialectIsNamed) {
  const std::string conweave = "1\n0 1 3 1000 2.000000000\n", hpcc = "1\n0 1 3 100 1000 2.0\n",
                    ns3 = "1\n0 1 3 10 2.0 9.5\n";
  using enum TrafficDialect;
  EXPECT_EQ(complaint(conweave, kConweave), "none");
  EXPECT_EQ(complaint(hpcc, kHpcc), "none");
  EXPECT_EQ(complaint(ns3, kNs3Rdma), "none");
  EXPECT_EQ(complaint(conweave, kHpcc),
            "f.txt:2: this is a line of the dialect \"conweave\" (src dst priority_group bytes start_s): say "
            "dialect = \"conweave\" instead of \"hpcc\"");
  EXPECT_NE(complaint(hpcc, kConweave).find("f.txt:2: this is a line of the dialect \"hpcc\""),
            std::string::npos);
  EXPECT_NE(complaint(ns3, kHpcc).find("f.txt:2: this is a line of the dialect \"ns3-rdma\""),
            std::string::npos);
  EXPECT_NE(complaint(hpcc, kNs3Rdma).find("f.txt:2: this is a line of the dialect \"hpcc\""),
            std::string::npos);
  // Whole seconds look alike; the samples are told apart all the same.
  EXPECT_NE(complaint(read_text(kSamples + "hpcc_flow.txt"), kNs3Rdma).find("the dialect \"hpcc\""),
            std::string::npos);
  EXPECT_NE(complaint(read_text(kSamples + "ns3rdma_flow.txt"), kHpcc).find("the dialect \"ns3-rdma\""),
            std::string::npos);
  EXPECT_NE(complaint(read_text(kSamples + "ns3rdma_topology.txt"), kHpcc)
                .find("f.txt:1: the first line of a traffic file is the number of flows"),
            std::string::npos);
}

TEST(TrafficFileTest, ImpossibleFlowsAreRefusedWithTheirLine) {
  const auto wrong = [](const std::string& line, const std::string& more = "") {
    const std::filesystem::path file = std::filesystem::temp_directory_path() / "rocelab_traffic_test.txt";
    std::FILE* out = std::fopen(file.c_str(), "w");
    std::fputs(("2\n0 1 3 1000 2.0\n" + line + "\n").c_str(), out);
    std::fclose(out);
    std::string message = "none";
    try {
      scenario_of("kind = \"star\"\nhosts = 4\n",
                  "file = \"" + file.string() + "\"\ndialect = \"conweave\"\n" + more);
    } catch (const ScenarioError& error) {
      message = error.what();
      message = message.substr(message.find("rocelab_traffic_test.txt"));
    }
    std::filesystem::remove(file);
    return message;
  };
  EXPECT_EQ(wrong("1 0 3 1000 2.0"), "none");
  EXPECT_EQ(wrong("1 1 3 1000 2.0"), "rocelab_traffic_test.txt:3: the flow goes to its own source");
  EXPECT_EQ(wrong("1 4 3 1000 2.0"),
            "rocelab_traffic_test.txt:3: node 4 is no host of this topology, whose hosts are 0..3");
  EXPECT_EQ(wrong("1 2 3 0 2.0"), "rocelab_traffic_test.txt:3: a flow needs at least one byte, not 0");
  EXPECT_EQ(wrong("1 2 3 2000000000000 2.0"),
            "rocelab_traffic_test.txt:3: a flow of 2000000000000 bytes is more than 1000GB");
  EXPECT_EQ(wrong("1 2 1 1000 2.0"), "none") << "a class of the default map";
  const std::string narrow = "[classes]\nothers = \"unknown\"\ndscp = { 26 = 3, 48 = 6 }\n";
  EXPECT_EQ(wrong("1 2 1 1000 2.0", narrow),
            "rocelab_traffic_test.txt:3: priority group 1 is a class that no DSCP reaches: give it one in "
            "classes.dscp, or all flows a class of the workload");
  EXPECT_EQ(wrong("1 2 1 1000 2.0", "class = 3\n" + narrow), "none");
  EXPECT_EQ(
      wrong("1 2 3 1000 1.5"),
      "rocelab_traffic_test.txt:3: the flow starts before the epoch of 2s: set epoch to an earlier time");
  EXPECT_EQ(wrong("1 2 3 1000 1.5", "epoch = \"1s\"\n"), "none");
  EXPECT_EQ(wrong("1 2 3 1000"),
            "rocelab_traffic_test.txt:3: a flow has the columns src dst priority_group bytes start_s");
  EXPECT_EQ(wrong(""), "rocelab_traffic_test.txt:3: the first line promises 2 flows, but there are 1");
}

TEST(TrafficFileTest, APriorityGroupIsAClass) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "rocelab_priority_test.txt";
  std::ofstream(file) << "2\n0 1 3 1000 2.0\n1 2 5 1000 2.0\n";
  const auto plan = [&](const std::string& more) {
    return plan_of("kind = \"star\"\nhosts = 4\n",
                   "file = \"" + file.string() + "\"\ndialect = \"conweave\"\n" + more);
  };
  const RunPlan by_file = plan("");
  EXPECT_EQ(by_file.flows[0].dscp, std::nullopt) << "class 3 is that of programs that set none";
  EXPECT_EQ(by_file.flows[1].dscp, 40);
  EXPECT_EQ(traffic_file(by_file, TrafficDialect::kConweave, {}),
            "2\n0 1 3 1000 2.000000000\n1 2 5 1000 2.000000000\n");
  const RunPlan by_workload = plan("dscp = 34\n");
  EXPECT_EQ(by_workload.flows[0].dscp, 34);
  EXPECT_EQ(by_workload.flows[1].dscp, 34);
  std::filesystem::remove(file);
}

TEST(TrafficFileTest, WhatItCannotSayIsNamed) {
  const auto omissions = [](const std::string& workload) {
    const Scenario s = parse_scenario(
        "transport = \"irn\"\n[topology]\nkind = \"star\"\nhosts = 3\n[[workload]]\n" + workload, "t.toml");
    return traffic_file_omissions(make_plan(s, s.settings.at(0), 1));
  };
  using Texts = std::vector<std::string>;
  const std::string incast = "kind = \"incast\"\nreceiver = \"h3\"\nsize = \"1MB\"\n";
  EXPECT_EQ(omissions(incast), Texts{});
  EXPECT_EQ(omissions(incast + "stop = \"1ms\"\n"), Texts{"that 2 flows have a stop"});
  EXPECT_EQ(omissions(incast + "service = \"uc\"\n"), Texts{"that 2 flows are of service UC or UD"});
  EXPECT_EQ(omissions("kind = \"stream\"\nreceivers = [\"h3\"]\nrate = \"1Gb/s\"\nmessage_size = \"8KB\"\n"
                      "stop = \"1ms\"\n"),
            Texts{"that 2 flows are streams (they send all their bytes at once there)"});
}

}  // namespace
}  // namespace rocelab
