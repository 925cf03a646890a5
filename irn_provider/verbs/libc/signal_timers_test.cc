#include "irn_provider/verbs/libc/signal_timers.h"

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

TEST(SignalTimersTest, OneThatIsNotArmedNeverExpires) {
  SignalTimers timers;
  timers.create(signal_with(SIGALRM));
  EXPECT_EQ(timers.next_timeout(), Time::never());
}

TEST(SignalTimersTest, ExpiresOnceWithoutAnInterval) {
  SignalTimers timers;
  const auto id = timers.create(signal_with(SIGALRM, SI_KERNEL));
  timers.set(id, {.due = at(5_us), .interval = {}});
  EXPECT_EQ(timers.next_timeout(), at(5_us));
  const siginfo_t signal = timers.take(at(5_us));
  EXPECT_EQ(signal.si_signo, SIGALRM);
  EXPECT_EQ(signal.si_code, SI_KERNEL);
  EXPECT_EQ(timers.next_timeout(), Time::never());
}

TEST(SignalTimersTest, ExpirationsThatNobodyTookInTimeAreOneSignalAndCountAsOverrun) {
  SignalTimers timers;
  const auto id = timers.create(signal_with(SIGUSR1));
  timers.set(id, {.due = at(10_us), .interval = 10_us});
  EXPECT_EQ(timers.take(at(10_us)).si_overrun, 0);
  EXPECT_EQ(timers.next_timeout(), at(20_us));
  EXPECT_EQ(timers.take(at(55_us)).si_overrun, 3) << "20, 30, 40 and 50 us";
  EXPECT_EQ(timers.overrun(id), 3);
  EXPECT_EQ(timers.next_timeout(), at(60_us)) << "in step with the first";
}

TEST(SignalTimersTest, TheEarlierOneIsFirstAndOfTwoAtOnceTheOlder) {
  SignalTimers timers;
  const auto older = timers.create(signal_with(SIGUSR1)), younger = timers.create(signal_with(SIGUSR2));
  timers.set(older, {.due = at(7_us), .interval = {}});
  timers.set(younger, {.due = at(3_us), .interval = 4_us});
  EXPECT_EQ(timers.take(at(3_us)).si_signo, SIGUSR2);
  EXPECT_EQ(timers.take(at(7_us)).si_signo, SIGUSR1);
  EXPECT_EQ(timers.take(at(7_us)).si_signo, SIGUSR2);
  EXPECT_EQ(timers.next_timeout(), at(11_us));
  EXPECT_TRUE(timers.erase(younger));
  EXPECT_FALSE(timers.erase(younger));
  EXPECT_EQ(timers.next_timeout(), Time::never());
}

TEST(SignalTimersTest, KnowsWhatItsTimersSend) {
  SignalTimers timers;
  const auto id = timers.create(signal_with(SIGUSR1));
  timers.create(signal_with(SIGALRM));
  timers.create(std::nullopt);
  EXPECT_TRUE(timers.erase(id));
  const sigset_t set = timers.signals();
  for (int s = 1; s < SIGRTMIN; ++s) EXPECT_EQ(sigismember(&set, s), s == SIGALRM ? 1 : 0) << s;
}

TEST(SignalTimersTest, OneWithoutASignalIsNeverWaitedFor) {
  SignalTimers timers;
  timers.set(timers.create(std::nullopt), {.due = at(1_us), .interval = 1_us});
  EXPECT_EQ(timers.next_timeout(), Time::never());
}

}  // namespace
}  // namespace rocelab::libc
