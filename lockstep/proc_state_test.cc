#include "lockstep/proc_state.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

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

TEST(ProcStateTest, AThreadThatRunsBesideAMainThreadThatWaitsIsFound) {
  EXPECT_FALSE(has_running_thread(0));
  for (const bool runs : {false, true}) {
    const pid_t child = fork();
    if (child == 0) {
      std::thread([runs] {
        while (runs) asm volatile("");
        pause();
      }).join();
      _exit(0);
    }
    const auto pid = static_cast<std::uint32_t>(child);
    for (int ms = 0; ms < 10'000 && (state_of_process(pid) != 'S' || has_running_thread(pid) != runs); ++ms)
      usleep(1'000);
    EXPECT_EQ(state_of_process(pid), 'S');
    EXPECT_EQ(has_running_thread(pid), runs);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

// A parent that does not wait for its child: kill(2) finds the zombie.
TEST(ProcStateTest, AZombieHasEnded) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  const auto pid = static_cast<std::uint32_t>(child);
  EXPECT_FALSE(process_ended(pid));
  kill(child, SIGSTOP);
  while (state_of_process(pid) != 'T') usleep(1'000);
  EXPECT_FALSE(process_ended(pid));
  kill(child, SIGKILL);
  while (state_of_process(pid) != 'Z') usleep(1'000);
  EXPECT_EQ(kill(child, 0), 0);
  EXPECT_TRUE(process_ended(pid));
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(process_ended(pid));
}

}  // namespace
}  // namespace rocelab::lockstep
