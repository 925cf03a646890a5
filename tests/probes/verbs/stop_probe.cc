// A program that is stopped for longer than time waits for it (SIGSTOP, ^Z), while one of its threads waits
// for the outside: time goes on without it, and it joins again when it goes on.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <thread>

#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

// Real time, in a child: it is outside of the experiment.
pid_t continue_after(std::int64_t ns) {
  const pid_t parent = getpid(), child = fork();
  if (child != 0) return child;
  const timespec t{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  nanosleep(&t, nullptr);
  kill(parent, SIGCONT);
  _exit(0);
}

TEST(StopProbe, AProgramThatGoesOnSleepsThoughOneOfItsThreadsWaitsForTheOutside) {
  ibv_context* context = open_device();
  usleep(1);
  const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_GE(listening, 0);
  ASSERT_EQ(listen(listening, 1), 0);  // at a port of the kernel's choice
  sockaddr_in address{};
  socklen_t length = sizeof address;
  ASSERT_EQ(getsockname(listening, reinterpret_cast<sockaddr*>(&address), &length), 0);
  const pid_t child = continue_after(1'500'000'000);
  std::thread server([listening] {
    const int fd = accept(listening, nullptr, nullptr);
    EXPECT_GE(fd, 0);
    close(fd);
  });
  ASSERT_EQ(raise(SIGSTOP), 0);
  usleep(1'000);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  server.join();
  close(fd);
  close(listening);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  ibv_close_device(context);
}

}  // namespace
}  // namespace rocelab::probe
