// exit() in a signal's handler, while the program's threads wait: one in experiment time, one for the
// outside. Run by name alone: it ends the program, in the claims' stead.
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

constexpr int kStatus = 7;

Loopback* g_loopback = nullptr;

void say(const char* text) {
  EXPECT_GT(::write(STDOUT_FILENO, text, std::char_traits<char>::length(text)), 0);
}

// A message over the connection, and its end: both need time to pass.
void at_exit() {
  Loopback& l = *g_loopback;
  if (l.receive({l.sge(8192, 4096)}) == 0 && l.send(IBV_WR_SEND, {l.sge(0, 4096)}) == 0 &&
      l.wait(l.recv_cq).status == IBV_WC_SUCCESS)
    say("arrived\n");
  delete g_loopback;
  say("left\n");
}

void accept_for_ever() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  accept(fd, nullptr, nullptr);
}

void wait_for_signal() {
  g_loopback = new Loopback;
  g_loopback->connect();
  std::atexit(at_exit);
  signal(SIGTERM, [](int) { std::exit(kStatus); });
  std::thread(accept_for_ever).detach();
}

// Parked: the thread leads, since no other one runs.
TEST(ExitWhileParked, ProgramsHandlersRunInExperimentTime) {
  wait_for_signal();
  std::thread([] {
    usleep(1'000);
    say("waits\n");
  }).detach();
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  ibv_get_cq_event(g_loopback->channel, &cq, &context);
}

// In a system call that waits for the outside.
TEST(ExitWhileOutside, ProgramsHandlersRunInExperimentTime) {
  wait_for_signal();
  say("waits\n");
  accept_for_ever();
}

}  // namespace
}  // namespace rocelab::probe
