// The headroom formula against hand-computed numbers and against an adversary on the link.
#include "ovs_patches/switch_model/headroom.h"

#include "base/wire/controls.h"
#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

TEST(HeadroomTest, FollowsHandComputedNumbers) {
  // 40 Gb/s, 2 us, 1098 B: w = 224.4 ns, w(60) = 16.8 ns. X = 4000 + 224.4 + 16.8 + 224.4 ns - 2 ps =
  // 4,465,598 ps, 200 ps a byte: B = 22,327 = 19 * 1122 + 1009. 1098 + 19 * 1098 + 985 + 1098 = 24,043.
  const PortConfig link{40_Gbps, 2_us, PeerKind::kHost};
  EXPECT_EQ(headroom_for(link, 1098_B, wire_time(1098_B, 40_Gbps)), 24'043_B);
  // A peer that stops at once: X = 4,241,198 ps, B = 21,205 = 18 * 1122 + 1009: one maximum frame less.
  EXPECT_EQ(headroom_for(link, 1098_B, 0_ps), 22'945_B);
  // 10 Gb/s, no delay, 1000 B, no response time: X = 819,200 + 67,200 - 2 = 886,398 ps, 800 ps a byte: B =
  // 1107 = 1024 + 83; 1000 + 1000 + 59 + 1000.
  EXPECT_EQ(headroom_for({10_Gbps, 0_ps, PeerKind::kHost}, 1000_B, 0_ps), 3'059_B);
}

TEST(HeadroomTest, ThresholdsAreDerivedFromBufferAndHeadroom) {
  SwitchConfig config;
  config.max_frame = 1098_B;
  const PfcThresholds t = thresholds_for(config, PortConfig{40_Gbps, 2_us, PeerKind::kHost});
  EXPECT_EQ(t.headroom, 24'043_B);
  EXPECT_EQ(t.xoff, 215'957_B);  // 240,000 - 24,043
  EXPECT_EQ(t.xon, 213'761_B);   // two maximum frames less
  config.pfc.xoff = 220_KB;      // given: headroom is what is left
  const PfcThresholds given = thresholds_for(config, PortConfig{40_Gbps, 2_us, PeerKind::kHost});
  EXPECT_EQ(given.xoff, 220_KB);
  EXPECT_EQ(given.headroom, 20_KB);
  EXPECT_EQ(given.xon, 217'804_B);
}

struct Link {
  Rate rate;
  Duration delay;
  Bytes max_frame;
  Duration response;
};

SwitchConfig config_for(const Link& link) {
  SwitchConfig config;
  config.max_frame = link.max_frame;
  config.ingress_buffer = 4_MB;
  config.egress_limit = 100_MB;
  config.pfc.response_time = link.response;
  return config;
}

// The peer behind port 0: sends back to back, and starts no frame from `response` after the arrival of an
// XOFF on. Port 1 is where everything goes, and is paused: at 1 Gb/s for 33.6 ms.
class Adversary {
 public:
  Adversary(const Link& link, const SwitchConfig& config)
      : link_(link),
        bench_(config, {PortConfig{link.rate, link.delay, PeerKind::kHost},
                        PortConfig{1_Gbps, 1_us, PeerKind::kHost}}) {
    bench_.send_pfc(1, Time::zero(), 3, 0xffff);
  }

  // Fills class 3 of port 0 to exactly `level` bytes.
  void fill(Bytes level) {
    bench_.run_until(at(1_ns));
    while (level > 0_B) {
      const Bytes frame = level >= link_.max_frame + 60_B ? link_.max_frame
                          : level <= link_.max_frame      ? level
                                                          : level - 60_B;
      start(frame);
      level -= frame;
    }
  }

  // The frame that crosses XOFF arrives just after our port has begun a maximum frame of another class;
  // `next_size` chooses what follows it.
  template <class NextSize>
  void cross(NextSize&& next_size) {
    const Time crossing = next_start_ + wire_time(link_.max_frame, link_.rate) + link_.delay;
    bench_.send(1, 0, crossing - 1_ps, link_.max_frame, 0);
    start(link_.max_frame);
    for (;;) {
      bench_.run_until(next_start_ + 1_ps);
      const Time stop = stop_time();
      if (next_start_ >= stop) break;
      start(next_size(stop.is_never() ? Duration::infinite() : stop - next_start_));
    }
    bench_.run_until(next_start_ + 3 * link_.delay + 1_us);
  }

  Time next_start() const { return next_start_; }
  SwitchPortCounters counters() { return bench_.counters(0); }
  Bytes held() { return bench_.node.model().ingress_bytes(port(0), tc(3)); }

 private:
  void start(Bytes frame) {
    const Time end = next_start_ + wire_time(frame, link_.rate);
    bench_.send(0, 1, end + link_.delay, frame);
    next_start_ = end;
  }
  Time stop_time() const {
    for (const Departure& d : bench_.sent) {
      if (d.kind == kind_of<PfcFrame> && d.pfc.time[3] != 0) return d.due + link_.response;
    }
    return Time::never();
  }

  Link link_;
  Bench bench_;
  Time next_start_ = at(1_us);
};

// The worst sizes: maximum frames, then what is left for one more that still lets a last maximum frame start
// in time. The peer cannot know its stopping time while it plans; the test can: it is the one that the
// derivation in headroom.h names.
std::vector<Bytes> worst_sizes(const Link& link) {
  const Duration full = wire_time(link.max_frame, link.rate);
  const Duration until_last_start = 2 * link.delay + full + wire_time(60_B, link.rate) + link.response - 2_ps;
  std::vector<Bytes> sizes(static_cast<std::size_t>(until_last_start / full), link.max_frame);
  const Bytes rest =
      bytes_in(until_last_start - full * static_cast<std::int64_t>(sizes.size()), link.rate) - 24_B;
  if (rest >= 60_B) sizes.push_back(rest);
  if (rest > 0_B && rest < 60_B) {  // a neighbour lends
    sizes.back() -= 60_B - rest;
    sizes.push_back(60_B);
  }
  sizes.push_back(link.max_frame);
  return sizes;
}

SwitchPortCounters run_worst_case(const Link& link, const SwitchConfig& config, Bytes* held) {
  Adversary adversary(link, config);
  adversary.fill(thresholds_for(config, PortConfig{link.rate, link.delay, PeerKind::kHost}).xoff);
  const std::vector<Bytes> sizes = worst_sizes(link);
  std::size_t used = 0;
  adversary.cross([&](Duration) {
    EXPECT_LT(used, sizes.size()) << "the peer sends longer than the derivation says";
    return used < sizes.size() ? sizes[used++] : link.max_frame;
  });
  EXPECT_EQ(used, sizes.size()) << "the peer stopped earlier than the derivation says";
  *held = adversary.held();
  return adversary.counters();
}

class HeadroomWorstCase : public ::testing::TestWithParam<Link> {};

TEST_P(HeadroomWorstCase, ComputedValueIsFilledToTheByteAndDropsNothing) {
  const SwitchConfig config = config_for(GetParam());
  Bytes held;
  const SwitchPortCounters counters = run_worst_case(GetParam(), config, &held);
  EXPECT_EQ(counters.drops, 0u);
  EXPECT_EQ(held, config.ingress_buffer);
}

TEST_P(HeadroomWorstCase, OneByteLessDrops) {
  SwitchConfig config = config_for(GetParam());
  const PortConfig link{GetParam().rate, GetParam().delay, PeerKind::kHost};
  config.pfc.headroom = thresholds_for(config, link).headroom - 1_B;
  config.ingress_buffer -= 1_B;  // XOFF where it was
  Bytes held;
  const SwitchPortCounters counters = run_worst_case(GetParam(), config, &held);
  EXPECT_EQ(counters.drops, 1u);
  EXPECT_EQ(counters.lossless_drops, 1u);
  EXPECT_EQ(counters.drops_headroom, 1u);
}

TEST_P(HeadroomWorstCase, NoMixOfFrameSizesExceedsIt) {
  const SwitchConfig config = config_for(GetParam());
  const PortConfig link{GetParam().rate, GetParam().delay, PeerKind::kHost};
  const Bytes xoff = thresholds_for(config, link).xoff;
  Rng rng(20);
  for (int round = 0; round < 30; ++round) {
    Adversary adversary(GetParam(), config);
    adversary.fill(xoff - Bytes::from_count(static_cast<std::int64_t>(rng.below(3) * rng.below(500))));
    const auto spread = static_cast<std::uint64_t>(GetParam().max_frame.count() - 59);
    const bool mostly_full = rng.bernoulli(0.5);
    adversary.cross([&](Duration) {
      if (mostly_full && rng.bernoulli(0.8)) return GetParam().max_frame;
      return 60_B + Bytes::from_count(static_cast<std::int64_t>(rng.below(spread)));
    });
    EXPECT_EQ(adversary.counters().drops, 0u) << "seed 20, round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Links, HeadroomWorstCase,
    ::testing::Values(Link{40_Gbps, 2_us, 1098_B, wire_time(1098_B, 40_Gbps)},  // the default run
                      Link{40_Gbps, 2_us, 1098_B, 0_ps},                        // our own NIC
                      Link{40_Gbps, 2'016'300_ps, 1098_B,
                           0_ps},  // 26 bytes are left for a frame: a neighbour lends
                      Link{40_Gbps, 2'012'300_ps, 1098_B, 0_ps},  // 10 bytes of wire are left: nothing fits
                      Link{100_Gbps, 500_ns, 4170_B, wire_time(4170_B, 100_Gbps)},
                      Link{10_Gbps, 10_us, 1522_B, 3_us}, Link{25_Gbps, 0_ps, 1098_B, 0_ps},
                      Link{400_Gbps, 1_us, 9216_B, 123'457_ps}, Link{40_Gbps, 12'345_ps, 600_B, 7_ns}));

}  // namespace
}  // namespace rocelab
