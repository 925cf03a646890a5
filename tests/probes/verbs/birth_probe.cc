// A program that polls memory makes a thread. Who makes one waits for it in code of ours, which must not be
// taken for the program's loop on memory: time would pass between two lines of the program, and what its peer
// sends would be there before it had said how it wants it (riostream's options of a listening socket).
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/probes/verbs/clock.h"
#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

cpu_set_t only(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  return set;
}

// Keeps a processor busy. Of another process: one of this program's threads would hold time.
class Hog {
 public:
  explicit Hog(int processor) : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const cpu_set_t set = only(processor);
    sched_setaffinity(0, sizeof set, &set);
    while (true) syscall(SYS_getppid);
  }
  ~Hog() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Hog(const Hog&) = delete;
  Hog& operator=(const Hog&) = delete;

 private:
  const pid_t pid_;
};

// On a busy processor, and of the lowest class: it begins many samples of its maker later.
TEST(BirthProbe, AThreadThatBeginsLateTakesNoTime) {
  cpu_set_t all;
  ASSERT_EQ(pthread_getaffinity_np(pthread_self(), sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "needs two processors";
  const int mine = sched_getcpu();
  int other = 0;
  while (other == mine || !CPU_ISSET(other, &all)) ++other;
  const Hog hog(other);
  ibv_context* context = open_device();
  usleep(1);
  const cpu_set_t here = only(mine), there = only(other);
  ASSERT_EQ(pthread_setaffinity_np(pthread_self(), sizeof here, &here), 0);
  pthread_attr_t late;
  pthread_attr_init(&late);
  pthread_attr_setaffinity_np(&late, sizeof there, &there);
  pthread_attr_setinheritsched(&late, PTHREAD_EXPLICIT_SCHED);
  pthread_attr_setschedpolicy(&late, SCHED_IDLE);
  for (int i = 0; i < 5; ++i) {
    const std::int64_t begin = now_ns();
    pthread_t thread{};
    ASSERT_EQ(pthread_create(
                  &thread, &late, [](void*) -> void* { return nullptr; }, nullptr),
              0);
    EXPECT_EQ(now_ns(), begin);
    EXPECT_EQ(pthread_join(thread, nullptr), 0);
  }
  pthread_attr_destroy(&late);
  EXPECT_EQ(pthread_setaffinity_np(pthread_self(), sizeof all, &all), 0);
  ibv_close_device(context);
}

}  // namespace
}  // namespace rocelab::probe
