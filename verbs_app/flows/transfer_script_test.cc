#include "verbs_app/flows/transfer_script.h"

#include <gtest/gtest.h>

#include "verbs_app/flows/alarms.h"

namespace rocelab::app {
namespace {

// 10 messages of 1000 bytes, one every microsecond.
Flow stream() {
  Flow f;
  f.id = 7;
  f.src = "a";
  f.dst = "b";
  f.op = Op::kSend;
  f.size = 10'000;
  f.message_size = 1'000;
  f.start_ps = 500'000;
  f.rate_bps = 8'000'000'000;
  return f;
}

TEST(TransferScriptTest, PostsAStreamsMessagesWhenTheyAreDue) {
  TransferScript source(stream(), true, 0, {});
  EXPECT_EQ(source.next_alarm_ns(), 500);
  EXPECT_FALSE(source.next(0, 499));
  const auto first = source.next(0, 500);
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->immediate);
  EXPECT_EQ(first->imm, 0u);
  EXPECT_FALSE(source.next(0, 1'499));
  EXPECT_EQ(source.next_alarm_ns(), 1'500);
  for (std::uint32_t k = 1; k < 4; ++k) EXPECT_EQ(source.next(0, 3'600)->imm, k) << "those that were missed";
  EXPECT_EQ(source.next_alarm_ns(), 4'500);
}

TEST(TransferScriptTest, WaitsForRoomWithoutAClock) {
  TransferScript source(stream(), true, 0, {.depth = 4});
  std::uint64_t last = 0;
  for (int k = 0; k < 4; ++k) last = source.next(0, 100'000)->wr_id;
  EXPECT_FALSE(source.next(0, 100'000));
  EXPECT_EQ(source.next_alarm_ns(), kNever) << "a completion tells";
  EXPECT_FALSE(source.on_completion(last));
  EXPECT_EQ(source.next(0, 100'000)->imm, 4u);
}

TEST(TransferScriptTest, TheLanesOfAStreamTakeItsMessagesInTurn) {
  Flow flow = stream();
  flow.qps = 3;
  TransferScript source(flow, true, 0, {});
  EXPECT_EQ(source.next(0, 500)->offset, 0u);
  EXPECT_FALSE(source.next(0, 1'500)) << "message 3 is due at 3.5 us";
  EXPECT_EQ(source.next_alarm_ns(), 1'500);
  EXPECT_EQ(source.next(1, 1'500)->offset, 1'000u);
  EXPECT_EQ(source.next(0, 3'500)->imm, 3u);
}

TEST(TransferScriptTest, TheSinkCountsMessagesAndTakesTheirLatency) {
  TransferScript sink(stream(), false, 0, {});
  EXPECT_TRUE(sink.on_arrival(0, 1'000, 1'000));
  EXPECT_TRUE(sink.on_arrival(2, 1'000, 3'200));
  EXPECT_FALSE(sink.on_arrival(10, 1'000, 20'000)) << "it has ten messages";
  EXPECT_FALSE(sink.on_arrival(std::nullopt, 1'000, 20'000));
  EXPECT_EQ(sink.arrivals().messages, 2u);
  EXPECT_EQ(sink.arrivals().bytes, 2'000u);
  EXPECT_EQ(sink.arrivals().latency_sum_ns, 500 + 700);
  EXPECT_EQ(sink.arrivals().latency_max_ns, 700);
}

TEST(TransferScriptTest, AFlowWithAStopIsOverThenAndALittleLaterAtItsSink) {
  Flow flow = stream();
  flow.stop_ps = 2'200'500;
  flow.settle_ns = 1'000;
  TransferScript source(flow, true, 0, {}), sink(flow, false, 0, {});
  EXPECT_EQ(sink.next_alarm_ns(), 3'201);
  source.next(0, 500);
  EXPECT_EQ(source.next_alarm_ns(), 1'500);
  source.next(0, 1'500);
  EXPECT_EQ(source.next_alarm_ns(), 2'201);
  EXPECT_FALSE(source.time_is_up(2'200));
  EXPECT_TRUE(source.time_is_up(2'201));
  EXPECT_FALSE(sink.time_is_up(3'200));
  EXPECT_TRUE(sink.time_is_up(3'201));
  flow.rate_bps = 0;
  EXPECT_EQ(TransferScript(flow, true, 0, {}).next_alarm_ns(), 2'201) << "no stream";
}

TEST(TransferScriptTest, OverUcAndUdTheSinkWaitsAWhileAfterTheLastArrival) {
  Flow flow = stream();
  flow.service = Service::kUc;
  flow.settle_ns = 5'000;
  TransferScript sink(flow, false, 0, {});
  EXPECT_EQ(sink.next_alarm_ns(), 9'500 + 5'000) << "the last message is due at 9.5 us";
  EXPECT_TRUE(sink.on_arrival(3, 1'000, 4'000));
  EXPECT_EQ(sink.next_alarm_ns(), 14'500);
  EXPECT_TRUE(sink.on_arrival(7, 1'000, 12'000));
  EXPECT_EQ(sink.next_alarm_ns(), 17'000);
  flow.stop_ps = 10'000'000;
  EXPECT_EQ(TransferScript(flow, false, 0, {}).next_alarm_ns(), 14'500);
  flow.rate_bps = 0;
  EXPECT_EQ(TransferScript(flow, false, 0, {}).next_alarm_ns(), 5'500) << "all are due at the start";
}

TEST(TransferScriptTest, ReceivesOfDatagramsAreARingOfSlots) {
  Flow flow = stream();
  flow.service = Service::kUd;
  flow.datagram = 600;  // two for each message
  TransferScript sink(flow, false, 0, {.recv_depth = 3}), source(flow, true, 0, {});
  EXPECT_EQ(sink.buffer_bytes(), 3u * 640);
  for (const std::uint64_t offset : {0u, 640u, 1'280u}) {
    const auto receive = sink.next(0, 0);
    ASSERT_TRUE(receive);
    EXPECT_EQ(receive->offset, offset);
    EXPECT_EQ(receive->length, 640u);
  }
  EXPECT_FALSE(sink.next(0, 0));
  EXPECT_FALSE(sink.on_completion(0));
  EXPECT_EQ(sink.next(0, 0)->offset, 0u);
  EXPECT_EQ(source.next(0, 500)->length, 600u);
  EXPECT_EQ(source.next(0, 500)->length, 400u) << "the rest of the message";
  EXPECT_FALSE(source.next(0, 500));
  EXPECT_TRUE(sink.on_arrival(1, 440, 900));
  EXPECT_FALSE(sink.on_arrival(1, 400, 900)) << "its GRH is counted";
  EXPECT_EQ(sink.arrivals().bytes, 400u);
}

TEST(AlarmsTest, TheEarliestComesFirstAndOnce) {
  Alarms alarms;
  EXPECT_EQ(alarms.next_ns(), kNever);
  alarms.set(5, 30);
  alarms.set(3, 30);
  alarms.set(4, 10);
  EXPECT_EQ(alarms.take(9), std::nullopt);
  EXPECT_EQ(alarms.take(40), 4u);
  alarms.set(5, 50);
  EXPECT_EQ(alarms.take(40), 3u);
  EXPECT_EQ(alarms.take(40), std::nullopt);
  EXPECT_EQ(alarms.next_ns(), 50);
  alarms.set(5, kNever);
  EXPECT_EQ(alarms.next_ns(), kNever);
}

}  // namespace
}  // namespace rocelab::app
