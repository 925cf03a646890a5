#include "lockstep/proc_state.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace rocelab::lockstep {
namespace {

TEST(ProcStateTest, TheCallerRuns) { EXPECT_EQ(proc_state("/proc/self/stat"), 'R'); }

TEST(ProcStateTest, WhatIsNotThereCountsAsDead) { EXPECT_EQ(proc_state("/proc/0/stat"), 'X'); }

TEST(ProcStateTest, TheNameMayHoldParenthesesAndBlanks) {
  const auto path = std::filesystem::temp_directory_path() / ("rocelab_stat_" + std::to_string(getpid()));
  for (const auto& [text, want] :
       {std::pair{"12 (a) S (b) T 1 2", 'T'}, std::pair{"12 () D 1", 'D'}, std::pair{"12 (cut", 'X'},
        std::pair{"12 (cut)", 'X'}, std::pair{"", 'X'}}) {
    std::ofstream(path) << text;
    EXPECT_EQ(proc_state(path.c_str()), want) << text;
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace rocelab::lockstep
