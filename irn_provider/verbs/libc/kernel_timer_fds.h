// The kernel's timers behind descriptors: those that a program made before it opened the device.
#pragma once

#include <sys/timerfd.h>
#include <time.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace rocelab::libc {

struct KernelTimerFd {
  int fd = -1;
  clockid_t clock = CLOCK_MONOTONIC;
  std::uint64_t unread = 0;  // expirations
  itimerspec left{};         // until the next one, and the interval
};

// proc(5), /proc/PID/fdinfo of a timerfd; nullopt: of something else.
std::optional<KernelTimerFd> parse_timer_fd(std::string_view fdinfo);

// Of this process. In a RuntimeScope.
std::vector<KernelTimerFd> kernel_timer_fds();

// From now on the number is an eventfd's, which holds the unread expirations; epoll descriptors that watched
// the timer watch that. False: it could not be made. In a RuntimeScope.
bool replace_by_event_fd(const KernelTimerFd& timer);

// As timerfd_settime, of one of the kernel's: deadlines of the program's clocks are translated.
int set_kernel_timer_fd(int fd, int flags, const itimerspec* value, itimerspec* old);

}  // namespace rocelab::libc
