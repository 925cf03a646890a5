#include "ovs_patches/switch_model/arrival_queue.h"

#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

TEST(ArrivalQueueTest, HandsOutByDueThenPortThenDelivery) {
  PacketPool pool;
  ArrivalQueue queue(16);
  const auto push = [&](int in, Time due, std::uint32_t psn) {
    const PortId outs[] = {port(9)};
    queue.push(port(in), outs, make_packet(pool, 60_B, 3, 0, psn), due);
  };
  push(3, at(20_ns), 6);
  push(7, at(10_ns), 4);
  push(7, at(10_ns), 5);
  push(2, at(10_ns), 3);
  EXPECT_EQ(queue.next_due(), at(10_ns));
  std::vector<std::uint32_t> order;
  order.push_back(queue.pop().packet->roce.psn.value());
  push(1, at(5_ns), 1);  // earlier than what was left
  EXPECT_EQ(queue.next_due(), at(5_ns));
  while (!queue.next_due().is_never()) order.push_back(queue.pop().packet->roce.psn.value());
  EXPECT_EQ(order, (std::vector<std::uint32_t>{3, 1, 4, 5, 6}));
}

TEST(ArrivalQueueTest, KeepsTheOutputsOfEachFrame) {
  PacketPool pool;
  ArrivalQueue queue(16);
  const std::vector<PortId> many{port(4), port(2), port(8)}, one{port(1)};
  queue.push(port(0), many, make_packet(pool, 60_B), at(1_ns));
  queue.push(port(0), one, make_packet(pool, 60_B), at(2_ns));
  queue.push(port(0), {}, make_packet(pool, 60_B), at(3_ns));
  const auto outs_of = [](const ArrivalQueue::Arrival& a) {
    return std::vector<PortId>(a.outs.begin(), a.outs.end());
  };
  EXPECT_EQ(outs_of(queue.pop()), many);
  EXPECT_EQ(outs_of(queue.pop()), one);
  EXPECT_TRUE(queue.pop().outs.empty());
}

TEST(ArrivalQueueTest, AgreesWithASortOverRandomBatches) {
  PacketPool pool;
  ArrivalQueue queue(16);
  Rng rng(3);
  std::vector<std::array<std::int64_t, 3>> waiting;  // due, port, number
  std::int64_t number = 0, time = 0;
  for (int batch = 0; batch < 400; ++batch) {
    for (std::uint64_t n = rng.below(60); n > 0; --n) {
      const auto due = time + static_cast<std::int64_t>(rng.below(rng.below(5) == 0 ? 5000 : 100));
      const auto in = static_cast<int>(rng.below(6));
      waiting.push_back({due, in, number});
      queue.push(port(in), {}, make_packet(pool, 60_B, 3, static_cast<std::uint32_t>(number)),
                 Time::from_ps(due));
      ++number;
    }
    time += 60;
    std::sort(waiting.begin(), waiting.end());
    std::size_t taken = 0;
    while (queue.next_due() < Time::from_ps(time)) {
      ASSERT_LT(taken, waiting.size());
      ASSERT_EQ(queue.next_due().ps(), waiting[taken][0]);
      const ArrivalQueue::Arrival arrival = queue.pop();
      ASSERT_EQ(arrival.packet->flow, waiting[taken][2]) << "seed 3, batch " << batch;
      ++taken;
    }
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(taken));
    ASSERT_EQ(queue.size(), waiting.size());
  }
}

}  // namespace
}  // namespace rocelab
