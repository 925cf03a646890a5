#include "irn_provider/verbs/libc/cpu_info.h"

#include <gtest/gtest.h>

namespace rocelab::libc {
namespace {

TEST(CpuInfoTest, EveryProcessorHasTheCountersRateAndNothingElseIsChanged) {
  EXPECT_EQ(with_counter_rate("processor\t: 0\ncpu MHz\t\t: 2394.454\ncache size\t: 4 KB\n\n"
                              "processor\t: 1\ncpu MHz\t\t: 800.000\nflags\t\t: tsc"),
            "processor\t: 0\ncpu MHz\t\t: 10000.000\ncache size\t: 4 KB\n\n"
            "processor\t: 1\ncpu MHz\t\t: 10000.000\nflags\t\t: tsc");
}

TEST(CpuInfoTest, AFileWithoutARateGetsOne) {
  EXPECT_EQ(with_counter_rate("processor\t: 0\n"), "cpu MHz\t\t: 10000.000\nprocessor\t: 0\n");
  EXPECT_EQ(with_counter_rate(""), "cpu MHz\t\t: 10000.000\n");
}

}  // namespace
}  // namespace rocelab::libc
