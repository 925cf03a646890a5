// Interposed: the names under which programs built with _FORTIFY_SOURCE call what sockets.cc and waits.cc
// interpose. The check is the C library's; then the plain name does the work.
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "irn_provider/verbs/exports.h"

extern "C" [[noreturn]] void __chk_fail() noexcept;

RL_EXPORT ssize_t __read_chk(int fd, void* data, size_t length, size_t room) {
  if (length > room) __chk_fail();
  return ::read(fd, data, length);
}

RL_EXPORT ssize_t __recv_chk(int fd, void* data, size_t length, size_t room, int flags) {
  if (length > room) __chk_fail();
  return ::recv(fd, data, length, flags);
}

RL_EXPORT ssize_t __recvfrom_chk(int fd, void* data, size_t length, size_t room, int flags, sockaddr* address,
                                 socklen_t* address_length) {
  if (length > room) __chk_fail();
  return ::recvfrom(fd, data, length, flags, address, address_length);
}

RL_EXPORT int __poll_chk(pollfd* fds, nfds_t count, int timeout_ms, size_t room) {
  if (room / sizeof(pollfd) < count) __chk_fail();
  return ::poll(fds, count, timeout_ms);
}

RL_EXPORT int __ppoll_chk(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask,
                          size_t room) {
  if (room / sizeof(pollfd) < count) __chk_fail();
  return ::ppoll(fds, count, timeout, mask);
}
