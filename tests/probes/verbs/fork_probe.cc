// Programs that fork: the device stays the parent's; a child may open one of its own.
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <vector>

#include "irn_provider/verbs/sanitizer.h"
#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

int status_of(pid_t child) {
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + status;
}

void expect_that_it_moves(Loopback& l) {
  for (std::size_t i = 0; i < 4096; ++i) l.memory[i] = static_cast<unsigned char>(i), l.memory[8192 + i] = 0;
  ASSERT_EQ(l.receive({l.sge(8192, 4096)}), 0);
  ASSERT_EQ(l.send(IBV_WR_SEND, {l.sge(0, 4096)}), 0);
  EXPECT_EQ(l.wait(l.recv_cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(std::equal(l.memory.begin(), l.memory.begin() + 4096, l.memory.begin() + 8192));
}

TEST(ForkProbe, AChildThatEndsLeavesItsParentTheDevice) {
  EXPECT_EQ(ibv_fork_init(), 0);
  Loopback l;
  l.connect();
  expect_that_it_moves(l);
  for (const bool with_handlers : {false, true}) {
    const pid_t child = fork();
    if (child == 0) {
      if (with_handlers) std::exit(7);  // handlers of exit() must not take the parent's place away
      _exit(7);
    }
    EXPECT_EQ(status_of(child), 7);
    expect_that_it_moves(l);
  }
  const pid_t child = fork();
  if (child == 0) {
    execlp("ibv_devices", "ibv_devices", nullptr);  // the library again, in its place
    _exit(127);
  }
  EXPECT_EQ(status_of(child), 0);
  expect_that_it_moves(l);
}

TEST(ForkProbe, AChildsDescriptorsAreItsChildrens) {
  Loopback l;
  const pid_t child = fork();
  if (child == 0) {
    std::vector<int> opened;
    for (int i = 0; i < 16; ++i) opened.push_back(dup(STDIN_FILENO));  // where the device's sockets were
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      for (const int fd : opened)
        if (fcntl(fd, F_GETFD) < 0) _exit(8);
      _exit(7);
    }
    int status = -1;
    waitpid(grandchild, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 9);
  }
  EXPECT_EQ(status_of(child), 7);
}

// The child lives outside of experiment time, and nothing happens in it meanwhile.
TEST(ForkProbe, ASemaphoreThatAnotherProcessPostsIsSeen) {
  Loopback l;
  void* const shared =
      mmap(nullptr, sizeof(sem_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const semaphore = static_cast<sem_t*>(shared);
  ASSERT_EQ(sem_init(semaphore, 1, 0), 0);
  const pid_t child = fork();
  if (child == 0) {
    usleep(20'000);
    sem_post(semaphore);
    _exit(0);
  }
  EXPECT_EQ(sem_wait(semaphore), 0);
  EXPECT_EQ(status_of(child), 0);
  timespec deadline{};
  EXPECT_EQ(clock_gettime(CLOCK_REALTIME, &deadline), 0);
  deadline.tv_nsec += 5'000'000;
  if (deadline.tv_nsec >= 1'000'000'000) ++deadline.tv_sec, deadline.tv_nsec -= 1'000'000'000;
  EXPECT_EQ(sem_timedwait(semaphore, &deadline), -1);
  EXPECT_EQ(errno, ETIMEDOUT);
  munmap(shared, sizeof(sem_t));
}

void expect_that_its_context_is_refused(Loopback& l) {
  errno = 0;
  EXPECT_EQ(ibv_alloc_pd(l.context), nullptr);
  EXPECT_EQ(errno, ENODEV);
  EXPECT_EQ(ibv_create_cq(l.context, 8, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(ibv_create_comp_channel(l.context), nullptr);
  EXPECT_EQ(ibv_reg_mr(l.pd, l.memory.data(), 8, 0), nullptr);
  EXPECT_EQ(errno, ENODEV);
}

// A child that ends with exit() runs the destructors of what its parent has made, or it cleans up itself: the
// device is the parent's, and goes on working.
TEST(ForkProbe, AChildMayDestroyWhatItsParentHasMade) {
  Loopback l;
  l.connect();
  ASSERT_EQ(ibv_req_notify_cq(l.recv_cq, 0), 0);
  const pid_t child = fork();
  if (child == 0) {
    ibv_wc wc;
    EXPECT_EQ(ibv_poll_cq(l.recv_cq, 1, &wc), -1);
    EXPECT_EQ(l.send(IBV_WR_SEND, {l.sge(0, 8)}), ENODEV);
    EXPECT_EQ(l.receive({l.sge(0, 8)}), ENODEV);
    EXPECT_EQ(ibv_req_notify_cq(l.recv_cq, 0), ENODEV);
    ibv_cq* ready = nullptr;
    void* cq_context = nullptr;
    EXPECT_EQ(ibv_get_cq_event(l.channel, &ready, &cq_context), -1);
    EXPECT_EQ(errno, ENODEV);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_ERR;
    EXPECT_EQ(ibv_modify_qp(l.a, &attr, IBV_QP_STATE), ENODEV);
    l.~Loopback();
    _exit(HasFailure() ? 1 : 0);
  }
  EXPECT_EQ(status_of(child), 0);
  expect_that_it_moves(l);
}

// A CQ of the child's has the number of the parent's that waits for a completion, if that is not too high.
TEST(ForkProbe, WhatAChildCompletesIsNoEventOfItsParents) {
  if (kThreadSanitizer) GTEST_SKIP() << "it knows no threads of a forked child";
  constexpr std::size_t kMost = 16;
  Loopback l;
  l.connect();
  ASSERT_EQ(ibv_req_notify_cq(l.recv_cq, 0), 0);
  const pid_t child = fork();
  if (child == 0) {
    expect_that_its_context_is_refused(l);
    std::vector<std::unique_ptr<Loopback>> own;
    do own.push_back(std::make_unique<Loopback>());
    while (own.back()->recv_cq->handle < l.recv_cq->handle && own.size() < kMost);
    own.back()->connect();
    expect_that_it_moves(*own.back());
    expect_that_its_context_is_refused(l);
    _exit(HasFailure() ? 1 : 0);
  }
  EXPECT_EQ(status_of(child), 0);
  pollfd wait{.fd = l.channel->fd, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&wait, 1, 0), 0);
  expect_that_it_moves(l);
  EXPECT_EQ(poll(&wait, 1, 0), 1);
}

// In lock step the parent is left behind while it waits for its child. The child's waits, for its device and
// for others, are in experiment time like the parent's.
TEST(ForkProbe, AChildOpensADeviceOfItsOwn) {
  if (kThreadSanitizer) GTEST_SKIP() << "it knows no threads of a forked child";
  Loopback l;
  l.connect();
  expect_that_it_moves(l);
  const pid_t child = fork();
  if (child == 0) {
    {
      Loopback own;
      own.connect();
      expect_that_it_moves(own);
      if (own.a->qp_num == l.a->qp_num || own.a->qp_num == l.b->qp_num) _exit(2);
      usleep(100);
    }
    std::exit(HasFailure() ? 1 : 0);
  }
  expect_that_it_moves(l);
  EXPECT_EQ(status_of(child), 0);
  expect_that_it_moves(l);
}

// A SEND whose acknowledgement the sender does not wait for, and whose sender ends at once.
TEST(ForkProbe, WhatAChildHasPostedBeforeItsExitWithoutHandlersArrives) {
  if (kThreadSanitizer) GTEST_SKIP() << "it knows no threads of a forked child";
  Loopback l;
  int numbers[2] = {-1, -1}, back[2] = {-1, -1};
  ASSERT_EQ(pipe(numbers), 0);
  ASSERT_EQ(pipe(back), 0);
  const pid_t child = fork();
  if (child == 0) {
    Loopback own;
    std::uint32_t peer = 0, mine = own.a->qp_num;
    if (write(back[1], &mine, sizeof mine) != sizeof mine ||
        read(numbers[0], &peer, sizeof peer) != sizeof peer)
      _exit(2);
    own.connect_to(own.a, peer);
    for (std::size_t i = 0; i < 4096; ++i) own.memory[i] = static_cast<unsigned char>(i);
    if (own.send(IBV_WR_SEND, {own.sge(0, 4096)}) != 0) _exit(3);
    _exit(0);
  }
  std::uint32_t peer = 0;
  const std::uint32_t mine = l.b->qp_num;
  ASSERT_EQ(read(back[0], &peer, sizeof peer), static_cast<ssize_t>(sizeof peer));
  l.connect_to(l.b, peer);
  ASSERT_EQ(l.receive({l.sge(8192, 4096)}), 0);
  ASSERT_EQ(write(numbers[1], &mine, sizeof mine), static_cast<ssize_t>(sizeof mine));
  EXPECT_EQ(l.wait(l.recv_cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(status_of(child), 0);
  for (std::size_t i = 0; i < 4096; ++i) ASSERT_EQ(l.memory[8192 + i], static_cast<unsigned char>(i));
  for (const int fd : {numbers[0], numbers[1], back[0], back[1]}) close(fd);
}

// Its numbers are the child's to use: what the parent waited for by them is not what the child waits for.
TEST(ForkProbe, ADescriptorOfTheParentsIsNotTheChildsOfTheSameNumber) {
  if (kThreadSanitizer) GTEST_SKIP() << "it knows no threads of a forked child";
  ibv_context* context = open_device();
  ibv_comp_channel* channel = ibv_create_comp_channel(context);
  ASSERT_NE(channel, nullptr);
  int ends[2] = {-1, -1};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (dup2(ends[0], channel->fd) < 0) _exit(2);
    if (open_device() == nullptr) _exit(3);
    pollfd p{.fd = channel->fd, .events = POLLIN, .revents = 0};
    _exit(poll(&p, 1, -1) == 1 ? 0 : 4);
  }
  usleep(1'000);
  EXPECT_EQ(write(ends[1], "x", 1), 1);
  EXPECT_EQ(status_of(child), 0);
  for (const int end : ends) close(end);
  ibv_destroy_comp_channel(channel);
  ibv_close_device(context);
}

}  // namespace
}  // namespace rocelab::probe
