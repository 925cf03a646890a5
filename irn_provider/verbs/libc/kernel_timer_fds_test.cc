#include "irn_provider/verbs/libc/kernel_timer_fds.h"

#include <gtest/gtest.h>

namespace rocelab::libc {
namespace {

TEST(KernelTimerFdsTest, WhatTheKernelSaysOfATimerIsRead) {
  const auto timer = parse_timer_fd(
      "pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t9\nclockid: 1\nticks: 3\nsettime flags: 01\n"
      "it_value: (4, 49406829)\nit_interval: (1, 5)\n");
  ASSERT_TRUE(timer.has_value());
  EXPECT_EQ(timer->clock, CLOCK_MONOTONIC);
  EXPECT_EQ(timer->unread, 3u);
  EXPECT_EQ(timer->left.it_value.tv_sec, 4);
  EXPECT_EQ(timer->left.it_value.tv_nsec, 49'406'829);
  EXPECT_EQ(timer->left.it_interval.tv_sec, 1);
  EXPECT_EQ(timer->left.it_interval.tv_nsec, 5);
}

TEST(KernelTimerFdsTest, OtherDescriptorsAreNone) {
  EXPECT_FALSE(parse_timer_fd("pos:\t0\nflags:\t02\neventfd-count: 0\n").has_value());
  EXPECT_FALSE(parse_timer_fd("").has_value());
  EXPECT_FALSE(parse_timer_fd("clockid: 1\nticks: 3\n").has_value());
}

}  // namespace
}  // namespace rocelab::libc
