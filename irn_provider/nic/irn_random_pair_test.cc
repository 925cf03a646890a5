// Random programs over random networks: whatever the loss, the order, the PSNs and the switches, every
// message arrives once, whole and in order.
#include <gtest/gtest.h>

#include "irn_provider/nic/irn_pair.h"

namespace rocelab {
namespace {

struct RandomRun {
  double data_loss, answer_loss, reorder;
};

// Messages of all kinds and sizes, posted in bursts at random times, WRITEs the other way at the same time.
void drive(IrnPair& pair, Rng& rng, int messages) {
  for (int i = 0; i < messages; ++i) {
    const auto opcode = kAllOperations[rng.below(5)];
    const auto packets = static_cast<std::uint32_t>(rng.bernoulli(0.6) ? rng.below(3) : rng.below(40));
    pair.post_message(opcode, packets * kIrnMtu + static_cast<std::uint32_t>(rng.below(kIrnMtu)));
    if (rng.bernoulli(0.3)) pair.post_back(static_cast<std::uint32_t>(rng.below(8 * kIrnMtu)));
    if (rng.bernoulli(0.3))
      pair.run_until(pair.now() + Duration::from_ps(static_cast<std::int64_t>(rng.below(30'000'000))));
  }
  pair.run();
}

void shape_network(IrnPair& pair, Rng& rng, const RandomRun& network) {
  pair.lose = [&rng, network](const Departure& d) {
    return rng.bernoulli(d.packet.kind == PacketKind::kAck ? network.answer_loss : network.data_loss);
  };
  pair.overtaken_by = [&rng, network](const Departure&) {
    return rng.bernoulli(network.reorder) ? 1 + static_cast<int>(rng.below(5)) : 0;
  };
}

TEST(IrnRandomTest, EverythingArrivesOnceWholeAndInOrder) {
  const RandomRun networks[] = {{0, 0, 0},   {0.01, 0, 0},      {0.1, 0, 0},  {0.05, 0.05, 0},
                                {0, 0, 0.1}, {0.05, 0.05, 0.1}, {0.3, 0.3, 0}};
  for (const RandomRun& network : networks) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      SCOPED_TRACE(testing::Message() << "loss " << network.data_loss << '/' << network.answer_loss
                                      << " reorder " << network.reorder << " seed " << seed);
      Rng rng(seed);
      IrnPair pair(irn_config(IrnConfig{.bdp_cap = static_cast<std::uint32_t>(1 + rng.below(128))}));
      shape_network(pair, rng, network);
      drive(pair, rng, 30);
      pair.expect_all_delivered();
      if (network.answer_loss == 0 && network.reorder == 0) pair.expect_nothing_superfluous();
      if (HasFailure()) return;
    }
  }
}

TEST(IrnRandomTest, EveryPsnWrapsWithoutNotice) {
  for (std::uint32_t first = 0xffffc0; first < 0x1000010; first += 5) {
    Rng rng(first);
    IrnPair pair(irn_config(), first & Psn::kMask);
    shape_network(pair, rng, {0.05, 0, 0});
    drive(pair, rng, 12);
    SCOPED_TRACE(first);
    pair.expect_all_delivered();
    pair.expect_nothing_superfluous();
    if (HasFailure()) return;
  }
}

TEST(IrnRandomTest, OneSlotInTheReadWqeBufferIsEnough) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Rng rng(seed);
    IrnPair pair;
    pair.attr.max_rd_atomic = pair.attr.max_dest_rd_atomic = 1;
    pair.bring_down_and_up();
    shape_network(pair, rng, {0.1, 0.1, 0.05});
    for (int i = 0; i < 20; ++i)
      pair.post_message(WrOpcode::kRead, static_cast<std::uint32_t>(rng.below(5 * kIrnMtu)));
    pair.run();
    SCOPED_TRACE(seed);
    pair.expect_all_delivered();
    if (HasFailure()) return;
  }
}

// Receive WQEs come late: RNR NAKs, probes and credits in the middle of loss and reordering never wedge a QP.
TEST(IrnRandomTest, LateReceiveWqesDelayButLoseNothing) {
  std::uint64_t rnr_naks = 0, probe_drops = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    IrnPair pair(irn_config(IrnConfig{.bdp_cap = static_cast<std::uint32_t>(1 + rng.below(60)),
                                      .go_back_n = rng.bernoulli(0.2)}));
    pair.attr.min_rnr_timer = 1;  // 10 us
    pair.bring_down_and_up();
    const double loss = rng.bernoulli(0.5) ? 0.05 : 0;
    shape_network(pair, rng, {loss, loss, rng.bernoulli(0.5) ? 0.05 : 0});
    for (int i = 0; i < 30; ++i) {
      pair.post_message(kAllOperations[rng.below(5)], static_cast<std::uint32_t>(rng.below(10 * kIrnMtu)),
                        true);
      pair.run_until(pair.now() + Duration::from_ps(static_cast<std::int64_t>(rng.below(20'000'000))));
      if (rng.bernoulli(0.3)) pair.post_receives();
    }
    pair.run_until(pair.now() + 200_us);
    pair.post_receives();
    pair.run();
    pair.expect_all_delivered();
    rnr_naks += pair.b.nic.counters().out_of_buffer;
    probe_drops += pair.b.nic.counters().probe_drops;
    if (HasFailure()) return;
  }
  EXPECT_GT(rnr_naks, 40u);
  EXPECT_GT(probe_drops, 40u);
}

// Two runs of one seed are the same run, packet by packet.
TEST(IrnRandomTest, EqualSeedsGiveEqualDepartures) {
  std::vector<std::pair<std::string, std::vector<Cqe>>> runs;
  for (int i = 0; i < 2; ++i) {
    Rng rng(99);
    IrnPair pair;
    shape_network(pair, rng, {0.05, 0.05, 0.05});
    drive(pair, rng, 25);
    std::string text;
    for (const Departure& d : pair.log)
      text += std::to_string(d.side) + '@' + to_string(d.at) + ':' +
              std::to_string(d.packet.roce.psn.value()) + ' ';
    runs.emplace_back(text, pair.a.cqes);
  }
  EXPECT_EQ(runs[0].first, runs[1].first);
  EXPECT_EQ(runs[0].second.size(), runs[1].second.size());
}

}  // namespace
}  // namespace rocelab
