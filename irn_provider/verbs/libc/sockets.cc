// Interposed: accept, accept4, connect, read, readv, recv, recvfrom, recvmsg, recvmmsg, write, writev, send,
// sendto, sendmsg, sendmmsg, eventfd_read, eventfd_write. They do what they always do. A call that is going
// to wait for the outside is bracketed, so that time stands while it lasts, up to the grace; a call that
// would say EAGAIN counts as a spin, so that a program that asks over and over does not stop time.
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/event_fd.h"
#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/own_pipes.h"
#include "irn_provider/verbs/libc/real.h"
#include "irn_provider/verbs/rdma_cm/cdev.h"

namespace rocelab::libc {
namespace {

// A blocking stream socket that is writable takes this much without waiting (the kernel's low-water mark is a
// third of a buffer of at least 16 KB).
constexpr std::size_t kSendsAtOnce = 4'096;

// POLLNVAL and errors count as ready: the call itself reports them. EINTR tells nothing: a sample of the
// thread (live_memory_poll.cc) interrupts even a poll that does not wait.
bool ready(int fd, short events) {
  pollfd p{.fd = fd, .events = events, .revents = 0};
  int r = real::poll(&p, 1, 0);
  while (r < 0 && errno == EINTR) r = real::poll(&p, 1, 0);
  return r != 0;
}

bool non_blocking(int fd, int flags) {
  return (flags & MSG_DONTWAIT) != 0 || (::fcntl(fd, F_GETFL) & O_NONBLOCK) != 0;
}

// A thread of the program, or an event of ours, makes it ready.
bool is_ours(int fd) { return is_own_pipe(fd) || EventFd::find(fd) != nullptr; }

// What the socket was told to wait at most; no socket, or nothing told: for ever.
Time own_deadline(LiveProcess& process, int fd, short events) {
  timeval longest{};
  socklen_t size = sizeof longest;
  const int option = events == POLLIN ? SO_RCVTIMEO : SO_SNDTIMEO, error = errno;
  const bool told = getsockopt(fd, SOL_SOCKET, option, &longest, &size) == 0;
  errno = error;
  if (!told || (longest.tv_sec == 0 && longest.tv_usec == 0)) return Time::never();
  real::RuntimeScope scope;
  return process.now() + to_duration({.tv_sec = longest.tv_sec, .tv_nsec = longest.tv_usec * 1'000});
}

// Runs `call`, which waits until `fd` is ready for `events`. `at_once`: a ready descriptor will not keep it
// waiting. `for_anyone`: of LiveProcess::foreign_enter.
template <class F>
auto waiting_call(int fd, short events, int flags, bool at_once, F&& call, bool for_anyone = false) {
  LiveProcess* process = experiment();
  if (process == nullptr) return call();
  const bool is_ready = ready(fd, events);
  if (is_ready && at_once) {
    end_spin();
    return call();
  }
  if (non_blocking(fd, flags)) {
    if (is_ready) return call();
    if (is_ours(fd)) {
      count_spin(*process, [=] { return ready(fd, events); });
    } else {
      count_spin(*process);
    }
    return call();
  }
  end_spin();
  if (is_ours(fd)) {
    const Time deadline = own_deadline(*process, fd, events);
    const int error = restarting([&] {
      const Woken woken = process->park_until([=] { return ready(fd, events); }, deadline);
      return woken == Woken::kReady ? 0 : woken == Woken::kSignal ? EINTR : EAGAIN;
    });
    if (error != 0) {
      errno = error;
      return static_cast<decltype(call())>(-1);
    }
  }
  ForeignScope foreign(*process, for_anyone);
  return call();
}

template <class F>
auto reading(int fd, int flags, F&& call) {
  const auto result = waiting_call(fd, POLLIN, flags, (flags & MSG_WAITALL) == 0, call);
  note_own_pipe(fd);
  return result;
}

template <class F>
int accepting(int fd, F&& call) {
  return waiting_call(fd, POLLIN, 0, true, call, true);
}

template <class F>
auto writing(int fd, int flags, std::size_t length, F&& call) {
  const auto result = waiting_call(fd, POLLOUT, flags, length <= kSendsAtOnce, call);
  note_own_pipe(fd);
  return result;
}

// Null parts are the call's to refuse.
std::size_t total(const iovec* parts, std::size_t count) {
  std::size_t sum = 0;
  if (parts == nullptr) return sum;
  for (std::size_t i = 0; i < count; ++i) sum += parts[i].iov_len;
  return sum;
}

}  // namespace
}  // namespace rocelab::libc

using namespace rocelab;
using namespace rocelab::libc;

RL_EXPORT int accept(int fd, sockaddr* address, socklen_t* length) {
  return accepting(fd, [=] { return real::accept(fd, address, length); });
}

RL_EXPORT int accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  // flags are the new socket's
  return accepting(fd, [=] { return real::accept4(fd, address, length, flags); });
}

RL_EXPORT int connect(int fd, const sockaddr* address, socklen_t length) {
  return waiting_call(fd, POLLOUT, 0, false, [=] { return real::connect(fd, address, length); });
}

RL_EXPORT ssize_t read(int fd, void* data, size_t length) {
  return reading(fd, 0, [=] { return real::read(fd, data, length); });
}

RL_EXPORT ssize_t readv(int fd, const iovec* parts, int count) {
  return reading(fd, 0, [=] { return real::readv(fd, parts, count); });
}

RL_EXPORT ssize_t recv(int fd, void* data, size_t length, int flags) {
  return reading(fd, flags, [=] { return real::recv(fd, data, length, flags); });
}

RL_EXPORT ssize_t recvfrom(int fd, void* data, size_t length, int flags, sockaddr* address,
                           socklen_t* address_length) {
  return reading(fd, flags, [=] { return real::recvfrom(fd, data, length, flags, address, address_length); });
}

RL_EXPORT ssize_t recvmsg(int fd, msghdr* message, int flags) {
  return reading(fd, flags, [=] { return real::recvmsg(fd, message, flags); });
}

RL_EXPORT ssize_t write(int fd, const void* data, size_t length) {
  if (verbs::is_rdma_cm(fd)) return verbs::write_rdma_cm(fd, data, length);
  return writing(fd, 0, length, [=] { return real::write(fd, data, length); });
}

RL_EXPORT ssize_t writev(int fd, const iovec* parts, int count) {
  const std::size_t length = count > 0 ? total(parts, static_cast<std::size_t>(count)) : 0;
  return writing(fd, 0, length, [=] { return real::writev(fd, parts, count); });
}

RL_EXPORT ssize_t send(int fd, const void* data, size_t length, int flags) {
  return writing(fd, flags, length, [=] { return real::send(fd, data, length, flags); });
}

RL_EXPORT ssize_t sendto(int fd, const void* data, size_t length, int flags, const sockaddr* address,
                         socklen_t address_length) {
  return writing(fd, flags, length,
                 [=] { return real::sendto(fd, data, length, flags, address, address_length); });
}

RL_EXPORT ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  const std::size_t length = message != nullptr ? total(message->msg_iov, message->msg_iovlen) : 0;
  return writing(fd, flags, length, [=] { return real::sendmsg(fd, message, flags); });
}

RL_EXPORT int sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
  std::size_t length = 0;
  for (unsigned i = 0; messages != nullptr && i < count; ++i)
    length += total(messages[i].msg_hdr.msg_iov, messages[i].msg_hdr.msg_iovlen);
  return writing(fd, flags, length, [=] { return real::sendmmsg(fd, messages, count, flags); });
}

// Its timeout is looked at when a message has come, by the machine's clock.
RL_EXPORT int recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags, timespec* timeout) {
  const auto call = [=] { return real::recvmmsg(fd, messages, count, flags, timeout); };
  const bool at_once = count <= 1 || (flags & MSG_WAITFORONE) != 0;
  const int result = waiting_call(fd, POLLIN, flags, at_once, call);
  note_own_pipe(fd);
  return result;
}

// The C library's own go past read and write.
RL_EXPORT int eventfd_read(int fd, eventfd_t* value) {
  return read(fd, value, sizeof *value) == sizeof *value ? 0 : -1;
}

RL_EXPORT int eventfd_write(int fd, eventfd_t value) {
  return write(fd, &value, sizeof value) == sizeof value ? 0 : -1;
}
