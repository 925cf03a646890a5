// The coordinator against VFs that a test plays by hand in one thread: what it grants, to whom, and what it
// waits for.
#include "lockstep/coordinator.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "lockstep/test_segment.h"

namespace rocelab::lockstep {
namespace {

constexpr std::int64_t kNoWait = 0, kLong = 2'000'000'000;

class CoordinatorTest : public ::testing::Test {
 protected:
  VfSlot& slot(std::uint32_t vf) { return segment_->vfs()[vf]; }
  void claim(std::uint32_t vf, pid_t pid = getpid()) {
    slot(vf).promise_ps.store(Time::never().ps());
    slot(vf).hold.store(1);
    slot(vf).pid.store(static_cast<std::uint32_t>(pid));
    slot(vf).state.store(VfState::kClaimed);
  }
  // All threads parked; next own event at `promise`.
  void park(std::uint32_t vf, Time promise) {
    slot(vf).promise_ps.store(promise.ps());
    if (slot(vf).done_seq.load() != slot(vf).grant_seq.load()) {
      slot(vf).done_seq.store(slot(vf).grant_seq.load());
      segment_->header().pending.fetch_sub(1);
    }
    slot(vf).hold.store(0);
  }
  static void expect_hosts(Step step, Time end) {
    EXPECT_EQ(step.turn, Turn::kHosts);
    EXPECT_EQ(step.end, end);
  }
  static void expect_switches(Step step, Time end) {
    EXPECT_EQ(step.turn, Turn::kSwitches);
    EXPECT_EQ(step.end, end);
  }
  // Ports 1 and 2 become two ends of a link.
  void link_switches() {
    segment_->ports()[1].peer_port = 2;
    segment_->ports()[2].peer_port = 1;
    coordinator_ = std::make_unique<Coordinator>(*segment_);
  }
  bool granted(std::uint32_t vf) { return slot(vf).done_seq.load() != slot(vf).grant_seq.load(); }

  TestSegment segment_{plain_plan(3)};
  std::unique_ptr<Coordinator> coordinator_ = std::make_unique<Coordinator>(*segment_);
  const Duration lookahead_ = Duration::from_ps(segment_->header().lookahead_ps);
};

TEST_F(CoordinatorTest, WindowEndsOneLookaheadAfterTheEarliestEvent) {
  claim(0);
  claim(1);
  park(0, Time::zero() + 5_us);
  park(1, Time::zero() + 50_us);
  ASSERT_TRUE(coordinator_->wait_ready(kNoWait));
  expect_hosts(coordinator_->next_step(Time::never()), Time::zero() + 5_us + lookahead_ * 2);
  EXPECT_TRUE(granted(0));
  EXPECT_FALSE(granted(1));
  EXPECT_EQ(coordinator_->participants(), std::vector<std::uint32_t>{0});
}

// The switches are brought up to one lookahead behind the hosts' next event before the hosts go on.
TEST_F(CoordinatorTest, SwitchesRunBeforeTheHostsAreWoken) {
  claim(0);
  park(0, Time::zero() + 9_us);
  ASSERT_TRUE(coordinator_->wait_ready(kNoWait));
  expect_switches(coordinator_->next_step(Time::zero() + 1_us), Time::zero() + 1_us + lookahead_ * 2);
  EXPECT_FALSE(granted(0));
  expect_switches(coordinator_->next_step(Time::zero() + 8_us), Time::zero() + 9_us + lookahead_);
  expect_hosts(coordinator_->next_step(Time::zero() + 9_us + lookahead_),
               Time::zero() + 9_us + lookahead_ * 2);
  EXPECT_TRUE(granted(0));
}

// What a switch does at its next event reaches a host one lookahead later at the earliest.
TEST_F(CoordinatorTest, HostsDoNotPassTheSwitchesNextEventByMoreThanTheLookahead) {
  claim(0);
  park(0, Time::zero() + 5_us);
  ASSERT_TRUE(coordinator_->wait_ready(kNoWait));
  const Time switch_next = Time::zero() + 5_us + lookahead_ / 2;
  expect_hosts(coordinator_->next_step(switch_next), switch_next + lookahead_);
}

TEST_F(CoordinatorTest, LinkedSwitchesRunInPassesOfOneLookahead) {
  link_switches();
  claim(0);
  park(0, Time::zero() + 9_us);
  ASSERT_TRUE(coordinator_->wait_ready(kNoWait));
  expect_switches(coordinator_->next_step(Time::zero() + 1_us), Time::zero() + 1_us + lookahead_);
  expect_switches(coordinator_->next_step(Time::zero() + 8_us), Time::zero() + 8_us + lookahead_);
}

// A program that starts to hold while the switches run must not send into their past.
TEST_F(CoordinatorTest, WhoJoinsDuringTheSwitchesTurnJoinsWhereTheyCanStillHearIt) {
  claim(0);
  park(0, Time::zero() + 9_us);
  ASSERT_TRUE(coordinator_->wait_ready(kNoWait));
  const Step step = coordinator_->next_step(Time::zero() + 1_us);
  expect_switches(step, Time::zero() + 1_us + lookahead_ * 2);
  EXPECT_EQ(Time::from_ps(segment_->header().committed_ps.load()) + lookahead_, step.end);
}

TEST_F(CoordinatorTest, AnnouncedInputCountsAsAnEvent) {
  claim(0);
  park(0, Time::never());
  ASSERT_TRUE(coordinator_->wait_ready(kNoWait));
  EXPECT_EQ(coordinator_->next_step(Time::never()).turn, Turn::kNobody);
  coordinator_->note_input(0, Time::zero() + 7_us);
  expect_hosts(coordinator_->next_step(Time::never()), Time::zero() + 7_us + lookahead_ * 2);
  EXPECT_TRUE(granted(0));
}

TEST_F(CoordinatorTest, WaitsForTheSlowestParticipantAndForWhoeverHolds) {
  claim(0);
  claim(1);
  park(0, Time::zero() + 1_us);
  park(1, Time::zero() + 1_us);
  ASSERT_TRUE(coordinator_->wait_ready(kNoWait));
  ASSERT_EQ(coordinator_->next_step(Time::never()).turn, Turn::kHosts);
  EXPECT_FALSE(coordinator_->wait_ready(kNoWait));
  park(0, Time::never());
  EXPECT_FALSE(coordinator_->wait_ready(kNoWait));
  park(1, Time::never());
  EXPECT_TRUE(coordinator_->wait_ready(kNoWait));
  slot(1).hold.store(1);
  EXPECT_FALSE(coordinator_->wait_ready(kNoWait));
  EXPECT_EQ(coordinator_->next_step(Time::zero() + 90_us).turn,
            Turn::kNobody);  // a holder that came between the two calls
}

TEST_F(CoordinatorTest, TimeNeverGoesBack) {
  claim(0);
  park(0, Time::zero() + 10_us);
  ASSERT_TRUE(coordinator_->wait_ready(kNoWait));
  const Time first = coordinator_->next_step(Time::never()).end;
  park(0, Time::zero() + 3_us);  // a VF that lost its place in time
  ASSERT_TRUE(coordinator_->wait_ready(kNoWait));
  expect_hosts(coordinator_->next_step(Time::never()), first);
}

TEST_F(CoordinatorTest, GateStaysClosedUntilAllProgramsAreThereAndParked) {
  segment_->header().expected_participants = 2;
  claim(0);
  park(0, Time::zero() + 1_us);
  EXPECT_EQ(coordinator_->next_step(Time::never()).turn, Turn::kNobody);
  claim(1);
  EXPECT_EQ(coordinator_->next_step(Time::never()).turn, Turn::kNobody);
  EXPECT_FALSE(coordinator_->gate_open());
  park(1, Time::zero() + 1_us);
  EXPECT_EQ(coordinator_->next_step(Time::never()).turn, Turn::kHosts);
  EXPECT_TRUE(coordinator_->gate_open());
}

TEST_F(CoordinatorTest, EndOfAProcessReleasesItsSlot) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  claim(0, child);
  park(0, Time::zero() + 1_us);
  claim(1);
  park(1, Time::never());
  ASSERT_TRUE(coordinator_->wait_ready(kNoWait));
  ASSERT_EQ(coordinator_->next_step(Time::never()).turn, Turn::kHosts);
  kill(child, SIGKILL);
  EXPECT_TRUE(coordinator_->wait_ready(kLong));  // although VF 0 never finished its window
  EXPECT_EQ(slot(0).state.load(), VfState::kDead);
  EXPECT_EQ(coordinator_->take_ended(), std::vector<std::uint32_t>{0});
  coordinator_->release(0);
  EXPECT_EQ(slot(0).state.load(), VfState::kFree);
  EXPECT_EQ(slot(0).pid.load(), 0u);
  waitpid(child, nullptr, 0);
}

// A child with VF 0, in a window that it does not finish.
class SilentProcessTest : public CoordinatorTest {
 protected:
  SilentProcessTest() {
    segment_->header().grace_wall_ns = 5'000'000;
    child_ = fork();
    if (child_ == 0) {
      for (;;) pause();
    }
    claim(0, child_);
    park(0, Time::zero() + 1_us);
    EXPECT_TRUE(coordinator_->wait_ready(kNoWait));
    EXPECT_EQ(coordinator_->next_step(Time::never()).turn, Turn::kHosts);
  }
  ~SilentProcessTest() override {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  void stop() {
    ASSERT_EQ(kill(child_, SIGSTOP), 0);
    ASSERT_EQ(waitpid(child_, nullptr, WUNTRACED), child_);
  }
  pid_t child_ = 0;
};

TEST_F(SilentProcessTest, AStoppedOneHoldsTimeAndHasTheWholeGraceWhenItGoesOn) {
  stop();
  EXPECT_FALSE(coordinator_->wait_ready(100'000'000));
  EXPECT_EQ(slot(0).excluded.load(), 0u);
  EXPECT_EQ(slot(0).detach_request.load(), 0u);
  segment_->header().grace_wall_ns = 10'000'000'000;
  kill(child_, SIGCONT);
  EXPECT_FALSE(coordinator_->wait_ready(20'000'000));
  EXPECT_EQ(slot(0).detach_request.load(), 0u);
  EXPECT_EQ(segment_->header().detaches.load(), 0u);
}

TEST_F(SilentProcessTest, AStoppedOneIsLeftBehindAfterItsTime) {
  segment_->header().stopped_wall_ns = 50'000'000;
  stop();
  EXPECT_FALSE(coordinator_->wait_ready(20'000'000));
  EXPECT_TRUE(coordinator_->wait_ready(kLong));
  EXPECT_EQ(slot(0).excluded.load(), 1u);
  EXPECT_EQ(segment_->header().detaches.load(), 1u);
}

TEST_F(SilentProcessTest, OneThatADebuggerHoldsIsWaitedForAndUnderTheWallClockIsNot) {
  segment_->header().stopped_wall_ns = 20'000'000;
  ASSERT_EQ(ptrace(PTRACE_SEIZE, child_, nullptr, nullptr), 0);
  ASSERT_EQ(ptrace(PTRACE_INTERRUPT, child_, nullptr, nullptr), 0);
  ASSERT_EQ(waitpid(child_, nullptr, __WALL), child_);
  EXPECT_FALSE(coordinator_->wait_ready(200'000'000));
  EXPECT_EQ(slot(0).excluded.load(), 0u);
  segment_->header().dilation = 1;
  EXPECT_TRUE(coordinator_->wait_ready(kLong));
  EXPECT_EQ(slot(0).excluded.load(), 1u);
}

// Time stands for the other one anyhow, and an answer may come from it.
TEST_F(SilentProcessTest, ABlockedOneIsNotAskedToGoWhileAnotherOneComputes) {
  const pid_t busy = fork();
  if (busy == 0) {
    for (std::uint32_t turns = 0;; ++turns) asm volatile("" : "+r"(turns));
  }
  claim(1, busy);
  EXPECT_FALSE(coordinator_->wait_ready(100'000'000));
  EXPECT_EQ(slot(0).detach_request.load(), 0u);
  EXPECT_EQ(slot(1).detach_request.load(), 1u) << "it may wait in a loop";
  kill(busy, SIGKILL);
  waitpid(busy, nullptr, 0);
  EXPECT_FALSE(coordinator_->wait_ready(100'000'000));
  EXPECT_EQ(slot(0).detach_request.load(), 1u);
}

// As in a frozen control group: it is not stopped, and does not do what it is asked for.
TEST_F(SilentProcessTest, OneThatDoesNotAnswerIsLeftBehind) {
  segment_->header().stuck_wall_ns = 50'000'000;
  EXPECT_FALSE(coordinator_->wait_ready(80'000'000));
  EXPECT_EQ(slot(0).detach_request.load(), 2u);
  EXPECT_TRUE(coordinator_->wait_ready(kLong));
  EXPECT_EQ(slot(0).excluded.load(), 1u);
}

TEST_F(CoordinatorTest, FailureIsReadableAndStopsTheClock) {
  claim(0);
  park(0, Time::zero() + 1_us);
  coordinator_->fail("a reason");
  EXPECT_EQ(coordinator_->next_step(Time::never()).turn, Turn::kNobody);
  EXPECT_STREQ(segment_->header().error, "a reason");
  EXPECT_EQ(segment_->header().state.load(), RunState::kFailed);
}

// The switches run up to the change of rules and not beyond; hosts go on as long as nothing that they send
// arrives later than it.
TEST_F(CoordinatorTest, TimeStopsWhereTheRulesChange) {
  const Time change = Time::zero() + 10_us;
  segment_->header().stop_ps.store(change.ps());
  claim(0);
  park(0, Time::zero() + 50_us);
  ASSERT_TRUE(coordinator_->wait_ready(kNoWait));
  expect_switches(coordinator_->next_step(Time::zero() + 9_us), change);
  EXPECT_EQ(segment_->header().stop_due.load(), 0u);
  for (int i = 0; i < 2; ++i) {  // all before it is done: asked again it still waits
    EXPECT_EQ(coordinator_->next_step(Time::never()).turn, Turn::kNobody);
    EXPECT_EQ(segment_->header().stop_due.load(), 1u);
  }
  segment_->header().stop_ps.store(Time::never().ps());
  segment_->header().stop_due.store(0);
  expect_hosts(coordinator_->next_step(Time::never()), Time::zero() + 50_us + lookahead_ * 2);
}

TEST_F(CoordinatorTest, AFrameThatArrivesAtTheChangeItselfWaitsForTheNewRules) {
  const Time change = Time::zero() + 10_us;
  segment_->header().stop_ps.store(change.ps());
  claim(0);
  park(0, Time::zero() + 50_us);
  ASSERT_TRUE(coordinator_->wait_ready(kNoWait));
  EXPECT_EQ(coordinator_->next_step(change).turn, Turn::kNobody);
  EXPECT_EQ(segment_->header().stop_due.load(), 1u);
}

// A frame sent at its promise still arrives before the change.
TEST_F(CoordinatorTest, HostsWhoseFramesArriveBeforeTheChangeGoOn) {
  claim(0);
  park(0, Time::zero() + 5_us);
  segment_->header().stop_ps.store((Time::zero() + 5_us + lookahead_ + Duration::from_ps(1)).ps());
  ASSERT_TRUE(coordinator_->wait_ready(kNoWait));
  expect_hosts(coordinator_->next_step(Time::never()), Time::zero() + 5_us + lookahead_ * 2);
  park(0, Time::zero() + 5_us + Duration::from_ps(1));
  ASSERT_TRUE(coordinator_->wait_ready(kNoWait));
  EXPECT_EQ(coordinator_->next_step(Time::never()).turn, Turn::kNobody);
  EXPECT_EQ(segment_->header().stop_due.load(), 1u);
}

// Entries 0 and 1 are the NICs of one host: a process has slots 0 and 1, and slot 0 leads.
class CoordinatorOfNicsTest : public CoordinatorTest {
 protected:
  CoordinatorOfNicsTest() {
    slot(1).lead = 0;
    coordinator_ = std::make_unique<Coordinator>(*segment_);
    claim(0);
    claim(1);
    slot(1).hold.store(0);
  }
};

TEST_F(CoordinatorOfNicsTest, WhatComesToOneNicOpensTheWindowOfItsProcess) {
  park(0, Time::never());
  coordinator_->note_input(1, Time::zero() + 5_us);
  ASSERT_TRUE(coordinator_->wait_ready(kNoWait));
  expect_hosts(coordinator_->next_step(Time::never()), Time::zero() + 5_us + lookahead_ * 2);
  EXPECT_TRUE(granted(0));
  EXPECT_FALSE(granted(1)) << "it follows";
  EXPECT_EQ(coordinator_->participants(), (std::vector<std::uint32_t>{0, 1})) << "both rings may have news";
  EXPECT_EQ(segment_->header().pending.load(), 1u);
}

TEST_F(CoordinatorOfNicsTest, AGatewayHasWindowsOfItsOwn) {
  for (const std::uint32_t nic : {0u, 1u}) slot(nic).gateway.store(1);
  park(0, Time::zero() + 50_us);
  park(1, Time::zero() + 90_us);
  coordinator_->note_input(1, Time::zero() + 5_us);
  ASSERT_TRUE(coordinator_->wait_ready(kNoWait));
  expect_hosts(coordinator_->next_step(Time::never()), Time::zero() + 5_us + lookahead_ * 2);
  EXPECT_FALSE(granted(0));
  EXPECT_TRUE(granted(1));
  EXPECT_EQ(coordinator_->participants(), std::vector<std::uint32_t>{1});
  park(1, Time::never());
  ASSERT_TRUE(coordinator_->wait_ready(kNoWait));
  expect_hosts(coordinator_->next_step(Time::never()), Time::zero() + 50_us + lookahead_ * 2);
  EXPECT_TRUE(granted(0));
  EXPECT_FALSE(granted(1));
  EXPECT_EQ(coordinator_->participants(), std::vector<std::uint32_t>{0});
}

TEST_F(CoordinatorOfNicsTest, TheGateCountsProcesses) {
  segment_->header().expected_participants = 2;
  park(0, Time::zero() + 1_us);
  ASSERT_TRUE(coordinator_->wait_ready(kNoWait));
  coordinator_->next_step(Time::never());
  EXPECT_FALSE(coordinator_->gate_open());
  claim(2);
  park(2, Time::zero() + 1_us);
  ASSERT_TRUE(coordinator_->wait_ready(kNoWait));
  coordinator_->next_step(Time::never());
  EXPECT_TRUE(coordinator_->gate_open());
}

}  // namespace
}  // namespace rocelab::lockstep
