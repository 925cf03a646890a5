// The turns of two processes of a host with two NICs, each with a port of its own.
#include "irn_provider/live/shared_port.h"

#include <gtest/gtest.h>

#include <vector>

#include "lockstep/test_segment.h"

namespace rocelab {
namespace {

constexpr Time kNever = Time::never();
constexpr TcMask kClass3 = 1 << 3;

Time at(std::int64_t us) { return Time::zero() + us * 1_us; }

// Without anything to send.
VfIntent idle(Time input) { return {input, kNever, 0, 0}; }
VfIntent wants(Time input, Time port) { return {input, port, kClass3, kClass3}; }

class SharedPortTest : public ::testing::Test {
 protected:
  SharedPortTest() : segment_(plan()), first_(*segment_, 0), second_(*segment_, 1) {
    segment_->host_ports()[0].members.store(0b11);
    EXPECT_TRUE(first_.begin(at(100)));
    EXPECT_TRUE(second_.begin(at(100)));
  }
  static lockstep::SegmentPlan plan() {
    lockstep::SegmentPlan plan = lockstep::plain_plan(2, 2);
    for (std::uint8_t nic = 0; nic < 2; ++nic)
      plan.world.hosts[nic].nics = 2, plan.world.hosts[nic].nic_number = nic;
    return plan;
  }
  void check_in(const std::vector<VfIntent>& first, const std::vector<VfIntent>& second) {
    first_.check_in(first);
    EXPECT_EQ(first_.my_turn(), Turn{}) << "the other one has not said what it intends";
    second_.check_in(second);
  }

  lockstep::TestSegment segment_;
  SharedPort first_, second_;
};

TEST_F(SharedPortTest, InputsOfAProcessGoAheadOfDeparturesOfAnyNic) {
  check_in({wants(at(7), at(5)), wants(at(7), at(5))}, {idle(at(5)), idle(at(5))});
  EXPECT_EQ(second_.my_turn(), (Turn{Turn::What::kInputs, 1, at(5)}));
  EXPECT_EQ(first_.my_turn(), Turn{});
}

TEST_F(SharedPortTest, AtEqualTimesTheFirstNicSends) {
  check_in({idle(kNever), wants(kNever, at(5))}, {wants(kNever, at(5)), wants(kNever, at(4))});
  EXPECT_EQ(second_.my_turn(), (Turn{Turn::What::kDeparture, 1, at(4), kClass3, 1}));
  // Its frame keeps that NIC's port busy, and no other.
  second_.set_port_free(1, at(6));
  second_.hand_on(std::vector{wants(kNever, at(5)), idle(kNever)}, 1'000_B);
  EXPECT_EQ(second_.my_turn(), (Turn{Turn::What::kDeparture, 1, at(5), kClass3, 0}));
  second_.set_port_free(0, at(7));
  second_.hand_on(std::vector{idle(kNever), idle(kNever)}, 1'000_B);
  EXPECT_EQ(first_.my_turn(), (Turn{Turn::What::kDeparture, 0, at(6), kClass3, 1}));
  first_.hand_on(std::vector{idle(kNever), idle(kNever)}, 1'000_B);
  EXPECT_TRUE(first_.over());
}

TEST_F(SharedPortTest, ProcessesTakeTurnsAtEachNic) {
  const std::vector<VfIntent> both = {wants(kNever, at(1)), wants(kNever, at(1))};
  check_in(both, both);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sent;  // NIC, VF
  for (std::int64_t free = 2; free < 6; ++free)
    for (std::uint32_t nic = 0; nic < 2; ++nic) {
      SharedPort& port = first_.my_turn().what != Turn::What::kNone ? first_ : second_;
      const Turn turn = port.my_turn();
      ASSERT_EQ(turn.what, Turn::What::kDeparture);
      sent.emplace_back(turn.nic, turn.vf);
      port.set_port_free(turn.nic, at(free));
      port.hand_on(both, 1'000_B);
    }
  using Sent = decltype(sent);
  EXPECT_EQ(sent, (Sent{{0, 1}, {1, 1}, {0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 0}, {1, 0}}));
}

TEST_F(SharedPortTest, WhatIsReadyElsewhereIsOfTheSameNic) {
  second_.note_ready(0, 1 << 4);
  second_.note_ready(1, 1 << 5);
  EXPECT_EQ(first_.ready_elsewhere(0), 1 << 4);
  EXPECT_EQ(first_.ready_elsewhere(1), 1 << 5);
  EXPECT_EQ(second_.ready_elsewhere(0), 0);
}

}  // namespace
}  // namespace rocelab
