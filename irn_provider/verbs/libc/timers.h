// What is known elsewhere of a program's timers (timers.cc).
#pragma once

#include <signal.h>

namespace rocelab::libc {

// The signals that timers in experiment time may send now.
sigset_t timer_signals();

}  // namespace rocelab::libc
