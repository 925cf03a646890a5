// A program's clock: experiment time once the device is open.
#pragma once

#include <gtest/gtest.h>
#include <time.h>

#include <cstdint>

namespace rocelab::probe {

inline std::int64_t now_ns() {
  timespec t{};
  EXPECT_EQ(clock_gettime(CLOCK_MONOTONIC, &t), 0);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

}  // namespace rocelab::probe
