// Signals that a program takes from a descriptor, or at a moment of its own: all of its threads block them.
#include <signal.h>
#include <unistd.h>

#include "irn_provider/verbs/probe/loopback.h"

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

}  // namespace
}  // namespace rocelab::probe
