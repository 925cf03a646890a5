// IrnSender and IrnReceiver together, without packets: one sequence space over a link that keeps order and
// loses at random.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "base/rng.h"
#include "irn_provider/transport/irn_receiver.h"
#include "irn_provider/transport/irn_sender.h"

namespace rocelab {
namespace {

constexpr UnwrappedPsn kStart = 0xFFFFF0;
constexpr Time kT0 = Time::zero();

struct Message {
  Time due;
  UnwrappedPsn psn = 0;       // data: its PSN; answers: the PSN that was received
  UnwrappedPsn expected = 0;  // answers
  bool nack = false, again = false, by_timeout = false;
};

struct LossRun {
  std::int64_t drops = 0, answer_drops = 0, again = 0, again_by_timeout = 0, duplicates = 0,
               max_in_flight = 0, steps = 0;
};

LossRun run_lossy(const IrnConfig& config, double loss, double answer_loss, std::int64_t packets,
                  std::uint64_t seed) {
  Rng rng(seed);
  IrnSender sender(config, true, kStart);
  IrnReceiver receiver(config, kStart);
  std::deque<Message> data, answers;
  LossRun run;
  Time now = kT0, link_free = kT0;
  const Duration slot = 220_ns, delay = 5_us;
  const UnwrappedPsn limit = kStart + packets;
  const auto answer = [&](UnwrappedPsn psn, bool nack) {
    if (rng.bernoulli(answer_loss))
      ++run.answer_drops;
    else
      answers.push_back({now + delay, psn, receiver.expected(), nack});
  };
  while (sender.una() < limit && ++run.steps < 2'000'000) {
    Time next = std::min(data.empty() ? Time::never() : data.front().due,
                         answers.empty() ? Time::never() : answers.front().due);
    next = std::min(next, sender.next_timeout());
    if (sender.has_more(limit)) next = std::min(next, std::max(now, link_free));
    now = std::max(now, next);
    while (!data.empty() && data.front().due <= now) {
      const Message m = data.front();
      data.pop_front();
      const Arrival arrival = receiver.classify(m.psn);
      EXPECT_NE(arrival, Arrival::kBeyondBitmap);
      if (arrival == Arrival::kDuplicate) ++run.duplicates;
      if (arrival == Arrival::kInOrder ||
          (arrival == Arrival::kOutOfOrder && !receiver.discards_out_of_order()))
        receiver.accept(m.psn, true);
      const bool nack = m.psn > receiver.expected();
      if (!nack || !receiver.discards_out_of_order() || receiver.take_nack_due()) answer(m.psn, nack);
    }
    while (!answers.empty() && answers.front().due <= now) {
      const Message m = answers.front();
      answers.pop_front();
      if (m.expected < sender.una()) continue;
      if (m.nack)
        sender.on_nack(m.expected, m.psn, now);
      else
        sender.on_ack(m.expected, now);
    }
    sender.on_timeout(now);
    if (link_free <= now && sender.has_more(limit)) {
      const NextPacket p = sender.pull(limit, now);
      link_free = now + slot;
      run.max_in_flight = std::max(run.max_in_flight, sender.next() - sender.una());
      run.again += p.retransmission;
      run.again_by_timeout += p.by_timeout;
      if (rng.bernoulli(loss))
        ++run.drops;
      else
        data.push_back({link_free + delay, p.psn});
    }
  }
  EXPECT_EQ(sender.una(), limit) << "seed " << seed;
  EXPECT_EQ(receiver.expected(), limit) << "seed " << seed;
  return run;
}

TEST(IrnLossyLinkTest, WithoutLossNothingIsSentTwice) {
  const LossRun run = run_lossy(IrnConfig{}, 0, 0, 5000, 1);
  EXPECT_EQ(run.again, 0);
  EXPECT_EQ(run.duplicates, 0);
}

TEST(IrnLossyLinkTest, RetransmissionsOutsideTimeoutRecoveryNeverExceedDropsOnAnOrderedNetwork) {
  for (const double loss : {0.001, 0.01, 0.1, 0.3}) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      const LossRun run = run_lossy(IrnConfig{}, loss, 0, 2000, seed);
      EXPECT_LE(run.again - run.again_by_timeout, run.drops) << loss << " seed " << seed;
      EXPECT_EQ(run.duplicates, 0) << "no answer is late or lost, so nothing is spurious: " << loss
                                   << " seed " << seed;
      EXPECT_LE(run.max_in_flight, 110) << loss << " seed " << seed;
    }
  }
}

// A NACK names one packet only (4.2.1): when it is lost, the packet that it named looks lost below the next
// SACK.
TEST(IrnLossyLinkTest, EachLostAnswerCostsAtMostOneSpuriousRetransmissionOutsideTimeoutRecovery) {
  for (const double loss : {0.01, 0.1, 0.3}) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      const LossRun run = run_lossy(IrnConfig{}, loss, loss, 2000, seed);
      EXPECT_LE(run.again - run.again_by_timeout, run.drops + run.answer_drops) << loss << " seed " << seed;
      EXPECT_LE(run.max_in_flight, 110) << loss << " seed " << seed;
    }
  }
}

TEST(IrnLossyLinkTest, EveryFactorSwitchDeliversEverythingUnderLoss) {
  for (const IrnConfig& config :
       {IrnConfig{.go_back_n = true}, IrnConfig{.bdp_cap = 0}, IrnConfig{.sack = false},
        IrnConfig{.bdp_cap = 0, .go_back_n = true}, IrnConfig{.nack_threshold = 3}, IrnConfig{.bdp_cap = 1}})
    for (std::uint64_t seed = 1; seed <= 10; ++seed) run_lossy(config, 0.05, 0.05, 1500, seed);
}

TEST(IrnLossyLinkTest, SackResendsLessThanHalfOfWhatGoBackNResends) {
  std::int64_t sack = 0, gbn = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    sack += run_lossy(IrnConfig{}, 0.02, 0, 3000, seed).again;
    gbn += run_lossy(IrnConfig{.go_back_n = true}, 0.02, 0, 3000, seed).again;
  }
  EXPECT_LT(2 * sack, gbn);
}

}  // namespace
}  // namespace rocelab
