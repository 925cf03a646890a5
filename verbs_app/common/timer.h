// A timer behind a descriptor, for waits that poll: it becomes readable at an instant of CLOCK_MONOTONIC.
#pragma once

#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include "verbs_app/common/clock.h"

namespace rocelab::app {

class Timer {
 public:
  Timer() : fd_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
    if (fd_ < 0) throw std::runtime_error(std::string("timerfd_create: ") + std::strerror(errno));
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() { close(fd_); }

  // In place of what it was set to before: an expiration that was not read is forgotten.
  void set(std::int64_t monotonic) {
    const itimerspec value{.it_interval = {},
                           .it_value = {monotonic / kNsPerSecond, monotonic % kNsPerSecond}};
    if (timerfd_settime(fd_, TFD_TIMER_ABSTIME, &value, nullptr) != 0)
      throw std::runtime_error(std::string("timerfd_settime: ") + std::strerror(errno));
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace rocelab::app
