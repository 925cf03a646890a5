#include "irn_provider/realtime/frame_ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "base/rng.h"

namespace rocelab::direct {
namespace {

constexpr std::size_t kBytes = 8192;

struct Memory {
  lockstep::RingCounters counters;
  alignas(64) std::array<std::byte, kBytes> bytes{};
  FrameProducer producer() { return {&counters, bytes}; }
  FrameConsumer consumer() { return {&counters, bytes}; }
};

bool put(FrameProducer& ring, std::size_t length, std::uint8_t fill) {
  const std::span<std::byte> slot = ring.reserve(length);
  if (slot.empty()) return false;
  std::ranges::fill(slot, std::byte{fill});
  ring.commit();
  return true;
}

void expect_frame(FrameConsumer& ring, std::size_t length, std::uint8_t fill) {
  const auto frame = ring.next();
  ASSERT_TRUE(frame);
  ASSERT_EQ(frame->size(), length);
  for (const std::byte b : *frame) ASSERT_EQ(b, std::byte{fill});
}

TEST(FrameRingTest, FramesOfAllLengthsComeInOrderWhereverTheRingEnds) {
  Memory memory;
  FrameProducer producer = memory.producer();
  FrameConsumer consumer = memory.consumer();
  Rng rng(7);
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t length = 60 + rng.below(producer.longest() - 60 + 1);
    ASSERT_TRUE(put(producer, length, static_cast<std::uint8_t>(i)));
    EXPECT_FALSE(consumer.next());  // not published
    producer.publish();
    expect_frame(consumer, length, static_cast<std::uint8_t>(i));
    EXPECT_FALSE(consumer.next());
    consumer.release();
  }
  EXPECT_EQ(consumer.malformed(), 0u);
}

TEST(FrameRingTest, AFullRingTakesNothingUntilRoomIsGivenBack) {
  Memory memory;
  FrameProducer producer = memory.producer();
  FrameConsumer consumer = memory.consumer();
  std::uint8_t n = 0;
  while (put(producer, 1000, n)) ++n;
  EXPECT_EQ(n, kBytes / 1024);
  producer.publish();
  expect_frame(consumer, 1000, 0);
  EXPECT_FALSE(put(producer, 1000, n));  // it may still be looked at
  consumer.release();
  EXPECT_TRUE(put(producer, 1000, n));
}

TEST(FrameRingTest, AReservedFrameThatIsNotCommittedIsNotThere) {
  Memory memory;
  FrameProducer producer = memory.producer();
  FrameConsumer consumer = memory.consumer();
  EXPECT_FALSE(producer.reserve(500).empty());
  ASSERT_TRUE(put(producer, 100, 1));
  producer.publish();
  expect_frame(consumer, 100, 1);
  EXPECT_FALSE(consumer.next());
}

TEST(FrameRingTest, NewSidesGoOnWhereTheLastOnesEnded) {
  Memory memory;
  FrameProducer first = memory.producer();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(put(first, 300, 1));
  first.publish();
  ASSERT_TRUE(put(first, 300, 2));  // its process dies before it publishes this one
  FrameProducer second = memory.producer();
  FrameConsumer consumer = memory.consumer();  // what was there is not for it
  EXPECT_FALSE(consumer.next());
  ASSERT_TRUE(put(second, 400, 3));
  second.publish();
  expect_frame(consumer, 400, 3);
  EXPECT_EQ(consumer.malformed(), 0u);
}

// For the race detectors: two threads are all that a ring may have.
TEST(FrameRingTest, TwoThreadsAgreeOnEveryByte) {
  Memory memory;
  constexpr int kFrames = 20'000;
  const auto length_of = [](int i) { return static_cast<std::size_t>(60 + i * 37 % 2000); };
  FrameConsumer consumer = memory.consumer();  // before the first frame: what was there is not for it
  std::thread sender([&] {
    FrameProducer producer = memory.producer();
    for (int i = 0; i < kFrames; ++i) {
      while (!put(producer, length_of(i), static_cast<std::uint8_t>(i))) {
        producer.publish();
        std::this_thread::yield();
      }
      if (i % 3 == 0) producer.publish();
    }
    producer.publish();
  });
  for (int i = 0; i < kFrames;) {
    const auto frame = consumer.next();
    if (!frame) {
      consumer.release();
      std::this_thread::yield();
      continue;
    }
    EXPECT_EQ(frame->size(), length_of(i));
    EXPECT_TRUE(std::ranges::all_of(*frame, [&](std::byte b) { return b == static_cast<std::byte>(i); }));
    ++i;
    if (i % 5 == 0) consumer.release();
  }
  sender.join();
  EXPECT_EQ(consumer.malformed(), 0u);
}

// --- what the other side may write

void set_length(Memory& memory, std::size_t at, std::uint32_t length) {
  std::memcpy(&memory.bytes[at], &length, sizeof length);
}

TEST(FrameRingTest, LengthsThatCannotBeThrowTheContentsAway) {
  for (const std::uint32_t length :
       {std::uint32_t{FrameRing::kWrap}, 0xfffffffeu, 0x80000000u, 8192u, 4087u, 119u}) {
    Memory memory;
    FrameProducer producer = memory.producer();
    FrameConsumer consumer = memory.consumer();
    ASSERT_TRUE(put(producer, 100, 1));  // 128 bytes with its header: 118 is the most that fits
    producer.publish();
    set_length(memory, 0, length);
    EXPECT_FALSE(consumer.next()) << length;
    EXPECT_EQ(consumer.malformed(), 1u) << length;
    ASSERT_TRUE(put(producer, 200, 2));
    producer.publish();
    expect_frame(consumer, 200, 2);  // goes on
  }
}

TEST(FrameRingTest, PositionsThatCannotBeThrowTheContentsAway) {
  for (const std::uint64_t tail : {std::uint64_t{kBytes} + 64, std::uint64_t{65}, ~std::uint64_t{0},
                                   ~std::uint64_t{63}, std::uint64_t{1} << 63}) {
    Memory memory;
    FrameConsumer consumer = memory.consumer();
    memory.counters.tail = tail;
    EXPECT_FALSE(consumer.next()) << tail;
    EXPECT_EQ(consumer.malformed(), 1u) << tail;
    FrameProducer producer = memory.producer();  // another process of the same VF
    ASSERT_TRUE(put(producer, 200, 2));
    producer.publish();
    expect_frame(consumer, 200, 2);
  }
}

TEST(FrameRingTest, AProducerWritesNothingOverAHeadThatCannotBe) {
  for (const std::uint64_t head : {std::uint64_t{64}, std::uint64_t{1} << 20, std::uint64_t{1} << 63}) {
    Memory memory;
    FrameProducer producer = memory.producer();
    while (put(producer, 1000, 1)) {
    }
    memory.counters.head = head + kBytes;
    EXPECT_FALSE(put(producer, 1000, 1)) << head;
    memory.counters.head = kBytes;  // a good one again
    EXPECT_TRUE(put(producer, 1000, 1)) << head;
  }
}

TEST(FrameRingTest, NoFrameOfRandomContentsLiesOutsideTheRing) {
  Rng rng(11);
  Memory memory;
  FrameConsumer consumer = memory.consumer();
  const std::byte* const begin = memory.bytes.data();
  std::uint64_t frames = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t choice = rng.below(8);
    const std::uint32_t length = choice == 0   ? FrameRing::kWrap
                                 : choice == 1 ? static_cast<std::uint32_t>(rng.next())
                                               : static_cast<std::uint32_t>(rng.below(5000));
    set_length(memory, 64 * rng.below(kBytes / 64), length);
    const std::uint64_t step = 64 * rng.below(kBytes / 64 + 2);
    memory.counters.tail = choice == 2 ? rng.next() : memory.counters.head + step;
    while (const auto frame = consumer.next()) {
      ++frames;
      ASSERT_GE(frame->data(), begin + FrameRing::kHeader);
      ASSERT_LE(frame->data() + frame->size(), begin + kBytes);
    }
    consumer.release();
  }
  EXPECT_GT(frames, 1000u);
  EXPECT_GT(consumer.malformed(), 1000u);
}

}  // namespace
}  // namespace rocelab::direct
