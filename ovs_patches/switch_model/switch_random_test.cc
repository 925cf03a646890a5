// Properties under random traffic and pauses, with a fixed seed: nothing is lost from the books, and cuts
// change nothing.
#include <cstring>
#include <string>

#include "ovs_patches/switch_model/switch_core.h"
#include "ovs_patches/switch_model/test_traffic.h"

namespace rocelab {
namespace {

using namespace switch_test;

struct Books {
  std::uint64_t in = 0, out = 0, dropped = 0;
};

Books frames_of(const Switch& model, Time now) {
  Books books;
  for (int p = 0; p < kPortCount; ++p) {
    const SwitchPortCounters c = model.counters(port(p), now);
    books.in += c.rx_frames + c.replicated_frames;
    books.out += c.tx_frames;
    books.dropped += c.drops;
    EXPECT_EQ(c.drops, c.drops_egress_limit + c.drops_input_buffer + c.drops_headroom + c.drops_oversize +
                           c.drops_no_route + c.drops_no_copy + c.drops_egress_max + c.drops_watchdog +
                           c.drops_mechanism + c.drops_port_buffer + c.drops_displaced);
  }
  return books;
}

Books bytes_of(const Switch& model, Time now) {
  Books books;
  for (int p = 0; p < kPortCount; ++p) {
    const SwitchPortCounters c = model.counters(port(p), now);
    books.in += c.rx_bytes + c.replicated_bytes;
    books.out += c.tx_bytes;
    books.dropped += c.dropped_bytes;
  }
  return books;
}

std::uint64_t queued_bytes(const Switch& model) {
  std::int64_t sum = 0;
  for (int p = 0; p < kPortCount; ++p) {
    for (int c = 0; c < kTrafficClasses; ++c) sum += model.queue_bytes(port(p), tc(c)).count();
  }
  return static_cast<std::uint64_t>(sum);
}

class SwitchRandomTest : public ::testing::TestWithParam<const char*> {
 protected:
  // The owner outlives the bench; departed frames are consumed by the driver, which gives them back.
  void run_until(Bench& bench, CountingOwner& owner, Time limit) {
    bench.node.run_until(limit, [&](PortId, PacketRef packet, Time, Time) {
      if (packet->frame_slot != kNoFrame) owner.release(packet->frame_slot);
    });
  }
};

TEST_P(SwitchRandomTest, FramesAndBytesInAreOutOrDroppedOrQueued) {
  CountingOwner owner;
  Bench bench(random_config(GetParam()), std::vector<PortConfig>(kPortCount), &owner);
  feed(bench, owner, 11, 300_us);
  const Switch& model = bench.node.model();
  for (Time limit = at(10_us); limit < at(400_us); limit = limit + 10_us) {
    run_until(bench, owner, limit);
    const Books frames = frames_of(model, limit), bytes = bytes_of(model, limit);
    ASSERT_EQ(frames.in, frames.out + frames.dropped + model.queued_frames())
        << "seed 11, at " << to_string(limit);
    if (std::string(GetParam()).starts_with("pipeline")) continue;  // it holds frames that are in no queue
    ASSERT_EQ(bytes.in, bytes.out + bytes.dropped + queued_bytes(model))
        << "seed 11, at " << to_string(limit);
  }
  EXPECT_GT(frames_of(model, at(1_s)).dropped, 100u) << "the load is meant to hurt";
  if (GetParam() == std::string("push_out_lower")) {
    std::uint64_t displaced = 0;
    for (int p = 0; p < kPortCount; ++p) displaced += model.counters(port(p), at(1_s)).drops_displaced;
    EXPECT_GT(displaced, 100u);
  }

  run_until(bench, owner, at(5_ms));  // pauses expire, everything drains
  EXPECT_EQ(model.queued_frames(), 0u);
  EXPECT_EQ(model.shared_pool_used(), 0_B);
  EXPECT_EQ(bench.pool.in_use(), 0u);
  for (int p = 0; p < kPortCount; ++p) {
    for (int c = 0; c < kTrafficClasses; ++c) {
      EXPECT_EQ(model.ingress_bytes(port(p), tc(c)), 0_B);
      EXPECT_FALSE(model.is_pausing(port(p), tc(c)));
      EXPECT_FALSE(model.is_paused(port(p), tc(c)));
    }
  }
  EXPECT_TRUE(bench.node.next_event().is_never());
  for (const auto& [slot, references] : owner.references) ASSERT_EQ(references, 0) << "slot " << slot;
}

TEST_P(SwitchRandomTest, CutsChangeNothing) {
  const auto run = [&](std::uint64_t cut_seed) {
    CountingOwner owner;
    Bench bench(random_config(GetParam()), std::vector<PortConfig>(kPortCount), &owner);
    feed(bench, owner, 12, 100_us);
    Rng rng(cut_seed);
    for (Time limit = Time::zero(); cut_seed != 0 && limit < at(150_us);) {
      limit = limit + Duration::from_ps(static_cast<std::int64_t>(1 + rng.below(1'000'000)));
      run_until(bench, owner, limit);
    }
    run_until(bench, owner, Time::never());
    return bench.trace.records;
  };
  const std::vector<TraceRecord> whole = run(0);
  EXPECT_GT(whole.size(), 1000u);
  for (const std::uint64_t cut_seed : {1u, 2u, 3u}) {
    const std::vector<TraceRecord> cut = run(cut_seed);
    ASSERT_EQ(cut.size(), whole.size());
    EXPECT_EQ(std::memcmp(cut.data(), whole.data(), whole.size() * sizeof(TraceRecord)), 0)
        << "cuts by seed " << cut_seed;
  }
}

// After every event: a queue at XON or below holds nobody responsible, contributions are what waits, and a
// link is paused while any queue holds its port responsible.
TEST(SwitchRandomCapfcTest, InvariantsHoldAfterEveryEvent) {
  for (const std::string name : {"capfc", "capfc_letter"}) {
    CountingOwner owner;
    Bench bench(random_config(name), std::vector<PortConfig>(kPortCount), &owner);
    feed(bench, owner, 13, 60_us);
    const Switch& model = bench.node.model();
    const CapfcMechanism& capfc = *model.mechanism<CapfcMechanism>();
    std::uint64_t held_at_all = 0;
    for (Time next = bench.node.next_event(); !next.is_never(); next = bench.node.next_event()) {
      bench.node.run_until(next + 1_ps, [&](PortId, PacketRef packet, Time, Time) {
        if (packet->frame_slot != kNoFrame) owner.release(packet->frame_slot);
      });
      std::array<std::array<std::uint16_t, 4>, kPortCount> asking{};
      for (int out = 0; out < kPortCount; ++out)
        for (int c : {2, 3}) {
          const CapfcQueue* queue = capfc.queue_of(port(out), tc(c));
          if (queue == nullptr) continue;
          Bytes waits;
          for (int in = 0; in < kPortCount; ++in) {
            const bool holds = queue->holds(static_cast<std::uint16_t>(in));
            asking[static_cast<std::size_t>(in)][static_cast<std::size_t>(c)] += holds;
            held_at_all += holds;
            waits += Bytes::from_count(queue->count(static_cast<std::uint16_t>(in)));
            ASSERT_FALSE(holds && model.queue_bytes(port(out), tc(c)) == 0_B) << to_string(next);
          }
          if (name == "capfc") {
            ASSERT_EQ(waits, model.queue_bytes(port(out), tc(c))) << to_string(next);
          }
        }
      for (int in = 0; in < kPortCount; ++in)
        for (int c : {2, 3}) {
          ASSERT_EQ(capfc.asking(port(in), tc(c)),
                    asking[static_cast<std::size_t>(in)][static_cast<std::size_t>(c)]);
          ASSERT_TRUE(capfc.asking(port(in), tc(c)) == 0 || model.is_pausing(port(in), tc(c)));
        }
    }
    EXPECT_GT(held_at_all, 1000u);
    for (int in = 0; in < kPortCount; ++in)
      for (int c : {2, 3}) EXPECT_FALSE(model.is_pausing(port(in), tc(c))) << "nobody is paused at the end";
  }
}

// After every event: what a side of a shared memory says that queues hold is what they hold, the pool is the
// sum of what goes beyond their own, and no limit is exceeded.
TEST(SwitchRandomSharedMemoryTest, InvariantsHoldAfterEveryEvent) {
  for (const std::string name : {"pipeline_shared", "pipeline_shared_skip"}) {
    CountingOwner owner;
    const SwitchConfig config = random_config(name);
    const SharedMemoryParams& limits = config.mechanisms.of<SharedMemoryMechanism>();
    Bench bench(config, std::vector<PortConfig>(kPortCount), &owner);
    feed(bench, owner, 13, 60_us);
    const Switch& model = bench.node.model();
    const SharedMemoryMechanism& memory = *model.mechanism<SharedMemoryMechanism>();
    Bytes most_used;
    for (Time next = bench.node.next_event(); !next.is_never(); next = bench.node.next_event()) {
      bench.node.run_until(next + 1_ps, [&](PortId, PacketRef packet, Time, Time) {
        if (packet->frame_slot != kNoFrame) owner.release(packet->frame_slot);
      });
      for (const SharedMemory* side : {&memory.ingress(), &memory.egress()}) {
        Bytes pool;
        for (int p = 0; p < kPortCount; ++p) {
          Bytes of_port;
          for (int c : {2, 3}) {
            const Bytes held = side->held(port(p), tc(c));
            ASSERT_EQ(held, side == &memory.ingress() ? model.ingress_bytes(port(p), tc(c))
                                                      : model.queue_bytes(port(p), tc(c)))
                << to_string(next);
            ASSERT_LE(held, limits.most_of_queue());
            of_port += std::max(0_B, held - limits.dedicated);
          }
          ASSERT_EQ(of_port, side->of_port(port(p)));
          ASSERT_LE(of_port, limits.port);
          pool += of_port;
        }
        ASSERT_EQ(pool, side->pool_used());
        ASSERT_LE(pool, limits.pool);
        most_used = std::max(most_used, pool);
      }
    }
    EXPECT_GT(most_used, limits.pool - 2_KB) << "the pool is meant to run out";
    std::uint64_t refused = 0, dropped = 0;
    for (int p = 0; p < kPortCount; ++p) {
      for (const std::uint64_t n : memory.counters(port(p)).ingress) refused += n;
      for (const std::uint64_t n : memory.counters(port(p)).egress) refused += n;
      dropped += bench.counters(p).drops_mechanism + bench.counters(p).drops_egress_max;
    }
    EXPECT_GT(refused, 100u);
    EXPECT_EQ(refused, dropped) << "each drop has its limit";
    EXPECT_EQ(memory.egress().pool_used(), 0_B) << "nothing is left at the end";
    EXPECT_EQ(memory.ingress().pool_used(), 0_B);
  }
}

INSTANTIATE_TEST_SUITE_P(Switches, SwitchRandomTest,
                         ::testing::Values("plain", "voq", "pool", "lossy", "push_out_lower",
                                           "input_buffered", "capfc", "capfc_letter", "pipeline_drop",
                                           "pipeline_stop", "pipeline_skip", "pipeline_shared",
                                           "pipeline_shared_skip", "rcp"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace rocelab
