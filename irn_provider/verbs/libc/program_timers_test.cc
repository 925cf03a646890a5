#include "irn_provider/verbs/libc/program_timers.h"

#include <gtest/gtest.h>

namespace rocelab::libc {
namespace {

siginfo_t signal_with(int number, int code = SI_TIMER) {
  siginfo_t info{};
  info.si_signo = number;
  info.si_code = code;
  return info;
}
constexpr Time at(Duration d) { return Time::zero() + d; }
siginfo_t taken(ProgramTimers& timers, Time now) { return std::get<siginfo_t>(timers.take(now).action); }

TEST(ProgramTimersTest, OneThatIsNotArmedNeverExpires) {
  ProgramTimers timers;
  timers.create(signal_with(SIGALRM));
  EXPECT_EQ(timers.next_timeout(), Time::never());
}

TEST(ProgramTimersTest, ExpiresOnceWithoutAnInterval) {
  ProgramTimers timers;
  const auto id = timers.create(signal_with(SIGALRM, SI_KERNEL));
  timers.set(id, {.due = at(5_us), .interval = {}});
  EXPECT_EQ(timers.next_timeout(), at(5_us));
  const siginfo_t signal = taken(timers, at(5_us));
  EXPECT_EQ(signal.si_signo, SIGALRM);
  EXPECT_EQ(signal.si_code, SI_KERNEL);
  EXPECT_EQ(timers.next_timeout(), Time::never());
}

TEST(ProgramTimersTest, ExpirationsThatNobodyTookInTimeAreOneSignalAndCountAsOverrun) {
  ProgramTimers timers;
  const auto id = timers.create(signal_with(SIGUSR1));
  timers.set(id, {.due = at(10_us), .interval = 10_us});
  EXPECT_EQ(taken(timers, at(10_us)).si_overrun, 0);
  EXPECT_EQ(timers.next_timeout(), at(20_us));
  EXPECT_EQ(taken(timers, at(55_us)).si_overrun, 3) << "20, 30, 40 and 50 us";
  EXPECT_EQ(timers.overrun(id), 3);
  EXPECT_EQ(timers.next_timeout(), at(60_us)) << "in step with the first";
}

TEST(ProgramTimersTest, TheEarlierOneIsFirstAndOfTwoAtOnceTheOlder) {
  ProgramTimers timers;
  const auto older = timers.create(signal_with(SIGUSR1)), younger = timers.create(signal_with(SIGUSR2));
  timers.set(older, {.due = at(7_us), .interval = {}});
  timers.set(younger, {.due = at(3_us), .interval = 4_us});
  EXPECT_EQ(taken(timers, at(3_us)).si_signo, SIGUSR2);
  EXPECT_EQ(taken(timers, at(7_us)).si_signo, SIGUSR1);
  EXPECT_EQ(taken(timers, at(7_us)).si_signo, SIGUSR2);
  EXPECT_EQ(timers.next_timeout(), at(11_us));
  EXPECT_TRUE(timers.erase(younger));
  EXPECT_FALSE(timers.erase(younger));
  EXPECT_EQ(timers.next_timeout(), Time::never());
}

TEST(ProgramTimersTest, KnowsWhatItsTimersSend) {
  ProgramTimers timers;
  const auto id = timers.create(signal_with(SIGUSR1));
  timers.create(signal_with(SIGALRM));
  timers.create({});
  EXPECT_TRUE(timers.erase(id));
  const sigset_t set = timers.signals();
  for (int s = 1; s < SIGRTMIN; ++s) EXPECT_EQ(sigismember(&set, s), s == SIGALRM ? 1 : 0) << s;
}

TEST(ProgramTimersTest, OneBehindADescriptorCountsItsExpirations) {
  ProgramTimers timers;
  const auto other = timers.create(signal_with(SIGALRM)), id = timers.create(ProgramTimers::Readable{});
  timers.set(other, {.due = at(30_us), .interval = {}});
  timers.set(id, {.due = at(20_us), .interval = 10_us});
  EXPECT_EQ(timers.next_timeout(), at(20_us));
  const ProgramTimers::Expiry expiry = timers.take(at(45_us));
  EXPECT_EQ(expiry.id, id);
  EXPECT_EQ(expiry.count, 3) << "20, 30 and 40 us";
  EXPECT_TRUE(std::holds_alternative<ProgramTimers::Readable>(expiry.action));
  EXPECT_EQ(timers.take(at(45_us)).id, other);
  EXPECT_EQ(timers.take(id, at(50_us)).count, 1) << "this one, when it is due";
  const sigset_t set = timers.signals();
  EXPECT_EQ(sigismember(&set, SIGALRM), 1);
}

TEST(ProgramTimersTest, OneWithoutASignalIsNeverWaitedFor) {
  ProgramTimers timers;
  timers.set(timers.create({}), {.due = at(1_us), .interval = 1_us});
  EXPECT_EQ(timers.next_timeout(), Time::never());
}

}  // namespace
}  // namespace rocelab::libc
