#include "irn_provider/transport/two_loops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "base/rng.h"
#include "irn_provider/transport/irn_receiver.h"

namespace rocelab {
namespace {

IrnConfig tcp_config() {
  IrnConfig config;
  config.tcp = true;
  config.bdp_cap = 0;
  config.bitmap_packets = 4'096;
  config.rto_high = config.rto_low = 1_ms;
  return config;
}
Rc3Config levels(std::vector<std::uint32_t> packets = {40, 400, 4000}) {
  Rc3Config config;
  config.levels = static_cast<std::uint8_t>(packets.size() + 1);
  std::ranges::copy(packets, config.packets.begin());
  return config;
}

// A path on which a packet takes a slot of a microsecond, and whose round trip has `rtt` slots. The receiver
// is IRN's; it answers each packet at the packet's level.
class Path {
 public:
  Path(const Rc3Config& config, int rtt, UnwrappedPsn first, bool blocks = true)
      : loops_(tcp_config(), config, true, first),
        receiver_(tcp_config(), first, blocks),
        rtt_(rtt),
        first_(first) {
    loops_.take_window(window_);
  }

  struct Sent {
    UnwrappedPsn psn;
    unsigned level;
    bool operator==(const Sent&) const = default;
  };
  struct Answer {
    int at;
    UnwrappedPsn expected, psn;
    unsigned level;
    IrnBlocks blocks;
  };

  // `lost`: of the n-th departure. Until all below `end` is acknowledged.
  template <class Lost>
  std::vector<Sent> run(UnwrappedPsn end, Lost&& lost, int most = 200'000) {
    std::vector<Sent> sent;
    for (int slot = 0; loops_.una() < end; ++slot) {
      if (slot > most) {
        ADD_FAILURE() << "it does not come to an end: " << loops_.una() << " of " << end;
        break;
      }
      const Time now = Time::zero() + 1_us * slot;
      while (!answers_.empty() && answers_.front().at <= slot) hear(now);
      if (loops_.next_timeout() <= now && loops_.on_timeout(now) != TimeoutKind::kNone)
        believed_lost_until_ = slot + rtt_;
      std::optional<Sent> packet;
      if (loops_.has_more(end)) {
        const NextPacket next = loops_.pull(end, now);
        packet = Sent{next.psn, 0};
        // RFC 6675, 5: limited transmit, and the first packet that is resent, need no room in the window;
        // after a timeout packets count as lost that are on their way (RFC 5681, 3.1).
        const auto own_out = std::ranges::count_if(
            answers_, [&](const Answer& x) { return x.level == 0 && x.psn >= loops_.acknowledged(); });
        if (!next.retransmission && slot > believed_lost_until_) {
          EXPECT_LT(own_out, window_ + 3) << "the primary is not TCP";
        }
      } else if (loops_.has_low()) {
        const LowPacket low = loops_.pull_low();
        EXPECT_TRUE(sent_low_.insert(low.psn).second) << low.psn << " leaves twice";
        EXPECT_GE(low.psn, loops_.next());
        packet = Sent{low.psn, low.level};
      }
      if (!packet) continue;
      sent.push_back(*packet);
      if (lost(*packet)) continue;
      if (receiver_.classify(packet->psn) != Arrival::kDuplicate &&
          receiver_.classify(packet->psn) != Arrival::kBeyondBitmap)
        receiver_.accept(packet->psn, false);
      if (lost(Sent{-1, packet->level})) continue;  // the answer
      const IrnBlocks blocks = receiver_.has_blocks() ? receiver_.blocks(packet->psn) : IrnBlocks{};
      answers_.push_back({slot + rtt_, receiver_.expected(), packet->psn, packet->level, blocks});
    }
    return sent;
  }
  TwoLoops& loops() { return loops_; }
  std::int64_t window() const { return window_; }

 private:
  void hear(Time now) {
    const Answer a = answers_.front();
    answers_.pop_front();
    const std::optional<UnwrappedPsn> sack = a.psn > a.expected ? std::optional(a.psn) : std::nullopt;
    const std::int64_t covered = loops_.covered(), window = window_;
    const std::uint32_t recoveries = loops_.recoveries();
    const UnwrappedPsn una = loops_.una();
    if (a.level > 0) {
      loops_.on_low_answer(std::max(a.expected, una), a.psn > std::max(a.expected, una) ? sack : std::nullopt,
                           now);
      EXPECT_EQ(loops_.covered(), covered);
      EXPECT_EQ(loops_.recoveries(), recoveries);
    } else {
      if (sack)
        loops_.on_nack(a.expected, sack, now);
      else
        loops_.on_ack(a.expected, now);
      if (loops_.recoveries() != recoveries)
        window_ = std::max<std::int64_t>(2, window / 2);
      else
        window_ += loops_.covered() - covered;  // slow start
      loops_.take_window(window_);
    }
    for (const IrnBlocks::Block& block : a.blocks.blocks)
      loops_.note_arrived(unwrap(block.first, first_), unwrap(block.end, first_), now);
    EXPECT_GE(loops_.una(), una);
    EXPECT_LE(loops_.una(), receiver_.expected()) << "nothing is complete that has not arrived";
  }

  TwoLoops loops_;
  IrnReceiver receiver_;
  int rtt_;
  UnwrappedPsn first_;
  std::int64_t window_ = 4;
  int believed_lost_until_ = -1;
  std::deque<Answer> answers_;
  std::set<UnwrappedPsn> sent_low_;
};

constexpr UnwrappedPsn kStart = 0xFFFFF0;
const auto kNothing = [](const Path::Sent&) { return false; };

// Mittal, 2.1.2: 66 packets, 50 of which fill a round trip; the copies of 20 and 21 at a lower priority are
// lost. In continuous time the primary also repeats 12 to 19, whose answers are on their way behind those
// that let it go on.
TEST(TwoLoopsTest, TheChaptersExample) {
  Path path(levels(), 50, 0);
  path.loops().add(0, 66);
  const auto sent =
      path.run(66, [](const Path::Sent& s) { return s.level > 0 && (s.psn == 20 || s.psn == 21); });
  std::vector<UnwrappedPsn> expected;
  const auto up = [&](int from, int to) {
    for (int i = from; i <= to; ++i) expected.push_back(i);
  };
  const auto down = [&](int from, int to) {
    for (int i = from; i >= to; --i) expected.push_back(i);
  };
  up(0, 3), down(65, 20);   // the first round trip
  up(4, 11), down(19, 12);  // the second
  up(12, 21);               // the third
  std::vector<UnwrappedPsn> psns;
  for (const Path::Sent& s : sent) psns.push_back(s.psn);
  EXPECT_EQ(psns, expected);
}

// Alone on a path a message takes what the line takes. Once a round trip later TCP may go on, it repeats as
// many packets as it may, since the answers to their first copies are behind its own (at most eight).
TEST(TwoLoopsTest, AMessageOfARoundTripLeavesInOnePiece) {
  Path path(levels(), 100, kStart);
  path.loops().add(kStart, kStart + 90);
  const auto sent = path.run(kStart + 90, kNothing);
  ASSERT_EQ(sent.size(), 98u);
  std::set<UnwrappedPsn> first;
  for (int i = 0; i < 90; ++i) first.insert(sent[i].psn);
  EXPECT_EQ(first.size(), 90u);
  EXPECT_EQ(path.window(), 8)
      << "the four packets of the primary, and nothing for what the other loop brought";
}

TEST(TwoLoopsTest, AThousandLowAnswersBeginNoRecoveryAndOpenNoWindow) {
  TwoLoops loops(tcp_config(), levels({1'000}), true, 0);
  loops.take_window(4);
  loops.add(0, 1'100);
  for (int i = 0; i < 4; ++i) loops.pull(1'100, Time::zero());
  EXPECT_FALSE(loops.has_more(1'100));
  for (int i = 0; i < 1'000; ++i) loops.pull_low();
  for (UnwrappedPsn psn = 1'099; psn >= 100; --psn) loops.on_low_answer(0, psn, Time::zero() + 1_us);
  EXPECT_FALSE(loops.has_more(1'100));
  EXPECT_EQ(loops.recoveries(), 0u);
  EXPECT_EQ(loops.covered(), 0);
  EXPECT_EQ(loops.una(), 0) << "nothing completes because it is selectively acknowledged";
  // The bump (2.3.1): what the primary's own answer finds in place behind its packets.
  for (UnwrappedPsn psn = 99; psn >= 4; --psn) loops.on_low_answer(0, psn, Time::zero() + 2_us);
  loops.on_ack(1'100, Time::zero() + 3_us);
  EXPECT_EQ(loops.una(), 1'100);
  EXPECT_EQ(loops.next(), 1'100);
  EXPECT_EQ(loops.covered(), 4);
  EXPECT_TRUE(loops.next_timeout().is_never());
}

// Without the other loop the primary is TCP to the packet.
TEST(TwoLoopsTest, WithoutMessagesOfTheLoopThePrimaryIsTcp) {
  Rng rng(11);
  for (int run = 0; run < 50; ++run) {
    TwoLoops loops(tcp_config(), levels(), true, 0);
    TcpSender tcp(tcp_config(), true, 0);
    IrnReceiver receiver(tcp_config(), 0);
    std::deque<std::pair<UnwrappedPsn, UnwrappedPsn>> answers;
    std::int64_t window = 4;
    for (int step = 0; step < 2'000; ++step) {
      const Time now = Time::zero() + 10_us * step;
      loops.take_window(window), tcp.take_window(window);
      ASSERT_EQ(loops.next_timeout(), tcp.next_timeout());
      if (tcp.next_timeout() <= now) {
        ASSERT_EQ(loops.on_timeout(now), tcp.on_timeout(now));
      }
      ASSERT_EQ(loops.has_more(1'000'000), tcp.has_more(1'000'000));
      if (tcp.has_more(1'000'000) && rng.below(3) > 0) {
        const NextPacket a = loops.pull(1'000'000, now), b = tcp.pull(1'000'000, now);
        ASSERT_EQ(a.psn, b.psn);
        if (rng.below(10) == 0) continue;
        const Arrival arrival = receiver.classify(a.psn);
        if (arrival == Arrival::kInOrder || arrival == Arrival::kOutOfOrder) receiver.accept(a.psn, false);
        answers.emplace_back(receiver.expected(), a.psn);
      } else if (!answers.empty()) {
        const auto [expected, psn] = answers.front();
        answers.pop_front();
        const std::int64_t before = tcp.una();
        if (psn > expected) {
          loops.on_nack(expected, psn, now), tcp.on_nack(expected, psn, now);
        } else {
          loops.on_ack(expected, now), tcp.on_ack(expected, now);
        }
        ASSERT_EQ(loops.una(), tcp.una());
        ASSERT_EQ(loops.next(), tcp.next());
        window = std::min<std::int64_t>(window + tcp.una() - before, 64);
      }
    }
  }
}

// Whatever is lost, of packets and answers of any level: all arrives, each packet leaves once at a lower
// level, and nothing completes early (Path checks).
TEST(TwoLoopsTest, WhateverIsLostAllArrives) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    const auto length = static_cast<UnwrappedPsn>(1 + rng.below(400));
    const std::uint64_t low_loss = rng.below(60), loss = rng.below(6);
    Path path(levels({3, 30, 300}), static_cast<int>(5 + rng.below(100)), kStart, seed % 2 == 0);
    UnwrappedPsn end = kStart;
    while (end < kStart + length) {
      const UnwrappedPsn part =
          std::min(kStart + length, end + 1 + static_cast<UnwrappedPsn>(rng.below(200)));
      if (rng.below(4) > 0) path.loops().add(end, part);
      end = part;
    }
    path.run(end, [&](const Path::Sent& s) { return rng.below(100) < (s.level > 0 ? low_loss : loss); });
    EXPECT_EQ(path.loops().una(), end) << seed;
    if (HasFailure()) return;
  }
}

// 2.3.1, SACK blocks: of a run of answers that are lost the next one says it all. Where answers name one
// packet each, TCP sends again what they were to say.
TEST(TwoLoopsTest, BlocksSayWhatLostAnswersWereToSay) {
  const auto repeated = [](bool blocks) {
    Path path(levels(), 100, kStart, blocks);
    path.loops().add(kStart, kStart + 1'000);
    int answers = 0;
    const auto sent = path.run(kStart + 1'000, [&](const Path::Sent& s) {
      return s.level > 0 && s.psn < 0 && ++answers % 10 != 0;  // nine of ten answers of lower levels
    });
    return sent.size() - 1'000;
  };
  EXPECT_LE(repeated(true), 16u) << "what TCP may send before the answers to its first packets are in";
  EXPECT_GT(repeated(false), 80u);
}

// They are no news of the primary's own packets: no recovery, no window, and what is out stays out.
TEST(TwoLoopsTest, BlocksBeginNoRecoveryAndOpenNoWindow) {
  TwoLoops loops(tcp_config(), levels(), true, 0);
  loops.take_window(8);
  loops.add(0, 100);
  for (int i = 0; i < 8; ++i) loops.pull(100, Time::zero());
  while (loops.has_low()) loops.pull_low();
  loops.note_arrived(4, 100, Time::zero() + 1_us);
  EXPECT_EQ(loops.una(), 0);
  EXPECT_EQ(loops.recoveries(), 0u);
  EXPECT_EQ(loops.own_out(), 8);
  EXPECT_FALSE(loops.has_more(100));
  loops.on_ack(4, Time::zero() + 2_us);
  EXPECT_EQ(loops.covered(), 4);
  EXPECT_FALSE(loops.has_more(100)) << "all else is known to have arrived";
  loops.note_arrived(4, 5, Time::zero() + 3_us);
  EXPECT_EQ(loops.una(), 4) << "the packet that is expected has not arrived, whatever a block says";
}

// A NAK that begins anew: the primary sends all of it, and the loop nothing that it was given.
TEST(TwoLoopsTest, AfterGoingBackThePrimarySendsWhatIsLeft) {
  TwoLoops loops(tcp_config(), levels(), true, 0);
  loops.take_window(100);
  loops.add(0, 50);
  loops.pull(1, Time::zero());
  loops.pull_low();
  loops.on_low_answer(0, 49, Time::zero());
  loops.on_go_back(0, Time::zero() + 1_us);
  EXPECT_FALSE(loops.has_low());
  for (UnwrappedPsn psn = 0; psn < 50; ++psn) EXPECT_EQ(loops.pull(50, Time::zero() + 2_us).psn, psn);
  EXPECT_FALSE(loops.has_more(50));
  EXPECT_EQ(loops.sent_end(), 50);
}

// RFC 2018, 8: the receiver may take back what it has acknowledged selectively (of a shared receive queue
// that has run empty), and the NAK that says so may be lost.
TEST(TwoLoopsTest, APacketThatIsTakenBackIsSentAgain) {
  TwoLoops loops(tcp_config(), levels(), true, 0);
  loops.take_window(2);
  loops.add(0, 3);
  const Time begin = Time::zero() + 1_us;
  loops.pull(3, begin), loops.pull(3, begin);
  loops.on_nack(0, 1, begin);
  loops.on_low_answer(0, 1, begin);  // a copy of 1
  loops.on_low_answer(0, 2, begin);
  loops.on_ack(1, begin + 10_us);
  ASSERT_EQ(loops.una(), 1);
  for (int i = 0; i < 3 && !loops.has_more(3); ++i) {
    ASSERT_FALSE(loops.next_timeout().is_never());
    loops.on_timeout(loops.next_timeout());
  }
  ASSERT_TRUE(loops.has_more(3));
  EXPECT_EQ(loops.pull(3, begin + 10_ms).psn, 1);
}

TEST(TwoLoopsTest, AfterGoingBackWhatTheLoopBroughtOpensNoWindow) {
  TwoLoops loops(tcp_config(), levels(), true, 0);
  loops.take_window(4);
  loops.add(0, 2'000);
  for (int i = 0; i < 4; ++i) loops.pull(2'000, Time::zero());
  for (UnwrappedPsn psn = 1'999; psn >= 4; --psn) loops.on_low_answer(0, psn, Time::zero());
  loops.on_go_back(0, Time::zero() + 100_us);
  const std::int64_t before = loops.covered();
  loops.take_window(1);
  EXPECT_EQ(loops.pull(2'000, Time::zero() + 100_us).psn, 0);
  loops.on_ack(2'000, Time::zero() + 200_us);
  EXPECT_EQ(loops.covered() - before, 4);
}

// The answer that would have been a sample was lost; what came a timeout later is none.
TEST(TwoLoopsTest, AnAnswerOfALowerLevelIsNoRoundTrip) {
  TwoLoops loops(tcp_config(), levels(), true, 0);
  loops.take_window(1'000);
  loops.add(0, 4);
  for (int i = 0; i < 4; ++i) loops.pull(4, Time::zero());
  loops.on_low_answer(4, std::nullopt, Time::zero() + 20_us);
  EXPECT_EQ(loops.on_timeout(loops.next_timeout()), TimeoutKind::kNone) << "all of it has arrived";
  loops.pull(5, Time::zero() + 2_ms);
  EXPECT_EQ(loops.next_timeout(), Time::zero() + 3_ms) << "rto_high, as at first";
}

}  // namespace
}  // namespace rocelab
