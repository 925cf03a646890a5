// Signals that a program takes from a descriptor, or at a moment of its own: all of its threads block them.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

TEST(SignalProbe, ASignalThatTheProgramBlocksWaitsForIt) {
  sigset_t mine, before, pending;
  sigemptyset(&mine);
  sigaddset(&mine, SIGUSR2);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &mine, &before), 0);
  Loopback l;
  l.connect();
  ASSERT_EQ(kill(getpid(), SIGUSR2), 0);  // ends the process where a thread does not block it
  ASSERT_EQ(l.receive({l.sge(8192, 64)}), 0);
  ASSERT_EQ(l.send(IBV_WR_SEND, {l.sge(0, 64)}), 0);
  EXPECT_EQ(l.wait(l.recv_cq).status, IBV_WC_SUCCESS);
  ASSERT_EQ(sigpending(&pending), 0);
  EXPECT_EQ(sigismember(&pending, SIGUSR2), 1);
  signal(SIGUSR2, SIG_IGN);  // forgets it
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  signal(SIGUSR2, SIG_DFL);
}

std::atomic<int> g_handled{0};

// In real time: frames that are not what it waits for wake the thread over and over, and a signal may come
// while it sees to them.
TEST(RealTimeSignalProbe, ASignalBetweenTwoFramesEndsAWaitForEvents) {
  constexpr int kSignals = 200;
  struct sigaction action {};
  action.sa_handler = [](int) { ++g_handled; };
  ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  Loopback l;
  l.connect();
  std::atomic<int> ended{0};
  const pthread_t waits = pthread_self();
  int unheard = 0;
  std::thread sends([&] {
    sigset_t signal;
    sigemptyset(&signal);
    sigaddset(&signal, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signal, nullptr);
    int writes = 0;
    for (int told = -1; ended < kSignals; ++writes) {
      EXPECT_EQ(l.send(IBV_WR_RDMA_WRITE, {l.sge(0, 8)}, 100), 0);
      EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_SUCCESS);
      if (told == ended && writes < 10'000) continue;
      if (told != ended && writes < 20) continue;  // it waits by now
      if (told == ended) ++unheard;
      told = ended;
      writes = 0;
      pthread_kill(waits, SIGUSR1);
    }
  });
  while (ended < kSignals) {
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    EXPECT_EQ(ibv_get_cq_event(l.channel, &cq, &context), -1);
    EXPECT_EQ(errno, EINTR);
    ++ended;
  }
  sends.join();
  EXPECT_LT(unheard, kSignals / 20) << "some come before the wait";
  signal(SIGUSR1, SIG_DFL);
}

}  // namespace
}  // namespace rocelab::probe
