#include "irn_provider/verbs/libc/kernel_timer_fds.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/program_clocks.h"
#include "irn_provider/verbs/libc/real.h"

namespace rocelab::libc {
namespace {

std::string fdinfo_of(int fd) {
  std::ifstream file("/proc/self/fdinfo/" + std::to_string(fd));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Descriptors of this process that are of that kind, as /proc/self/fd names it.
std::vector<int> descriptors(std::string_view kind) {
  std::vector<int> fds;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error))
    if (std::filesystem::read_symlink(entry.path(), error) == kind)
      fds.push_back(std::stoi(entry.path().filename()));
  return fds;
}

struct Watch {  // of an epoll descriptor
  int epfd;
  epoll_event event;
};

std::vector<Watch> watches_of(int fd) {
  std::vector<Watch> watches;
  for (const int epfd : descriptors("anon_inode:[eventpoll]")) {
    std::istringstream lines(fdinfo_of(epfd));
    for (std::string line; std::getline(lines, line);) {
      int watched = -1;
      unsigned events = 0;
      unsigned long long data = 0;
      if (std::sscanf(line.c_str(), "tfd: %d events: %x data: %llx", &watched, &events, &data) != 3) continue;
      if (watched == fd) watches.push_back({epfd, {.events = events, .data = {.u64 = data}}});
    }
  }
  return watches;
}

}  // namespace

std::optional<KernelTimerFd> parse_timer_fd(std::string_view fdinfo) {
  const std::string text(fdinfo);
  const auto begin = text.find("clockid:");
  if (begin == std::string::npos) return std::nullopt;
  KernelTimerFd t;
  int flags = 0;
  unsigned long long unread = 0;
  const int got =
      std::sscanf(text.c_str() + begin,
                  "clockid: %d ticks: %llu settime flags: %o it_value: (%ld, %ld) it_interval: (%ld, %ld)",
                  &t.clock, &unread, &flags, &t.left.it_value.tv_sec, &t.left.it_value.tv_nsec,
                  &t.left.it_interval.tv_sec, &t.left.it_interval.tv_nsec);
  if (got != 7) return std::nullopt;
  t.unread = unread;
  return t;
}

std::vector<KernelTimerFd> kernel_timer_fds() {
  std::vector<KernelTimerFd> timers;
  for (const int fd : descriptors("anon_inode:[timerfd]")) {
    std::optional<KernelTimerFd> timer = parse_timer_fd(fdinfo_of(fd));
    if (!timer) continue;
    timer->fd = fd;
    timers.push_back(*timer);
  }
  return timers;
}

bool replace_by_event_fd(const KernelTimerFd& timer) {
  const int status = ::fcntl(timer.fd, F_GETFL), descriptor = ::fcntl(timer.fd, F_GETFD);
  const int made = ::eventfd(0, (status & O_NONBLOCK) != 0 ? EFD_NONBLOCK : 0);
  if (made < 0) return false;
  if (timer.unread > 0) [[maybe_unused]]
    const ssize_t written = real::write(made, &timer.unread, sizeof timer.unread);
  std::vector<Watch> watches = watches_of(timer.fd);
  for (const Watch& w : watches) ::epoll_ctl(w.epfd, EPOLL_CTL_DEL, timer.fd, nullptr);
  const bool replaced = ::dup3(made, timer.fd, (descriptor & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0) == timer.fd;
  ::close(made);
  for (Watch& w : watches) ::epoll_ctl(w.epfd, EPOLL_CTL_ADD, timer.fd, &w.event);
  return replaced;
}

int set_kernel_timer_fd(int fd, int flags, const itimerspec* value, itimerspec* old) {
  const bool absolute = (flags & TFD_TIMER_ABSTIME) != 0 && value != nullptr && !real::in_runtime() &&
                        (value->it_value.tv_sec != 0 || value->it_value.tv_nsec != 0);
  if (!absolute) return real::timerfd_settime(fd, flags, value, old);
  std::optional<KernelTimerFd> timer;
  {
    real::RuntimeScope scope;
    timer = parse_timer_fd(fdinfo_of(fd));
  }
  itimerspec translated = *value;
  timespec buffer;
  if (timer && valid(value->it_value)) {
    LiveProcess* process = is_of_experiment(timer->clock) ? experiment() : nullptr;
    translated.it_value = process != nullptr ? outside_deadline(*process, timer->clock, value->it_value)
                                             : *machine_deadline(timer->clock, &value->it_value, buffer);
  }
  return real::timerfd_settime(fd, flags, &translated, old);
}

}  // namespace rocelab::libc
