// What is known elsewhere of a program's timers (timers.cc).
#pragma once

#include <signal.h>

#include "irn_provider/live/live_process.h"

namespace rocelab::libc {

// The device has been opened: timers from before go on in experiment time, by what was left of them.
void adopt_timers(LiveProcess& process);
void adopt_timer_fds(LiveProcess& process);
// The signals that timers in experiment time may send now.
sigset_t timer_signals();
// This descriptor is about to be closed: if a timer is behind it, that ends.
void forget_timer_fd(int fd);

}  // namespace rocelab::libc
