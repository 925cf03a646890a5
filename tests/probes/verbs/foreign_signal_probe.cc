// Signals from outside of experiment time (kill, ^C) that find a thread waiting: handlers run, what they do
// is heard of, and the wait ends where the kernel's would.
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <thread>

#include "irn_provider/verbs/sanitizer.h"
#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

std::function<void()> g_in_handler;
std::atomic<int> g_handled{0};

void on_signal(int) {
  ++g_handled;
  if (g_in_handler) g_in_handler();
}

// A child, which has no device, sends it when the program waits, and again, should it not have waited yet:
// its clock is the machine's.
class ForeignSignalProbe : public ::testing::Test {
 protected:
  ForeignSignalProbe() : context_(open_device()), channel_(ibv_create_comp_channel(context_)) {
    g_handled = 0;
    g_in_handler = nullptr;
  }
  ~ForeignSignalProbe() override {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
    signal(SIGUSR1, SIG_IGN);
    ibv_destroy_comp_channel(channel_);
    ibv_close_device(context_);
  }
  void expect_signal(int flags, std::function<void()> in_handler = nullptr) {
    g_in_handler = std::move(in_handler);
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = flags;
    ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
    child_ = fork();
    if (child_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (usleep(50'000) == 0) kill(getppid(), SIGUSR1);
    _exit(0);
  }

  ibv_context* context_;
  ibv_comp_channel* channel_;
  pid_t child_ = -1;
};

TEST_F(ForeignSignalProbe, AHandlerPostsASemaphoreThatItsThreadWaitsFor) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  expect_signal(SA_RESTART, [&] { sem_post(&semaphore); });
  EXPECT_EQ(sem_wait(&semaphore), 0);
  EXPECT_GE(g_handled, 1);
}

TEST_F(ForeignSignalProbe, AHandlerPostsASemaphoreThatAnotherThreadWaitsFor) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  expect_signal(SA_RESTART, [&] { sem_post(&semaphore); });
  std::thread([&] { EXPECT_EQ(sem_wait(&semaphore), 0); }).join();
  EXPECT_GE(g_handled, 1);
}

TEST_F(ForeignSignalProbe, AHandlerWritesToAPipeThatIsPolledBesideAChannel) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  expect_signal(SA_RESTART, [&] { EXPECT_EQ(write(ends[1], "x", 1), 1); });
  pollfd fds[] = {{.fd = ends[0], .events = POLLIN, .revents = 0},
                  {.fd = channel_->fd, .events = POLLIN, .revents = 0}};
  int ready = poll(fds, 2, -1);
  if (ready < 0 && errno == EINTR) ready = poll(fds, 2, -1);
  EXPECT_EQ(ready, 1);
  EXPECT_EQ(fds[0].revents, POLLIN);
  for (const int end : ends) close(end);
}

TEST_F(ForeignSignalProbe, PollEndsWhateverTheHandlerWasInstalledWith) {
  expect_signal(SA_RESTART);
  pollfd p{.fd = channel_->fd, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&p, 1, -1), -1);
  EXPECT_EQ(errno, EINTR);
  EXPECT_GE(g_handled, 1);
}

TEST_F(ForeignSignalProbe, WaitsForEventsEnd) {
  expect_signal(0);
  ibv_cq* cq = nullptr;
  void* of_cq = nullptr;
  EXPECT_EQ(ibv_get_cq_event(channel_, &cq, &of_cq), -1);
  EXPECT_EQ(errno, EINTR);
  EXPECT_GE(g_handled, 1);
}

TEST_F(ForeignSignalProbe, WaitsForAsynchronousEventsEnd) {
  expect_signal(0);
  ibv_async_event event{};
  EXPECT_EQ(ibv_get_async_event(context_, &event), -1);
  EXPECT_EQ(errno, EINTR);
}

// Until there is an event.
TEST_F(ForeignSignalProbe, WaitsForEventsGoOnBehindAHandlerThatRestartsCalls) {
  if (kThreadSanitizer) GTEST_SKIP() << "it installs handlers without SA_RESTART";
  Loopback l;
  l.connect();
  ASSERT_EQ(ibv_req_notify_cq(l.recv_cq, 0), 0);
  expect_signal(SA_RESTART);
  std::thread sends([&] {
    sigset_t signal;
    sigemptyset(&signal);
    sigaddset(&signal, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signal, nullptr);
    while (g_handled < 3) usleep(1'000);
    EXPECT_EQ(l.receive({l.sge(100, 8)}), 0);
    EXPECT_EQ(l.send(IBV_WR_SEND, {l.sge(0, 8)}), 0);
  });
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  const int error = ibv_get_cq_event(l.channel, &cq, &context);
  EXPECT_EQ(error, 0);
  EXPECT_EQ(cq, l.recv_cq);
  if (error == 0) ibv_ack_cq_events(l.recv_cq, 1);
  sends.join();
}

TEST_F(ForeignSignalProbe, SemaphoresEnd) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  expect_signal(0);
  EXPECT_EQ(sem_wait(&semaphore), -1);
  EXPECT_EQ(errno, EINTR);
}

// The handler ends the wait by what it does; that alone would not.
TEST_F(ForeignSignalProbe, AReadGoesOnBehindAHandlerThatRestartsCalls) {
  if (kThreadSanitizer) GTEST_SKIP() << "it holds the handler back until the call is over";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  expect_signal(SA_RESTART, [&] { EXPECT_EQ(write(ends[1], "x", 1), 1); });
  char c = 0;
  EXPECT_EQ(read(ends[0], &c, 1), 1);
  EXPECT_EQ(c, 'x');
  EXPECT_GE(g_handled, 1);
  for (const int end : ends) close(end);
}

}  // namespace
}  // namespace rocelab::probe
