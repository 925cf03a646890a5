// RC3's lower levels beside all else that leaves a NIC: they change nothing while they are held, and while
// they flow a frame that has begun, at most (Mittal, 2.1.1: regular traffic does not suffer).
#include <gtest/gtest.h>

#include "base/wire/pfc.h"
#include "irn_provider/cc/aimd.h"
#include "irn_provider/nic/irn_pair.h"

namespace rocelab {
namespace {

constexpr std::uint8_t kPrimary = 26, kFirst = 46;  // DSCPs: of RC3's primary, and of a class above it

NicConfig config_of(bool rc3, std::uint32_t window) {
  NicConfig config =
      irn_config(IrnConfig{.rto_high = 10_ms, .bdp_cap = 0, .tcp = true, .bitmap_packets = 1'024});
  if (rc3) config.rc3 = {4, {config.roce_dscp, 16, 8, 0}, {4, 16, 64, 0}};
  AimdParams& aimd = config.cc.use<Aimd>();
  aimd.initial_window = window, aimd.slow_start = true;
  config.link_delay = 5_us;
  return config;
}

struct Left {
  int side;
  std::uint32_t psn;
  std::uint8_t opcode;
  Time at;
  bool operator==(const Left&) const = default;
};
std::vector<Left> left(const IrnPair& pair, std::uint8_t dscp) {
  std::vector<Left> found;
  for (const Departure& d : pair.log)
    if (d.packet.roce.dscp == dscp)
      found.push_back({d.side, d.packet.roce.psn.value(), d.packet.roce.opcode, d.at});
  return found;
}

Duration up_to(Rng& rng, Duration most) {
  return Duration::from_ps(static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(most.ps()))));
}

TEST(Rc3LevelsTest, LevelsThatAreHeldChangeNothing) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<Left> all[2];
    for (const bool rc3 : {false, true}) {
      Rng rng(seed);
      IrnPair pair(config_of(rc3, 4));
      PfcFrame pause;
      pause.class_enable = 0b111;
      pause.time[0] = pause.time[1] = pause.time[2] = 0xffff;  // 838 us
      pair.a.nic.on_pfc(pause, pair.now()), pair.b.nic.on_pfc(pause, pair.now());
      while (pair.now() < Time::zero() + 600_us) {
        const WrOpcode opcode = kAllOperations[rng.below(5)];
        pair.post_message(opcode, static_cast<std::uint32_t>(rng.below(40 * kIrnMtu)));
        pair.run_until(pair.now() + up_to(rng, 60_us));
      }
      pair.run_until(Time::zero() + 830_us);
      all[rc3] = left(pair, kPrimary);
      EXPECT_EQ(all[rc3].size(), pair.log.size()) << "the others are held";
      EXPECT_EQ(pair.a.nic.counters().rlp_packets, 0u);
    }
    EXPECT_GT(all[0].size(), 200u);
    ASSERT_EQ(all[0], all[1]) << "seed " << seed;
  }
}

// Messages of a queue pair with a class of its own, beside one with RC3 whose messages fill the port.
TEST(Rc3LevelsTest, LevelsThatFlowDelayByAFrameAtMost) {
  std::uint64_t compared = 0, late = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<Left> first[2];
    Duration longest;
    for (const bool beside : {false, true}) {
      Rng rng(seed);
      IrnPair pair(config_of(true, 200));  // no window holds the messages of the first class
      pair.attr.path.traffic_class = kFirst << 2;
      const auto [qp, peer] = pair.connect(0x123456);
      if (beside) {
        ASSERT_EQ(pair.post(pair.wqe(WrOpcode::kWrite, 1 << 20, 1 << 20, 900 * kIrnMtu)), PostResult::kOk);
      }
      for (int i = 0; i < 60; ++i) {
        SendWqe write = pair.wqe(WrOpcode::kWrite, 0, 0, static_cast<std::uint32_t>(rng.below(4 * kIrnMtu)));
        write.signaled = false;
        ASSERT_EQ(pair.a.nic.post_send(qp, write, pair.now()), PostResult::kOk);
        pair.run_until(pair.now() + up_to(rng, 5_us));
      }
      pair.run();
      for (const Left& l : left(pair, kFirst))
        if (l.side == 0) first[beside].push_back(l);
      for (const Departure& d : pair.log)
        if (d.side == 0 && d.packet.roce.dscp != kFirst)
          longest = std::max(longest, wire_time(d.packet.frame(), pair.config.link_rate));
    }
    ASSERT_EQ(first[0].size(), first[1].size());
    for (std::size_t i = 0; i < first[0].size(); ++i) {
      ASSERT_EQ(first[0][i].psn, first[1][i].psn);
      const Duration later = first[1][i].at - first[0][i].at;
      ASSERT_GE(later, Duration{}) << "seed " << seed << " frame " << i;
      ASSERT_LE(later, longest) << "seed " << seed << " frame " << i;
      ++compared, late += later > Duration{};
    }
  }
  EXPECT_GT(compared, 1'000u);
  EXPECT_GT(late, 200u) << "the other queue pair does send";
}

}  // namespace
}  // namespace rocelab
