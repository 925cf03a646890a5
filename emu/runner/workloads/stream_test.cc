#include "emu/runner/workloads/stream.h"

#include <gtest/gtest.h>

#include "emu/runner/complaint_fixture.h"
#include "emu/runner/flow_file.h"
#include "emu/runner/plan.h"
#include "emu/runner/workload.h"

namespace rocelab {
namespace {

constexpr char kTopology[] =
    "transport = \"roce\"\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"40Gb/s\"\n";

std::string stream_text(const std::string& keys) {
  return std::string(kTopology) + "[[workload]]\nkind = \"stream\"\njitter = \"0us\"\n" + keys;
}

std::vector<Flow> flows_of(const std::string& keys) {
  return draw_flows(parse_scenario(stream_text(keys), "t.toml").settings.at(0), Rng(1));
}

TEST(StreamReaderTest, EverySenderHasAStreamToEveryReceiver) {
  const auto flows = flows_of(
      "senders = [\"h1\", \"h2\"]\nreceivers = [\"h2\", \"h4\"]\nrate = \"5Gbps\"\nmessage_size = "
      "\"64KB\"\nstop = \"10ms\"\n");
  ASSERT_EQ(flows.size(), 3u);
  for (const Flow& flow : flows) {
    EXPECT_EQ(flow.size, 98 * 64_KB) << "one every 102.4 us, the first at once";
    EXPECT_EQ(flow.message_size, 64_KB);
    EXPECT_TRUE(flow.is_stream());
  }
  EXPECT_EQ(flows_of("rate = \"1Gbps\"\nmessage_size = \"1KB\"\nstop = \"10us\"\n").size(), 12u)
      << "all to all others";
}

TEST(StreamReaderTest, CountsTheMessagesThatAreDueBeforeTheStop) {
  StreamSettings stream;
  stream.rate = 8_Gbps;  // 1000 bytes a microsecond
  EXPECT_EQ(stream_messages(stream, 1_KB, 10_us), 10);
  EXPECT_EQ(stream_messages(stream, 1_KB, 10_us + 1_ps), 11);
  EXPECT_EQ(stream_messages(stream, 1_KB, 1_ps), 1);
  EXPECT_EQ(stream_messages(stream, 1_KB, 0_ps), 0);
  stream.on = 3_us, stream.off = 7_us;  // due at 0, 1, 2, 10, 11, 12, 20 us
  EXPECT_EQ(stream_messages(stream, 1_KB, 10_us), 3);
  EXPECT_EQ(stream_messages(stream, 1_KB, 10_us + 1_ps), 4);
  EXPECT_EQ(stream_messages(stream, 1_KB, 20_us), 6);
  stream.on = 2500_ns;  // at 0, 1, 2, then its clock shows 3 us half a microsecond into the next burst
  stream.off = 7500_ns;
  EXPECT_EQ(stream_messages(stream, 1_KB, 10_us + 500_ns), 3);
  EXPECT_EQ(stream_messages(stream, 1_KB, 10_us + 501_ns), 4);
}

TEST(StreamReaderTest, TheFlowListSaysTheClock) {
  const Scenario s =
      parse_scenario(stream_text("senders = [\"h1\"]\nreceivers = [\"h2\"]\nrate = \"8Gb/s\"\nmessage_size = "
                                 "\"1KB\"\nstop = \"12us\"\non = \"3us\"\noff = \"7us\"\nop = \"send\"\n"),
                     "t.toml");
  EXPECT_TRUE(flow_lines(make_plan(s, s.settings[0], 1))
                  .ends_with("1 h1 h2 send 5000 1000 0.000 1 stream rate=8000000000 on=3000.000 off=7000.000 "
                             "stop=12000.000 settle=10000000\n"));
}

TEST(StreamReaderTest, NamesWhatIsWrong) {
  const auto complaint = [](const std::string& keys) {
    return complaint_of([&] { parse_scenario(stream_text(keys), "t.toml"); });
  };
  const std::string rest = "message_size = \"1KB\"\nstop = \"1ms\"\n", rate = "rate = \"1Gb/s\"\n";
  EXPECT_EQ(complaint(rest), "t.toml:6:1: [workload.stream] needs the key \"rate\"");
  EXPECT_EQ(complaint(rate + "message_size = \"1KB\"\n"),
            "t.toml:6:1: [workload.stream] needs the key \"stop\"");
  EXPECT_EQ(complaint(rate + "stop = \"1ms\"\n"),
            "t.toml:6:1: [workload.stream] needs the key \"message_size\"");
  EXPECT_EQ(complaint(rate + rest + "start = \"1ms\"\n"),
            "t.toml:11:8: workload.stream.stop must be after the start, 1ms");
  EXPECT_EQ(complaint(rate + rest + "on = \"1us\"\n"),
            "t.toml:6:1: has on without off: bursts need both, for example on = \"100us\", off = \"300us\"");
  EXPECT_EQ(complaint(rate + rest + "on = \"1us\"\noff = \"0us\"\n"),
            "t.toml:13:7: workload.stream.off must be more than 0, or \"never\"");
  EXPECT_EQ(complaint(rate + rest + "op = \"read\"\n"),
            "t.toml:11:8: workload.stream.stop needs op = \"send\" or \"write\": a READ's source does not "
            "know when it is over");
  EXPECT_EQ(
      complaint(rate + rest + "size = \"1MB\"\n"),
      "t.toml:12:1: unknown key \"workload.stream.size\"; known here: kind, name, start, dscp, class, "
      "service, rate, message_size, stop, senders, nic, op, receivers, min_switches, jitter, on, off, qps, "
      "queue_pairs, "
      "settle, during, "
      "overload");
  EXPECT_EQ(complaint("rate = \"5Gb\"\n" + rest),
            "t.toml:9:8: workload.stream.rate = \"5Gb\" has the unknown unit \"Gb\"; known: b/s, kb/s, Mb/s, "
            "Gb/s, Tb/s, bps, kbps, Mbps, Gbps, Tbps, bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s");
  EXPECT_EQ(
      complaint("rate = \"90Gb/s\"\nmessage_size = \"1B\"\nstop = \"1ms\"\n"),
      "t.toml:11:8: workload.stream.stop makes a stream of 11250000 messages, more than 10000000 or 1000GB");
  EXPECT_EQ(complaint("rate = \"20Gb/s\"\n" + rest),
            "t.toml:9:8: workload.stream.rate brings the link from \"h1\" to \"s1\" to 165.3 % of its rate "
            "(66.12 of 40 Gb/s): lower the load, or say overload = true");
  EXPECT_EQ(complaint(rate + rest + "senders = [\"h1\"]\n"),
            "t.toml:7:8: workload.stream.kind needs at least two hosts");
}

std::string list_text(const std::string& keys, const std::string& of_flow = "") {
  return std::string(kTopology) + "[[workload]]\nkind = \"list\"\nname = \"w\"\n" + keys +
         "[[workload.flow]]\nsrc = \"h1\"\ndst = \"h2\"\nsize = \"1MB\"\n" + of_flow;
}

TEST(StreamReaderTest, AFlowsStopStandsInPlaceOfItsWorkloads) {
  const Scenario s = parse_scenario(
      list_text("stop = \"2ms\"\njitter = \"0us\"\n",
                "[[workload.flow]]\nsrc = \"h1\"\ndst = \"h3\"\nsize = \"1MB\"\nstop = \"1ms\"\n"
                "[[workload.flow]]\nsrc = \"h1\"\ndst = \"h4\"\nsize = \"1MB\"\nstart = \"2ms\"\n"),
      "t.toml");
  const RunPlan plan = make_plan(s, s.settings[0], 1);
  ASSERT_EQ(plan.flows.size(), 2u) << "the third would begin when it is over";
  EXPECT_EQ(plan.flows[0].stop, Time::zero() + 2_ms);
  EXPECT_EQ(plan.flows[1].stop, Time::zero() + 1_ms);
  EXPECT_TRUE(flow_lines(plan).ends_with(" 1 w stop=1000000.000 settle=10000000\n"));
}

TEST(StreamReaderTest, TheFlowListSaysTheService) {
  const auto lines = [](const std::string& keys) {
    const Scenario s = parse_scenario(list_text(keys + "jitter = \"0us\"\n"), "t.toml");
    return flow_lines(make_plan(s, s.settings[0], 1));
  };
  EXPECT_TRUE(lines("service = \"uc\"\nsettle = \"1us\"\n")
                  .ends_with(" write 1000000 1000000 0.000 1 w service=uc settle=1000\n"));
  EXPECT_TRUE(lines("service = \"ud\"\nmessage_size = \"8KB\"\n")
                  .ends_with(" send 1000000 8000 0.000 1 w service=ud datagram=1024 settle=10000000\n"));
  EXPECT_TRUE(lines("service = \"rc\"\n").ends_with(" 1 w\n"));
}

TEST(StreamReaderTest, NamesWhatIsWrongWithAStopOrAService) {
  const auto complaint = [](const std::string& keys, const std::string& of_flow = "") {
    return complaint_of([&] { parse_scenario(list_text(keys, of_flow), "t.toml"); });
  };
  EXPECT_EQ(complaint("stop = \"1ms\"\nstart = \"2ms\"\n"),
            "t.toml:9:8: workload.w.stop must be after the start, 2ms");
  EXPECT_EQ(complaint("stop = \"1ms\"\n", "op = \"read\"\n"),
            "t.toml:9:8: workload.w.stop needs op = \"send\" or \"write\": a READ's source does not know "
            "when it is over");
  EXPECT_EQ(complaint("", "stop = \"1ms\"\nstart = \"1ms\"\n"),
            "t.toml:13:8: workload.w.flow.0.stop must be after the flow's start");
  EXPECT_EQ(complaint("", "stop = \"1ms\"\nop = \"read\"\n"),
            "t.toml:13:8: workload.w.flow.0.stop needs op = \"send\" or \"write\"");
  EXPECT_EQ(
      complaint("settle = \"1ms\"\n"),
      "t.toml:9:10: workload.w.settle needs a stop, service \"uc\" or \"ud\", or queue_pairs = \"per-flow\": "
      "receivers wait so long for the rest");
  EXPECT_EQ(complaint("service = \"udp\"\n"),
            "t.toml:9:11: workload.w.service = \"udp\" is none of rc, uc, ud; did you mean \"ud\"?");
  EXPECT_EQ(complaint("service = \"ud\"\n", "op = \"write\"\n"),
            "t.toml:14:6: workload.w.flow.0.op must be \"send\" over service \"ud\": it has nothing else");
  EXPECT_EQ(
      complaint("service = \"uc\"\n", "op = \"read\"\n"),
      "t.toml:14:6: workload.w.flow.0.op must be \"send\" or \"write\" over service \"uc\": it has no READ");
  EXPECT_EQ(complaint("service = \"ud\"\nqps = 2\n"),
            "t.toml:10:7: workload.w.qps must be 1 over service \"ud\": datagrams of a flow go over one "
            "queue pair");
}

TEST(StreamReaderTest, NamesWhatIsWrongWithQueuePairs) {
  const auto complaint = [](const std::string& keys, const std::string& of_flow = "") {
    return complaint_of([&] { parse_scenario(list_text(keys, of_flow), "t.toml"); });
  };
  const std::string shared = "queue_pairs = \"persistent\"\n", made = "queue_pairs = \"per-flow\"\n";
  EXPECT_EQ(complaint("queue_pairs = \"shared\"\n"),
            "t.toml:9:15: workload.w.queue_pairs = \"shared\" is none of ahead, per-flow, persistent");
  EXPECT_EQ(complaint(shared + "service = \"uc\"\n"),
            "t.toml:9:15: workload.w.queue_pairs = \"persistent\" needs service \"rc\"");
  EXPECT_EQ(complaint(shared, "stop = \"1ms\"\n"),
            "t.toml:9:15: workload.w.queue_pairs = \"persistent\" needs flows without a stop of their own: "
            "those that share queue pairs stop together, at the stop of the workload");
  EXPECT_EQ(complaint(shared + "stop = \"1ms\"\n"), "none");
  EXPECT_EQ(complaint(made + "stop = \"1ms\"\n"),
            "t.toml:9:15: workload.w.queue_pairs = \"per-flow\" needs flows without a stop");
  EXPECT_EQ(complaint(made, "stop = \"1ms\"\n"),
            "t.toml:9:15: workload.w.queue_pairs = \"per-flow\" needs flows without a stop");
  EXPECT_EQ(
      complaint(made, "op = \"read\"\n"),
      "t.toml:9:15: workload.w.queue_pairs = \"per-flow\" needs op = \"send\" or \"write\": a READ's source "
      "does not know when it is over");
  EXPECT_EQ(complaint(shared, "op = \"read\"\n"), "none");
  EXPECT_EQ(complaint(made + "settle = \"1ms\"\n"), "none");
  EXPECT_EQ(complaint(made + "service = \"ud\"\n"), "none");
}

TEST(StreamReaderTest, TheFlowListSaysHowQueuePairsLive) {
  const auto lines = [](const std::string& keys) {
    const Scenario s = parse_scenario(list_text(keys + "jitter = \"0us\"\nstart = \"1ms\"\n"), "t.toml");
    return flow_lines(make_plan(s, s.settings[0], 1));
  };
  EXPECT_TRUE(lines("").ends_with(" 1000000.000 1 w\n"));
  EXPECT_TRUE(lines("queue_pairs = \"persistent\"\n").ends_with(" 1 w connection=1\n"));
  const std::string made = lines("queue_pairs = \"per-flow\"\nsettle = \"1us\"\n");
  const std::size_t at = made.find(" connect=99");
  EXPECT_NE(at, std::string::npos) << "some microseconds ahead: " << made;
  EXPECT_TRUE(made.ends_with(" settle=1000\n"));
}

}  // namespace
}  // namespace rocelab
