#include "verbs_app/flows/flow_list.h"

#include <gtest/gtest.h>

#include <sstream>

namespace rocelab::app {
namespace {

std::vector<Flow> flows(const std::string& text) {
  std::istringstream in(text);
  return read_flows(in, "flows.txt");
}

std::string error_of(const std::string& text) {
  try {
    flows(text);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(FlowListTest, ReadsEveryColumnAndSortsById) {
  const auto list = flows(
      "# comment\n"
      "7 h2 h9 send 1000 300 1234.567 2 victim  # trailing\n"
      "\n"
      "1 h1 h9 write 8000000 1048576 0 1\n");
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].id, 1u);
  EXPECT_EQ(list[0].op, Op::kWrite);
  EXPECT_EQ(list[0].label, "");
  const Flow& f = list[1];
  EXPECT_EQ(f.id, 7u);
  EXPECT_EQ(f.src, "h2");
  EXPECT_EQ(f.dst, "h9");
  EXPECT_EQ(f.op, Op::kSend);
  EXPECT_EQ(f.messages(), 4u);
  EXPECT_EQ(f.qps, 2u);
  EXPECT_EQ(f.label, "victim");
}

TEST(FlowListTest, KeepsPicosecondsAndRoundsUpToWhatAProgramCanSleep) {
  const Flow f = flows("0 a b write 1 1 1234.567 1\n")[0];
  EXPECT_EQ(f.start_ps, 1'234'567);
  EXPECT_EQ(f.start_ns(), 1'235);
  EXPECT_EQ(flows("0 a b write 1 1 5.5 1\n")[0].start_ps, 5'500);
  EXPECT_EQ(flows("0 a b write 1 1 5 1\n")[0].start_ns(), 5);
}

TEST(FlowListTest, HasNoMoreLanesThanMessages) {
  EXPECT_EQ(flows("0 a b write 1000 1000 0 8\n")[0].lanes(), 1u);
  EXPECT_EQ(flows("0 a b write 3001 1000 0 8\n")[0].lanes(), 4u);
  EXPECT_EQ(flows("0 a b write 9000 1000 0 8\n")[0].lanes(), 8u);
}

TEST(FlowListTest, NamesFileLineAndFaultOfEveryBadEntry) {
  EXPECT_EQ(error_of("0 a b write 1 1 0 1\n0 a c write 1 1 0 1\n"), "flows.txt:2: flow id 0 is used twice");
  EXPECT_EQ(error_of("0 a a write 1 1 0 1\n"), "flows.txt:1: src and dst are the same host");
  EXPECT_EQ(error_of("0 a b copy 1 1 0 1\n"), "flows.txt:1: op must be send, write or read, not 'copy'");
  EXPECT_EQ(error_of("0 a b write 1 1 0.1234 1\n"),
            "flows.txt:1: start_ns has one to three digits after the point, not '0.1234'");
  EXPECT_EQ(
      error_of("\n0 a b write 1\n"),
      "flows.txt:2: a flow is: id src dst op size message_size start_ns qps [label [after] [KEY=VALUE ..]]");
  for (const char* bad : {"-1 a b write 1 1 0 1", "0 a b write 0 1 0 1", "0 a b write 1 0 0 1",
                          "0 a b write 1 1 0 0", "0 a b write 1KB 1 0 1", "0 a b write 1 1 -5 1",
                          "0 a b write 1 1 5. 1", "0 a b write 1 1 1e3 1", "4294967296 a b write 1 1 0 1"})
    EXPECT_EQ(error_of(std::string(bad) + "\n").find("flows.txt:1: "), 0u) << bad;
  EXPECT_EQ(error_of("# nothing\n"), "flows.txt: no flows");
}

TEST(FlowListTest, AFlowMayWaitForOthersThatItsRequesterSeesEnd) {
  const std::string two = "0 a b write 1 1 0 1 x\n1 c a read 1 1 0 1 x\n";
  const auto list = flows(two + "2 a c send 1 1 0 1 x 2/0,1\n");
  EXPECT_EQ(list[2].after, (std::vector<After>{{0, 0}, {1, 0}}));
  EXPECT_EQ(list[2].after_count, 2u);
  EXPECT_TRUE(list[0].after.empty());
  EXPECT_EQ(error_of(two + "2 b c send 1 1 0 1 x 1/0\n"), "accepted") << "b is the sink";
  EXPECT_EQ(error_of(two + "2 c b send 1 1 0 1 x 1/0\n"),
            "flows.txt: flow 2 waits for flow 0, of whose end 'c' does not learn");
  EXPECT_EQ(error_of(two + "2 c b send 1 1 0 1 x 1/1\n"),
            "flows.txt: flow 2 waits for flow 1, of whose end 'c' does not learn");
  EXPECT_EQ(error_of(two + "2 a b send 1 1 0 1 x 1/5\n"),
            "flows.txt: flow 2 waits for flow 5, which is none");
  EXPECT_EQ(error_of("0 a b write 1 1 0 1 x 1/0\n").substr(0, 38), "flows.txt: flow 0 waits for flow 0, of");
  const Flow delayed = flows(two + "2 a b send 1 1 7 1 x 2/0+30,1\n")[2];
  EXPECT_EQ(delayed.start_ns(), 7) << "not before";
  EXPECT_EQ(delayed.after, (std::vector<After>{{0, 30}, {1, 0}}));
  for (const char* bad : {"3/0,1", "0/1", "1/0+", "1/0+x", "1/+5", "1/", "1", "1/0,,1", "1/x"})
    EXPECT_EQ(error_of(two + "2 a b send 1 1 0 1 x " + bad + "\n").find("flows.txt:3: "), 0u) << bad;
}

TEST(FlowListTest, AFlowMayHaveADscp) {
  const auto list = flows(
      "0 a b write 1 1 0 1 x dscp=34\n"
      "1 a b write 1 1 0 1 x 1/0 dscp=0\n"
      "2 a b write 1 1 0 1 dscp=5\n");
  EXPECT_EQ(list[0].dscp, 34);
  EXPECT_EQ(list[0].traffic_class(), 136);
  EXPECT_EQ(list[1].after_count, 1u);
  EXPECT_EQ(list[1].traffic_class(), 1) << "0 would say that none is set";
  EXPECT_EQ(list[2].label, "dscp=5") << "a label, by its place";
  EXPECT_EQ(list[2].traffic_class(), std::nullopt);
  for (const char* bad : {"dscp=64", "dscp=", "dscp=-1", "dscp=AF31"})
    EXPECT_EQ(error_of(std::string("0 a b write 1 1 0 1 x ") + bad + "\n").find("flows.txt:1: dscp must be"),
              0u)
        << bad;
}

TEST(FlowListTest, FlowsOfAConnectionAgreeOnIt) {
  const auto list = flows("0 a b write 1 1 0 2 x connection=5\n1 a b write 9 1 7 2 x connection=5\n");
  EXPECT_EQ(list[1].connection, 5u);
  EXPECT_EQ(flows("0 a b write 1 1 0 1\n")[0].connection, 0u) << "its own queue pairs";
  for (const char* other :
       {"a c write 9 1 7 2", "b a write 9 1 7 2", "a b send 9 1 7 2", "a b write 9 1 7 1"})
    EXPECT_EQ(
        error_of(std::string("0 a b write 1 1 0 2 x connection=5\n1 ") + other + " x connection=5\n"),
        "flows.txt: flows 0 and 1 are of one connection, and differ in source, destination, op, qps, dscp, "
        "stop or settle");
  EXPECT_EQ(flows("0 a b send 1 1 0 1 x connection=5 stop=9\n1 a b send 1 1 7 1 x connection=5 stop=9\n")[1]
                .stop_ns(),
            9);
  EXPECT_NE(error_of("0 a b send 1 1 0 1 x connection=5 stop=9\n1 a b send 1 1 7 1 x connection=5 stop=8\n")
                .find("qps, dscp, stop or settle"),
            std::string::npos);
  for (const char* bad : {"rate=8", "service=uc"})
    EXPECT_EQ(error_of(std::string("0 a b write 1 1 0 1 x connection=5 ") + bad + "\n"),
              "flows.txt:1: a flow of a connection has service rc and no rate");
}

TEST(FlowListTest, AFlowMaySayWhenItsQueuePairsAreCreated) {
  const auto list = flows("0 a b write 1 1 9.5 1 x connect=7.001\n1 a b send 1 1 0 1 x connect=0 settle=5\n");
  EXPECT_TRUE(list[0].connects_late());
  EXPECT_EQ(list[0].connect_ns(), 8);
  EXPECT_TRUE(list[1].destroys());
  EXPECT_FALSE(list[1].connects_late()) << "before the run";
  EXPECT_FALSE(flows("0 a b write 1 1 9.5 1\n")[0].destroys());
  EXPECT_EQ(error_of("0 a b write 1 1 9.5 1 x connect=9.2\n"),
            "flows.txt:1: connect must be before the start, or 0");
  for (const char* bad : {"read 1 1 9 1 x connect=1", "send 1 1 9 1 x connect=1 stop=100",
                          "send 1 1 9 1 x connect=1 connection=4"})
    EXPECT_EQ(error_of(std::string("0 a b ") + bad + "\n"),
              "flows.txt:1: a flow with connect is of service rc and op send or write, without rate, after, "
              "stop and connection");
}

TEST(FlowListTest, AStreamsMessagesAreDueByItsClock) {
  const Flow steady = flows("0 a b send 640000 64000 10.5 1 x rate=5000000000\n")[0];
  EXPECT_TRUE(steady.is_stream());
  EXPECT_EQ(steady.due_ns(0), 11);
  EXPECT_EQ(steady.due_ns(1), 102'411);  // 102.4 us each
  EXPECT_EQ(steady.due_ns(9), 921'611);
  EXPECT_EQ(flows("0 a b write 6 2 0 1 x rate=3000000000\n")[0].due_ns(1), 6) << "5.33 ns, rounded up";
  // 16 KB each 6.4 us: 15.6 of them in 100 us.
  const Flow bursts = flows("0 a b send 640000 16000 0 1 x rate=20000000000 on=100000 off=300000\n")[0];
  EXPECT_EQ(bursts.due_ns(15), 96'000);
  EXPECT_EQ(bursts.due_ns(16), 402'400) << "the clock shows 102.4 us, of which 100 are in the first burst";
  EXPECT_EQ(bursts.due_ns(32), 804'800);
  EXPECT_EQ(flows("0 a b send 9 3 7 1\n")[0].due_ns(2), 7) << "no stream";
}

TEST(FlowListTest, AStreamSaysWhatItNeeds) {
  const auto stream = [](const std::string& keys) {
    return error_of("0 a b send 64 8 0 1 x " + keys + "\n");
  };
  EXPECT_EQ(stream("rate=8 on=8000000000 off=1.5"), "accepted");
  EXPECT_EQ(stream("on=5 off=5"), "flows.txt:1: on and off need a rate");
  EXPECT_EQ(stream("rate=8 on=5"), "flows.txt:1: on and off are said together, above 0");
  EXPECT_EQ(stream("rate=8 on=5 off=0"), "flows.txt:1: on and off are said together, above 0");
  EXPECT_EQ(stream("rate=8 on=1 off=1000000"), "flows.txt:1: the stream lasts longer than 1,000,000 s");
  EXPECT_EQ(stream("pace=8"),
            "flows.txt:1: a flow has the keys connect, connection, dscp, rate, on, off, service, datagram, "
            "stop and settle, not 'pace'");
  EXPECT_EQ(error_of("0 a b read 64 8 0 1 x rate=8\n"), "flows.txt:1: a stream is of op send or write");
  for (const char* bad : {"rate=0", "rate=5Gb/s", "rate=8 on=1us off=1"})
    EXPECT_EQ(stream(bad).find("flows.txt:1: "), 0u) << bad;
}

TEST(FlowListTest, AFlowMayHaveAStop) {
  const Flow flow = flows("0 a b write 64 8 1 1 x stop=20.5 settle=7\n")[0];
  EXPECT_TRUE(flow.numbered());
  EXPECT_EQ(flow.stop_ns(), 21);
  EXPECT_EQ(flow.settle_ns, 7);
  EXPECT_EQ(flows("0 a b write 64 8 1 1 x\n")[0].stop_ns(), Flow::kNoStop);
  EXPECT_EQ(error_of("0 a b write 64 8 5 1 x stop=5\n"), "flows.txt:1: the stop must be after the start");
  EXPECT_EQ(error_of("0 a b read 64 8 5 1 x stop=9\n"),
            "flows.txt:1: a flow with a stop is of op send or write");
}

TEST(FlowListTest, MessagesOverUdAreCutIntoDatagrams) {
  const Flow flow = flows("0 a b send 5100 2000 0 1 x service=ud datagram=1024\n")[0];
  EXPECT_EQ(flow.messages(), 3u);
  EXPECT_EQ(flow.requests(), 2u + 2 + 2);
  const auto part = [&](std::uint64_t request, std::uint64_t message, std::uint64_t offset,
                        std::uint32_t length) {
    const Part p = flow.part(request);
    EXPECT_EQ(p.message, message) << request;
    EXPECT_EQ(p.offset, offset) << request;
    EXPECT_EQ(p.length, length) << request;
  };
  part(0, 0, 0, 1'024);
  part(1, 0, 1'024, 976);
  part(3, 1, 3'024, 976);
  part(4, 2, 4'000, 1'024);
  part(5, 2, 5'024, 76);
  const Flow uc = flows("0 a b write 5100 2000 0 8 x service=uc\n")[0];
  EXPECT_EQ(uc.requests(), 3u);
  EXPECT_EQ(uc.lanes(), 3u);
  EXPECT_EQ(uc.part(2).length, 1'100u);
}

TEST(FlowListTest, AServiceHasWhatItCanDo) {
  const auto flow = [](const char* op, const std::string& keys) {
    return error_of(std::string("0 a b ") + op + " 64 8 0 1 x " + keys + "\n");
  };
  EXPECT_EQ(flow("write", "service=uc"), "accepted");
  EXPECT_EQ(flow("read", "service=uc"), "flows.txt:1: service uc has no read");
  EXPECT_EQ(flow("write", "service=ud datagram=8"), "flows.txt:1: service ud has op send alone");
  EXPECT_EQ(flow("send", "service=ud"), "flows.txt:1: service ud and a datagram's size are said together");
  EXPECT_EQ(flow("send", "service=uc datagram=8"),
            "flows.txt:1: service ud and a datagram's size are said together");
  EXPECT_EQ(flow("send", "service=xrc"), "flows.txt:1: service must be rc, uc or ud, not 'xrc'");
  EXPECT_EQ(error_of("0 a b send 1 1 0 1 x\n1 a b send 1 1 0 1 x 1/0 service=uc\n"),
            "flows.txt:2: a flow of service uc or ud starts at a time, not after others");
}

TEST(FlowListTest, TakesPartWhoHasAFlowInTheOrderOfTheHostsFile) {
  std::istringstream in("h9 10.0.0.9\nh5 10.0.0.5\nh1 10.0.0.1 # left\n");
  const auto hosts = read_hosts(in, "hosts.txt");
  const auto part = participants(flows("0 h1 h9 write 1 1 0 1\n"), hosts);
  ASSERT_EQ(part.size(), 2u);
  EXPECT_EQ(part[0].name, "h9");
  EXPECT_EQ(part[1].address, "10.0.0.1");
  EXPECT_THROW(participants(flows("0 h1 h7 write 1 1 0 1\n"), hosts), std::runtime_error);
}

}  // namespace
}  // namespace rocelab::app
