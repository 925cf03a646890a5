// What is known elsewhere of a program's timers (timers.cc).
#pragma once

#include <signal.h>

namespace rocelab::libc {

// The signals that timers in experiment time may send now.
sigset_t timer_signals();
// This descriptor is about to be closed: if a timer is behind it, that ends.
void forget_timer_fd(int fd);

}  // namespace rocelab::libc
