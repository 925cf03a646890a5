// The NIC's small parts alone: QpScheduler, TimerHeap.
#include <gtest/gtest.h>

#include <map>

#include "base/rng.h"
#include "irn_provider/nic/qp_scheduler.h"
#include "irn_provider/nic/timer_heap.h"

namespace rocelab {
namespace {

using Kind = QpScheduler::Kind;

TEST(QpSchedulerTest, TakesTurnsWithinAClass) {
  QpScheduler s;
  for (std::uint32_t slot : {4u, 1u, 7u}) s.set_ready(slot, Tc{3}, Kind::kData, true);
  std::vector<std::uint32_t> order;
  for (int i = 0; i < 7; ++i) order.push_back(s.take_turn(0xff).slot);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{4, 1, 7, 4, 1, 7, 4}));
}

// A turn of data is of `burst` packets; who has no more ends it, and the next one's is whole.
TEST(QpSchedulerTest, ATurnOfDataLastsForABurst) {
  QpScheduler s(3);
  for (std::uint32_t slot : {4u, 1u, 7u}) s.set_ready(slot, Tc{3}, Kind::kData, true);
  std::vector<std::uint32_t> order;
  for (int i = 0; i < 4; ++i) order.push_back(s.take_turn(0xff).slot);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{4, 4, 4, 1}));
  s.set_ready(1, Tc{3}, Kind::kData, false);
  order.clear();
  for (int i = 0; i < 7; ++i) order.push_back(s.take_turn(0xff).slot);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{7, 7, 7, 4, 4, 4, 7}));
}

TEST(QpSchedulerTest, AnswersTakeTurnsOfOneAndDoNotShortenATurnOfData) {
  QpScheduler s(2);
  for (std::uint32_t slot : {0u, 1u}) s.set_ready(slot, Tc{3}, Kind::kData, true);
  EXPECT_EQ(s.take_turn(0xff).slot, 0u);
  for (std::uint32_t slot : {2u, 3u}) s.set_ready(slot, Tc{3}, Kind::kAck, true);
  EXPECT_EQ(s.take_turn(0xff).slot, 2u);
  EXPECT_EQ(s.take_turn(0xff).slot, 3u);
  for (std::uint32_t slot : {2u, 3u}) s.set_ready(slot, Tc{3}, Kind::kAck, false);
  EXPECT_EQ(s.take_turn(0xff).slot, 0u);
  EXPECT_EQ(s.take_turn(0xff).slot, 1u);
}

// Each class has turns of its own: a pause of one in the middle of a turn does not shorten it.
TEST(QpSchedulerTest, ATurnOutlastsAPause) {
  QpScheduler s(3);
  for (std::uint32_t slot : {0u, 1u}) s.set_ready(slot, Tc{3}, Kind::kData, true);
  s.set_ready(2, Tc{4}, Kind::kData, true);
  std::vector<std::uint32_t> order{s.take_turn(0x08).slot, s.take_turn(0x18).slot};
  for (int i = 0; i < 3; ++i) order.push_back(s.take_turn(0x08).slot);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 2, 0, 0, 1}));
}

TEST(QpSchedulerTest, WhoLeavesAndComesBackGoesToTheEnd) {
  QpScheduler s;
  for (std::uint32_t slot : {0u, 1u, 2u}) s.set_ready(slot, Tc{3}, Kind::kData, true);
  s.set_ready(0, Tc{3}, Kind::kData, false);
  s.set_ready(0, Tc{3}, Kind::kData, true);
  EXPECT_EQ(s.take_turn(0xff).slot, 1u);
  EXPECT_EQ(s.take_turn(0xff).slot, 2u);
  EXPECT_EQ(s.take_turn(0xff).slot, 0u);
}

TEST(QpSchedulerTest, AnswersAheadOfDataAndHigherClassesFirst) {
  QpScheduler s;
  s.set_ready(0, Tc{3}, Kind::kData, true);
  s.set_ready(1, Tc{3}, Kind::kAck, true);
  s.set_ready(2, Tc{6}, Kind::kData, true);
  EXPECT_EQ(s.take_turn(0xff).slot, 2u);
  EXPECT_EQ(s.take_turn(0xbf).slot, 1u);  // class 6 paused
  s.set_ready(1, Tc{3}, Kind::kAck, false);
  EXPECT_EQ(s.take_turn(0xbf).slot, 0u);
  EXPECT_FALSE(s.has_ready(0xb7));
  s.remove(2);
  EXPECT_FALSE(s.has_ready(0x40));
}

TEST(TimerHeapTest, WakesInTheOrderOfTimeThenSlotAndOnlyMovesEarlier) {
  TimerHeap heap;
  heap.wake_by(5, Time::from_ps(30));
  heap.wake_by(2, Time::from_ps(10));
  heap.wake_by(9, Time::from_ps(10));
  heap.wake_by(2, Time::from_ps(99));  // put off: keeps the early entry
  heap.wake_by(5, Time::from_ps(10));
  EXPECT_EQ(heap.next(), Time::from_ps(10));
  EXPECT_EQ(heap.pop(), 2u);
  EXPECT_EQ(heap.pop(), 5u);
  EXPECT_EQ(heap.pop(), 9u);
  EXPECT_TRUE(heap.next().is_never());
}

TEST(TimerHeapTest, AgreesWithASortedMapOverRandomUse) {
  TimerHeap heap;
  std::map<std::uint32_t, Time> reference;
  Rng rng(7);
  for (int i = 0; i < 20'000; ++i) {
    const auto slot = static_cast<std::uint32_t>(rng.below(60));
    const Time time = Time::from_ps(static_cast<std::int64_t>(rng.below(1000)));
    if (rng.below(5) == 0) {
      heap.remove(slot);
      reference.erase(slot);
    } else if (rng.below(4) == 0 && !reference.empty()) {
      const auto first = std::min_element(reference.begin(), reference.end(), [](auto& x, auto& y) {
        return std::pair(x.second, x.first) < std::pair(y.second, y.first);
      });
      ASSERT_EQ(heap.next(), first->second);
      ASSERT_EQ(heap.pop(), first->first);
      reference.erase(first);
    } else {
      heap.wake_by(slot, time);
      const auto [it, added] = reference.try_emplace(slot, time);
      if (!added) it->second = std::min(it->second, time);
    }
  }
}

}  // namespace
}  // namespace rocelab
