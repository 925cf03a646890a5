// NicPort: order of events at one instant, serialisation, the stop at completions. One Nic; the test is its
// link peer.
#include "irn_provider/nic/nic_port.h"

#include <gtest/gtest.h>

#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kMtu = 1024;
constexpr Bytes kFirst = 1098_B, kMiddle = 1082_B;  // frames of a WRITE: headers 74 and 58, payload 1024

struct Left {
  Time at, due;
  std::uint32_t psn;
};

class NicPortTest : public testing::Test {
 protected:
  NicPortTest() { pair_.connect(0); }

  auto out() {
    return [this](PacketRef packet, Time at, Time due) {
      left_.push_back({at, due, packet->roce.psn.value()});
    };
  }
  NicPort& port() { return pair_.a.port; }
  void deliver_ack(std::uint32_t psn, Time due) {
    PacketRef ack = pair_.a.pool.make();
    ack->kind = PacketKind::kAck, ack->frame_length = 62;
    ack->roce.opcode = 0x11, ack->roce.syndrome = 0x1f, ack->roce.dest = pair_.a.qp, ack->roce.psn = Psn(psn);
    port().deliver(std::move(ack), due);
  }
  Duration wire(Bytes frame) const { return wire_time(frame, pair_.config.link_rate); }

  NicPair pair_;
  std::vector<Left> left_;
};

TEST_F(NicPortTest, FramesLeaveBackToBackAndAreDueOneDelayAfterTheirLastBit) {
  pair_.post(pair_.wqe(WrOpcode::kWrite, 0, 0, 3 * kMtu));
  EXPECT_EQ(port().run_until(Time::zero() + 100_us, out()), StopReason::kLimit);
  ASSERT_EQ(left_.size(), 3u);
  EXPECT_EQ(left_[0].at, Time::zero());
  EXPECT_EQ(left_[1].at, Time::zero() + wire(kFirst));
  EXPECT_EQ(left_[2].at, Time::zero() + wire(kFirst) + wire(kMiddle));
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(left_[i].due, left_[i].at + wire(i == 0 ? kFirst : kMiddle) + 2_us);
}

TEST_F(NicPortTest, TheLimitIsExclusive) {
  pair_.post(pair_.wqe(WrOpcode::kWrite, 0, 0, 3 * kMtu));
  const Time second = Time::zero() + wire(kFirst);
  port().run_until(second, out());
  EXPECT_EQ(left_.size(), 1u);
  EXPECT_EQ(port().next_event(), second);
  port().run_until(second + 1_ps, out());
  EXPECT_EQ(left_.size(), 2u);
}

TEST_F(NicPortTest, StopsAtACompletionBeforeDeparturesOfThatInstant) {
  pair_.post(pair_.wqe(WrOpcode::kWrite, 0, 0, kMtu, 1));
  pair_.post(pair_.wqe(WrOpcode::kWrite, 0, 0, 2 * kMtu, 2));
  // The ACK of the first WRITE arrives exactly when its third packet may leave.
  const Time third = Time::zero() + wire(kFirst) + wire(kFirst);
  deliver_ack(0, third);
  EXPECT_EQ(port().run_until(Time::zero() + 1_ms, out()), StopReason::kCompletion);
  EXPECT_EQ(port().now(), third);
  EXPECT_EQ(left_.size(), 2u);
  pair_.a.nic.post_send(pair_.a.qp, pair_.wqe(WrOpcode::kWrite, 0, 0, kMtu, 3),
                        third);  // what the program does about it
  EXPECT_EQ(port().next_event(), third);
  EXPECT_EQ(port().run_until(Time::zero() + 1_ms, out()), StopReason::kLimit);
  ASSERT_EQ(left_.size(), 4u);
  EXPECT_EQ(left_[2].at, third);
}

TEST_F(NicPortTest, NothingLeavesBeforeItWasPosted) {
  const Time t = Time::zero() + 7_us;
  EXPECT_EQ(port().run_to_posts(t, out()), StopReason::kLimit);
  pair_.a.nic.post_send(pair_.a.qp, pair_.wqe(WrOpcode::kWrite, 0, 0, 1), t);
  port().run_until(Time::zero() + 1_ms, out());
  ASSERT_EQ(left_.size(), 1u);
  EXPECT_EQ(left_[0].at, t);
}

TEST_F(NicPortTest, RunToPostsTakesArrivalsOfTheInstantButNoDeparture) {
  pair_.post(pair_.wqe(WrOpcode::kWrite, 0, 0, kMtu, 1));
  pair_.post(pair_.wqe(WrOpcode::kWrite, 0, 0, kMtu, 2));
  const Time second = Time::zero() + wire(kFirst);
  deliver_ack(0, second);
  EXPECT_EQ(port().run_to_posts(second, out()), StopReason::kCompletion);
  EXPECT_EQ(left_.size(), 1u);
  EXPECT_EQ(pair_.a.nic.cq_depth(pair_.a.cq), 1u);
}

TEST_F(NicPortTest, AnArrivalComesBeforeATimerOfTheSameInstant) {
  pair_.post(pair_.wqe(WrOpcode::kWrite, 0, 0, 1));
  port().run_until(Time::zero() + 1_us, out());
  const Time deadline = pair_.a.nic.next_timeout();
  deliver_ack(0, deadline);
  port().run_until(deadline + 1_ps, out());
  port().run_until(deadline + 1_ms, out());
  EXPECT_EQ(left_.size(), 1u);
  EXPECT_EQ(pair_.a.nic.counters().local_ack_timeout_err, 0u);
}

TEST_F(NicPortTest, IdleIsNever) {
  EXPECT_TRUE(port().next_event().is_never());
  EXPECT_EQ(port().run_until(Time::zero() + 1_s, out()), StopReason::kLimit);
}

}  // namespace
}  // namespace rocelab
