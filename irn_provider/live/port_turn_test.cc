#include "irn_provider/live/port_turn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace rocelab {
namespace {

constexpr Time at(Duration d) { return Time::zero() + d; }
using What = Turn::What;

constexpr TcMask kThree = 1 << 3, kFour = 1 << 4;
constexpr Bytes kPayload = 1024_B, kFrame = 1082_B;

VfIntent input(Time t) { return {.input = t}; }
VfIntent wants(Time t, TcMask classes = kThree) {
  return {.wants_port = t, .sendable = classes, .ready = classes};
}

class PortTurnTest : public ::testing::Test {
 protected:
  void serve_by(TcMask strict, const ClassScheduler<>::Weights& weights) {
    classes_ = ClassTurns(strict, weights, kPayload);
  }
  Turn next(std::span<const VfIntent> vfs, Time port_free) {
    return next_turn(vfs, port_free, classes_, last_sender_, at(8_us));
  }
  // The VFs that send the next `frames` frames of what all of them have all the time.
  std::vector<std::uint32_t> senders(const std::vector<VfIntent>& vfs, int frames) {
    TcMask ready = 0;
    for (const VfIntent& vf : vfs) ready |= vf.ready;
    std::vector<std::uint32_t> result;
    while (frames-- > 0) {
      const Turn turn = next(vfs, at(1_us));
      EXPECT_EQ(turn.what, What::kDeparture);
      last_sender_[static_cast<std::size_t>(std::countr_zero(turn.of))] = turn.vf;
      classes_.sent(kFrame, ready);
      result.push_back(turn.vf);
    }
    return result;
  }

  ClassTurns classes_{kAllClasses, {}, kPayload};
  std::array<std::uint32_t, kTrafficClasses> last_sender_{};
};

using Vfs = std::vector<std::uint32_t>;

TEST_F(PortTurnTest, NothingBeforeTheLimitIsNoTurn) {
  const std::array vfs{input(at(8_us)), wants(at(1_us))};
  EXPECT_EQ(next(vfs, at(8_us)), Turn{});
}

TEST_F(PortTurnTest, EarliestInputGoesFirstAndTiesByVf) {
  const std::array vfs{input(at(3_us)), input(at(2_us)), input(at(2_us))};
  EXPECT_EQ(next(vfs, at(9_us)), (Turn{What::kInputs, 1, at(2_us)}));
}

TEST_F(PortTurnTest, InputsComeBeforeDeparturesOfTheSameInstant) {
  const std::array vfs{wants(at(1_us)), input(at(1_us))};
  EXPECT_EQ(next(vfs, at(0_us)), (Turn{What::kInputs, 1, at(1_us)}));
  EXPECT_EQ(next(std::span(vfs).first(1), at(0_us)), (Turn{What::kDeparture, 0, at(1_us), kThree}));
}

TEST_F(PortTurnTest, DeparturesWaitForThePort) {
  const std::array vfs{wants(at(1_us)), input(at(3_us))};
  EXPECT_EQ(next(vfs, at(4_us)), (Turn{What::kInputs, 1, at(3_us)}));
  EXPECT_EQ(next(std::span(vfs).first(1), at(4_us)), (Turn{What::kDeparture, 0, at(4_us), kThree}));
}

TEST_F(PortTurnTest, BacklogSharesThePortFrameByFrame) {
  EXPECT_EQ(senders({3, wants(at(0_us))}, 6), (Vfs{1, 2, 0, 1, 2, 0}));
}

TEST_F(PortTurnTest, WhoWantsThePortLaterDoesNotJumpTheQueue) {
  // VF 1 is next in turn and of the higher class, but has a frame only after the port is free for VF 0's.
  const std::array vfs{wants(at(1_us)), wants(at(3_us), kFour)};
  EXPECT_EQ(next(vfs, at(2_us)), (Turn{What::kDeparture, 0, at(2_us), kThree}));
}

TEST_F(PortTurnTest, TheHighestClassGoesFirstWhoeverHasIt) {
  EXPECT_EQ(senders({wants(at(0_us), kThree | kFour), wants(at(0_us)), wants(at(0_us), kFour)}, 4),
            (Vfs{2, 0, 2, 0}));
}

TEST_F(PortTurnTest, WhoSentOfAClassLastIsRememberedByClass) {
  const auto three = wants(at(0_us)), four = wants(at(0_us), kFour);
  EXPECT_EQ(senders({three, three, three}, 1), (Vfs{1}));
  EXPECT_EQ(senders({three, four, three}, 1), (Vfs{1}));
  EXPECT_EQ(senders({three, three, three}, 2), (Vfs{2, 0}));
}

TEST_F(PortTurnTest, APausedClassSendsNothing) {
  serve_by(static_cast<TcMask>(~(kThree | kFour)), {0, 0, 0, 1, 3});
  VfIntent paused = wants(at(0_us), kThree | kFour);
  paused.sendable = kThree;
  EXPECT_EQ(senders({paused, wants(at(0_us))}, 3), (Vfs{1, 0, 1}));
}

TEST_F(PortTurnTest, ClassesOfDifferentVfsShareThePortByTheirWeights) {
  serve_by(static_cast<TcMask>(~(kThree | kFour)), {0, 0, 0, 1, 3});
  const Vfs sent = senders({wants(at(0_us)), wants(at(0_us), kFour)}, 400);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(sent, 1u)), 300, 3);
}

}  // namespace
}  // namespace rocelab
