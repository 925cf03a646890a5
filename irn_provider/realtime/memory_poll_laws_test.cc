#include "irn_provider/realtime/memory_poll_laws.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

class ReplyPredictorTest : public ::testing::Test {
 protected:
  // A message comes, and the program posts so much later.
  void answer(Duration after) {
    law_.came(now_);
    now_ = now_ + after;
    law_.posted(now_);
    now_ = now_ + 5_us;
  }
  ReplyPredictor law_;
  Time now_ = Time::from_ps(1'000'000);
};

TEST_F(ReplyPredictorTest, ExpectsAnAnswerBehindSeveralInARow) {
  for (std::uint32_t i = 0; i < ReplyPredictor::kSure; ++i) {
    EXPECT_FALSE(law_.expects()) << i;
    answer(1_us);
  }
  EXPECT_TRUE(law_.expects());
}

TEST_F(ReplyPredictorTest, WhatComesLateIsNoAnswer) {
  for (int i = 0; i < 10; ++i) answer(ReplyPredictor::kSoon + 1_ns);
  EXPECT_FALSE(law_.expects());
  for (int i = 0; i < 10; ++i) answer(ReplyPredictor::kSoon);
  EXPECT_TRUE(law_.expects());
}

TEST_F(ReplyPredictorTest, PostsWithoutAMessageAreNoAnswers) {
  for (int i = 0; i < 10; ++i) law_.posted(now_);
  EXPECT_FALSE(law_.expects());
}

TEST_F(ReplyPredictorTest, AStreamIsNotAnswered) {
  for (int i = 0; i < 3; ++i) answer(1_us);
  ASSERT_TRUE(law_.expects());
  law_.came(now_);
  EXPECT_TRUE(law_.expects());
  law_.came(now_ + 1_us);  // and no post in between
  EXPECT_FALSE(law_.expects());
}

TEST_F(ReplyPredictorTest, AnAcknowledgementThatWaitedInVainIsTheLastToWait) {
  for (int i = 0; i < 3; ++i) answer(1_us);
  law_.came(now_);
  law_.gave_up();
  EXPECT_FALSE(law_.expects());
  law_.posted(now_);  // of something else
  EXPECT_FALSE(law_.expects());
}

TEST(WakeupPolicyTest, GoesWithoutInterruptsWhenManyInARowWereForNothing) {
  WakeupPolicy law;
  for (std::uint32_t i = 0; i < WakeupPolicy::kPatience; ++i) {
    EXPECT_TRUE(law.wanted()) << i;
    law.needless();
  }
  EXPECT_FALSE(law.wanted());
  law.needed();
  EXPECT_TRUE(law.wanted());
}

TEST(WakeupPolicyTest, OneThatWasNeededStartsTheCountAnew) {
  WakeupPolicy law;
  for (int round = 0; round < 5; ++round) {
    for (std::uint32_t i = 1; i < WakeupPolicy::kPatience; ++i) law.needless();
    law.needed();
  }
  EXPECT_TRUE(law.wanted());
}

}  // namespace
}  // namespace rocelab
