#include "emu/des/crew.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace rocelab::des {
namespace {

TEST(CrewTest, EachThreadWorksOncePerCallAndSeesWhatTheLastCallWrote) {
  for (const std::uint32_t threads : {1u, 2u, 5u}) {
    Crew crew(threads);
    ASSERT_EQ(crew.threads(), threads);
    std::vector<std::uint64_t> values(threads, 1);  // plain: the crew alone orders what is written
    for (int round = 0; round < 2'000; ++round) {
      std::vector<std::uint64_t> next(threads);
      crew.each([&](std::uint32_t t) { next[t] = values[t] + values[(t + 1) % threads]; });
      for (std::uint32_t t = 0; t < threads; ++t) next[t] %= 1'000'003;
      values = next;
    }
    std::uint64_t expected = 1;
    for (int round = 0; round < 2'000; ++round) expected = expected * 2 % 1'000'003;
    for (const std::uint64_t value : values) EXPECT_EQ(value, expected);
  }
}

TEST(CrewTest, WhatAThreadThrowsIsThrownByTheCallAndTheCrewWorksOn) {
  Crew crew(3);
  for (int round = 0; round < 50; ++round) {
    try {
      crew.each([](std::uint32_t t) {
        if (t > 0) throw std::runtime_error(std::to_string(t));
      });
      FAIL();
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "1");
    }
    std::vector<int> done(3);
    crew.each([&](std::uint32_t t) { done[t] = 1; });
    EXPECT_EQ(done, std::vector<int>(3, 1));
  }
}

TEST(CrewTest, AThreadThatSleepsIsWoken) {
  Crew crew(2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the worker has stopped spinning
    std::vector<int> worked(2);
    crew.each([&](std::uint32_t t) { worked[t] = 1; });
    EXPECT_EQ(worked, std::vector<int>(2, 1));
    crew.each([](std::uint32_t t) {
      if (t == 1) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // and so has the caller
    });
  }
}

}  // namespace
}  // namespace rocelab::des
