#include "ovs_patches/switch_model/capfc.h"

#include <gtest/gtest.h>

#include <deque>
#include <limits>
#include <numeric>

#include "base/rng.h"

namespace rocelab {
namespace {

CapfcParams letter(CapfcPolicy policy) {
  CapfcParams p;
  p.policy = policy;
  p.count = CapfcCount::kFrames;
  p.contributors = CapfcContributors::kArrivals;
  p.fixes = 0;
  return p;
}
CapfcParams with(CapfcParams params, CapfcFix fix) {
  params.fixes |= static_cast<std::uint32_t>(fix);
  return params;
}

// A FIFO of frames of 1,000 B behind a CapfcQueue of egress port 7: XOFF 6 frames, WARN and XON 4.
struct Fifo {
  explicit Fifo(const CapfcParams& params, CapfcThresholds at = {6_KB, 4_KB, 4_KB}) : law(params, at, 8, 7) {}
  void push(std::uint16_t in, Bytes frame = 1_KB) {
    frames.emplace_back(in, frame);
    length += frame;
    law.on_joined(in, frame, length, [&](std::uint16_t port) { stopped.push_back(port); });
  }
  void push_all(const std::vector<std::uint16_t>& from) {
    for (const std::uint16_t in : from) push(in);
  }
  void pop() {
    const auto [in, frame] = frames.front();
    frames.pop_front();
    length -= frame;
    law.on_left(in, frame, length, [&](std::uint16_t port) { released.push_back(port); });
  }
  std::vector<std::uint32_t> counts() const {
    std::vector<std::uint32_t> c;
    for (std::uint16_t port = 0; port < 8; ++port) c.push_back(law.count(port));
    return c;
  }
  CapfcQueue law;
  std::deque<std::pair<std::uint16_t, Bytes>> frames;
  Bytes length;
  std::vector<std::uint16_t> stopped, released;
};
using Ports = std::vector<std::uint16_t>;

// Algorithm 1, line by line.
TEST(CapfcTest, ArrivalsCountFromWarnOnAndAreForgottenAtWarn) {
  Fifo q(letter(CapfcPolicy::kStopMax));
  q.push_all({0, 0, 0});
  EXPECT_EQ(q.counts(), (std::vector<std::uint32_t>{0, 0, 0, 0, 0, 0, 0, 0})) << "below WARN";
  q.push(1);
  q.push(2);
  EXPECT_EQ(q.counts(), (std::vector<std::uint32_t>{0, 1, 1, 0, 0, 0, 0, 0}))
      << "the frame that reaches WARN counts";
  EXPECT_TRUE(q.stopped.empty()) << "below XOFF";
  q.push(2);
  EXPECT_EQ(q.stopped, Ports{2}) << "at XOFF the heaviest";
  q.pop();
  EXPECT_EQ(q.counts()[2], 2u) << "5 KB are above WARN";
  EXPECT_TRUE(q.law.holds(2));
  q.pop();
  EXPECT_EQ(q.counts(), (std::vector<std::uint32_t>{0, 0, 0, 0, 0, 0, 0, 0})) << "at WARN";
  EXPECT_EQ(q.released, Ports{2}) << "at XON";
}

TEST(CapfcTest, ThresholdsHoldToTheByte) {
  for (const int off : {-1, 0, 1}) {
    Fifo q(letter(CapfcPolicy::kStopMax));
    q.push(3, 6_KB + Bytes::from_count(off));
    EXPECT_EQ(q.stopped.size(), off >= 0 ? 1u : 0u) << "XOFF " << off;
    EXPECT_EQ(q.law.count(3), 1u);
  }
  for (const int off : {-1, 0, 1}) {
    Fifo q(letter(CapfcPolicy::kStopMax), {6_KB, 3_KB, 4_KB});
    q.push(3, 4_KB + Bytes::from_count(off));
    EXPECT_EQ(q.law.count(3), off >= 0 ? 1u : 0u) << "WARN " << off;
    Fifo r(letter(CapfcPolicy::kStopMax), {6_KB, 3_KB, 4_KB});
    r.push(2, 4_KB);
    r.push(3, 3_KB + Bytes::from_count(off));
    r.pop();
    EXPECT_EQ(r.released.size(), off <= 0 ? 1u : 0u) << "XON " << off;
  }
}

TEST(CapfcTest, EqualContributorsToTheLetterTheLowestNumberElseInTurn) {
  for (const bool turn : {false, true}) {
    Fifo q(turn ? with(letter(CapfcPolicy::kStopMax), CapfcFix::kTurn) : letter(CapfcPolicy::kStopMax));
    Ports chosen;
    for (int round = 0; round < 3; ++round) {
      q.push_all({6, 6, 6, 5, 3, 1});  // 5, 3 and 1 count one each
      while (!q.frames.empty()) q.pop();
      chosen.push_back(q.stopped.back());
    }
    // Frame 4 to 6 of each round count: from 5, 3 and 1.
    EXPECT_EQ(chosen, turn ? (Ports{1, 3, 5}) : (Ports{1, 1, 1}));
  }
}

TEST(CapfcTest, ToTheLetterAPortThatIsPausedAlreadyIsChosenAgain) {
  for (const bool skip : {false, true}) {
    Fifo q(skip ? with(letter(CapfcPolicy::kStopMax), CapfcFix::kSkip) : letter(CapfcPolicy::kStopMax));
    q.push_all({0, 0, 0, 0, 0, 0, 1, 2});
    EXPECT_EQ(q.stopped, skip ? (Ports{0, 1, 2}) : Ports{0});
  }
}

TEST(CapfcTest, TheEgressPortsOwnLinkIsNotChosen) {
  for (const bool hairpin : {false, true}) {
    CapfcParams params = letter(CapfcPolicy::kStopMax);
    if (hairpin) params = with(params, CapfcFix::kHairpin);
    Fifo q(params);
    q.push_all({7, 7, 7, 7, 7, 1});
    EXPECT_EQ(q.stopped, hairpin ? Ports{1} : Ports{7});
  }
}

// Port 0 sends while the queue stays above WARN, and stops; then port 1 fills the queue.
TEST(CapfcTest, ToTheLetterAPortThatHasStoppedSendingStaysTheHeaviest) {
  for (const bool occupancy : {false, true}) {
    CapfcParams params = letter(CapfcPolicy::kStopMax);
    if (occupancy) params.contributors = CapfcContributors::kOccupancy;
    Fifo q(params, {10_KB, 4_KB, 4_KB});
    for (int i = 0; i < 6; ++i) q.push(0);
    for (int i = 0; i < 100; ++i) {
      q.push(0);
      q.pop();
    }
    for (int i = 0; i < 6; ++i) {  // its frames leave, port 1's come
      q.push(1);
      q.pop();
    }
    EXPECT_EQ(q.frames.front().first, 1) << "none of port 0 waits";
    EXPECT_EQ(q.law.count(0), occupancy ? 0u : 103u);
    EXPECT_TRUE(q.stopped.empty());
    for (int i = 0; i < 4; ++i) q.push(1);
    EXPECT_EQ(q.stopped, Ports{static_cast<std::uint16_t>(occupancy ? 1 : 0)});
  }
}

// Algorithm 2.
TEST(CapfcTest, StopCalibrateChoosesTheSmallestSetThatContributesCut) {
  const auto chosen = [](double cut) {
    CapfcParams params = letter(CapfcPolicy::kStopCalibrate);
    params.cut = cut;
    Fifo q(params, {11_KB, 1_KB, 1_KB});
    q.push_all({3, 3, 3, 3, 3, 1, 1, 1, 5, 6});  // 5, 3, 1, 1 of 10
    EXPECT_TRUE(q.stopped.empty());
    q.law.on_joined(3, 0_B, 11_KB,
                    [&](std::uint16_t port) { q.stopped.push_back(port); });  // 6, 3, 1, 1 of 11
    return q.stopped;
  };
  EXPECT_EQ(chosen(0.5), Ports{3});
  EXPECT_EQ(chosen(9.0 / 11), (Ports{3, 1})) << "the sum reaches CUT";
  EXPECT_EQ(chosen(0.82), (Ports{3, 1, 5}));
  EXPECT_EQ(chosen(1), (Ports{3, 1, 5, 6})) << "all with a contribution";
}

TEST(CapfcTest, CountsSaturate) {
  CapfcParams params = letter(CapfcPolicy::kStopMax);
  params.count = CapfcCount::kBytes;
  Fifo q(params, {Bytes::from_count(std::int64_t{1} << 40), 0_B, 0_B});
  constexpr auto kMost = std::numeric_limits<std::uint32_t>::max();
  for (int i = 0; i < 65'537; ++i) q.push(0, 65535_B);
  EXPECT_EQ(q.law.count(0), kMost) << "65,537 x 65,535 = 2^32 - 1";
  q.push(0, 1_B);
  EXPECT_EQ(q.law.count(0), kMost);
}

TEST(CapfcTest, WhatWaitsIsWhatCountsAndAnEmptyQueueHoldsNobody) {
  std::size_t stopped = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Rng rng(seed);
    CapfcParams params;
    params.policy = seed % 2 == 0 ? CapfcPolicy::kStopMax : CapfcPolicy::kStopCalibrate;
    params.count = seed % 3 == 0 ? CapfcCount::kFrames : CapfcCount::kBytes;
    params.cut = seed % 5 == 0 ? 1 : 0.8;
    params.fixes = static_cast<std::uint32_t>(rng.below(8));
    Fifo q(params);
    for (int step = 0; step < 2000; ++step) {
      if (q.frames.empty() || rng.below(100) < 50)
        q.push(static_cast<std::uint16_t>(rng.below(8)),
               Bytes::from_count(static_cast<std::int64_t>(rng.below(1400)) + 60));
      else
        q.pop();
      std::vector<std::uint32_t> waits(8);
      for (const auto& [in, frame] : q.frames)
        waits[in] += params.count == CapfcCount::kFrames ? 1u : static_cast<std::uint32_t>(frame.count());
      ASSERT_EQ(q.counts(), waits);
      for (std::uint16_t port = 0; port < 8; ++port) {
        const bool never = q.length == 0_B || (port == 7 && params.has(CapfcFix::kHairpin));
        ASSERT_FALSE(never && q.law.holds(port));
      }
      ASSERT_EQ(q.stopped.size() - q.released.size(), [&] {
        std::size_t held = 0;
        for (std::uint16_t port = 0; port < 8; ++port) held += q.law.holds(port);
        return held;
      }());
    }
    stopped += q.stopped.size();
  }
  EXPECT_GT(stopped, 500u);
}

}  // namespace
}  // namespace rocelab
