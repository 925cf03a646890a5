#include "irn_provider/live/port_turn.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace rocelab {
namespace {

constexpr Time at(Duration d) { return Time::zero() + d; }
using What = Turn::What;

TEST(PortTurnTest, NothingBeforeTheLimitIsNoTurn) {
  const std::array<VfIntent, 2> vfs{VfIntent{at(5_us), Time::never()}, VfIntent{Time::never(), at(1_us)}};
  EXPECT_EQ(next_turn(vfs, at(5_us), 0, at(5_us)), Turn{});
}

TEST(PortTurnTest, EarliestInputGoesFirstAndTiesByVf) {
  const std::array<VfIntent, 3> vfs{VfIntent{at(3_us), Time::never()}, VfIntent{at(2_us), Time::never()},
                                    VfIntent{at(2_us), Time::never()}};
  EXPECT_EQ(next_turn(vfs, at(9_us), 0, at(8_us)), (Turn{What::kInputs, 1, at(2_us)}));
}

TEST(PortTurnTest, InputsComeBeforeDeparturesOfTheSameInstant) {
  const std::array<VfIntent, 2> vfs{VfIntent{Time::never(), at(1_us)}, VfIntent{at(1_us), Time::never()}};
  EXPECT_EQ(next_turn(vfs, at(0_us), 0, at(8_us)), (Turn{What::kInputs, 1, at(1_us)}));
  EXPECT_EQ(next_turn(std::span(vfs).first(1), at(0_us), 0, at(8_us)), (Turn{What::kDeparture, 0, at(1_us)}));
}

TEST(PortTurnTest, DeparturesWaitForThePort) {
  const std::array<VfIntent, 2> vfs{VfIntent{Time::never(), at(1_us)}, VfIntent{at(3_us), Time::never()}};
  EXPECT_EQ(next_turn(vfs, at(4_us), 0, at(8_us)), (Turn{What::kInputs, 1, at(3_us)}));
  EXPECT_EQ(next_turn(std::span(vfs).first(1), at(4_us), 0, at(8_us)), (Turn{What::kDeparture, 0, at(4_us)}));
}

TEST(PortTurnTest, BacklogSharesThePortFrameByFrame) {
  const std::vector<VfIntent> vfs(3, VfIntent{Time::never(), at(0_us)});
  std::uint32_t last = 0;
  Time free = at(1_us);
  for (const std::uint32_t expected : {1u, 2u, 0u, 1u, 2u, 0u}) {
    const Turn turn = next_turn(vfs, free, last, at(8_us));
    ASSERT_EQ(turn, (Turn{What::kDeparture, expected, free}));
    last = turn.vf;
    free = free + 200_ns;
  }
}

TEST(PortTurnTest, WhoWantsThePortLaterDoesNotJumpTheQueue) {
  // VF 1 is next in turn but has a frame only after the port is free for VF 0's.
  const std::array<VfIntent, 2> vfs{VfIntent{Time::never(), at(1_us)}, VfIntent{Time::never(), at(3_us)}};
  EXPECT_EQ(next_turn(vfs, at(2_us), 0, at(8_us)), (Turn{What::kDeparture, 0, at(2_us)}));
}

}  // namespace
}  // namespace rocelab
