// A program that loads and unloads a library whose beginning and end wait for threads: the loader's lock is
// held for so long, and those threads must get on without it.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

// With events of its own: an empty channel is waited for.
void wait_in_the_device(ibv_context* context) {
  ibv_comp_channel* channel = ibv_create_comp_channel(context);
  ASSERT_NE(channel, nullptr);
  pollfd p{.fd = channel->fd, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&p, 1, 1), 0);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
}

// Each for the first time in this process, as far as the program is concerned.
void call_what_is_interposed() {
  sched_yield();
  std::FILE* file = std::fopen("/dev/null", "r");
  EXPECT_NE(file, nullptr);
  std::fclose(file);
  const int fd = open("/", O_RDONLY | O_DIRECTORY);
  struct stat st {};
  EXPECT_EQ(fstat(fd, &st), 0);
  EXPECT_EQ(stat("/", &st), 0);
  EXPECT_EQ(access("/", F_OK), 0);
  EXPECT_EQ(close(fd), 0);
  DIR* folder = opendir("/");
  EXPECT_NE(readdir(folder), nullptr);
  EXPECT_GE(dirfd(folder), 0);
  EXPECT_EQ(closedir(folder), 0);
  int pair[2];
  EXPECT_EQ(pipe(pair), 0);
  for (const int end : pair) close(end);
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  for (const int end : pair) close(end);
  close(eventfd(0, 0));
  sem_t semaphore;
  EXPECT_EQ(sem_init(&semaphore, 0, 0), 0);
  EXPECT_EQ(sem_post(&semaphore), 0);
  EXPECT_EQ(sem_wait(&semaphore), 0);
  timer_t timer{};
  sigevent none{};
  none.sigev_notify = SIGEV_NONE;
  EXPECT_EQ(timer_create(CLOCK_THREAD_CPUTIME_ID, &none, &timer), 0);  // not one of experiment time
  itimerspec left{};
  EXPECT_EQ(timer_gettime(timer, &left), 0);
  EXPECT_EQ(timer_delete(timer), 0);
  close(timerfd_create(CLOCK_MONOTONIC, 0));
}

TEST(LoaderProbe, ALibraryThatIsLoadedWaitsForAThreadOfItsOwn) {
  ibv_context* context = open_device();
  void* library = dlopen(ROCELAB_PROBE_LIBRARY, RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_EQ(*static_cast<std::atomic<int>*>(dlsym(library, "g_started")), 1);
  EXPECT_EQ(dlclose(library), 0);
  EXPECT_EQ(ibv_close_device(context), 0);
}

TEST(LoaderProbe, AThreadGoesOnWhileALibraryThatIsUnloadedWaitsForIt) {
  ibv_context* context = open_device();
  void* library = dlopen(ROCELAB_PROBE_LIBRARY, RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  std::atomic<int> stage = 0;
  *static_cast<std::atomic<int>**>(dlsym(library, "g_stage")) = &stage;
  std::thread thread([&] {
    while (stage != 1) usleep(10);
    call_what_is_interposed();
    wait_in_the_device(context);
    stage = 2;
  });
  EXPECT_EQ(dlclose(library), 0);
  thread.join();
  EXPECT_EQ(stage, 2) << "the library was not unloaded";
  EXPECT_EQ(ibv_close_device(context), 0);
}

}  // namespace
}  // namespace rocelab::probe
