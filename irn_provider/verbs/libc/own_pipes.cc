#include "irn_provider/verbs/libc/own_pipes.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/real.h"
#include "irn_provider/verbs/real_verbs.h"

namespace rocelab::libc {
namespace {

// Never destroyed: programs close in exit handlers.
struct OwnPipes {
  real::Mutex mutex;
  std::map<int, std::pair<dev_t, ino_t>> fds;  // and what they were: the C library closes some by itself
  std::atomic<std::size_t> count{0};
  std::atomic<std::uint64_t> changes{0};
};

// What holds the mutex is not the program's loop on memory, and is not parked as one (live_memory_poll.cc).
struct Locked {
  Locked();
  Inside inside;
  std::lock_guard<real::Mutex> lock;
};

OwnPipes& own() {
  static auto* pipes = new OwnPipes;
  return *pipes;
}

Locked::Locked() : lock(own().mutex) {}

std::pair<dev_t, ino_t> identity(int fd) {
  struct stat st {};
  return real::fstat(fd, &st) == 0 ? std::pair(st.st_dev, st.st_ino) : std::pair<dev_t, ino_t>();
}

void forget_all() {
  const Locked locked;
  own().fds.clear();
  own().count = 0;
}

void look() {
  ++own().changes;
  if (LiveProcess* process = experiment()) {
    real::RuntimeScope scope;
    process->recheck_waiters();
  }
}

// Before the fork: neither process sees the other's end as its own.
void watch_forks() {
  static const int watched = pthread_atfork(forget_all, nullptr, nullptr);
  static_cast<void>(watched);
}

void add(int fd) {
  if (!verbs::in_experiment() || real::in_runtime() || LiveProcess::inside()) return;
  watch_forks();
  const Locked locked;
  own().fds[fd] = identity(fd);
  own().count = own().fds.size();
}

int add_pair(int result, const int* fds) {
  if (result == 0) add(fds[0]), add(fds[1]);
  return result;
}

}  // namespace

bool is_own_pipe(int fd) {
  if (own().count.load(std::memory_order_relaxed) == 0) return false;
  const Locked locked;
  const auto found = own().fds.find(fd);
  return found != own().fds.end() && found->second == identity(fd);
}

void note_own_pipe(int fd) {
  if (is_own_pipe(fd)) look();
}

void forget_own_pipe(int fd) {
  if (own().count.load(std::memory_order_relaxed) == 0) return;
  {
    const Locked locked;
    if (own().fds.erase(fd) == 0) return;
    own().count = own().fds.size();
  }
  look();
}

std::uint64_t own_pipe_changes() { return own().changes.load(); }

}  // namespace rocelab::libc

using namespace rocelab;
using namespace rocelab::libc;

RL_EXPORT int pipe(int* fds) noexcept { return add_pair(real::pipe(fds), fds); }

RL_EXPORT int pipe2(int* fds, int flags) noexcept { return add_pair(real::pipe2(fds, flags), fds); }

RL_EXPORT int socketpair(int domain, int type, int protocol, int* fds) noexcept {
  return add_pair(real::socketpair(domain, type, protocol, fds), fds);
}

RL_EXPORT int eventfd(unsigned value, int flags) noexcept {
  const int fd = real::eventfd(value, flags);
  if (fd >= 0) add(fd);
  return fd;
}

namespace {
// `to` may have been a pipe's end before.
int add_duplicate(int fd, int to) {
  if (to < 0 || to == fd) return to;
  forget_own_pipe(to);
  if (is_own_pipe(fd)) add(to);
  return to;
}
}  // namespace

RL_EXPORT int dup(int fd) noexcept { return add_duplicate(fd, real::dup(fd)); }

RL_EXPORT int dup2(int fd, int to) noexcept { return add_duplicate(fd, real::dup2(fd, to)); }

RL_EXPORT int dup3(int fd, int to, int flags) noexcept {
  return add_duplicate(fd, real::dup3(fd, to, flags));
}
