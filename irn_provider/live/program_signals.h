// Signals from outside while a thread waits in code of ours: their handlers run in the midst of the wait, and
// what it does then is the kernel's rule for the call that the program made (signal(7)): some end with EINTR
// after any handler, others only where it was installed without SA_RESTART. Nobody tells which handler ran;
// so the second kind ends where any of the program's handlers is such a one: a call that ends without need
// is tried again, one that never does hangs a program that waits for the end of it.
#pragma once

#include <signal.h>

#include <cstdint>

namespace rocelab {

// Of the calling thread: how many signals of rocelab's own it has handled. A wait that one of these has
// interrupted goes on.
extern constinit thread_local std::uint32_t t_own_signals;

// By which threads are sampled in lock step (live_memory_poll.cc). A program cannot block it
// (libc/signal_masks.cc).
inline int spin_signal() { return SIGRTMAX - 5; }

// A handler of the program's has run in the calling thread's wait: LiveProcess::signals_restart() says, once,
// whether a call of the second kind goes on. Some 60 system calls.
void note_interruption();
bool take_interruption();  // true: there was one that ends such a call

}  // namespace rocelab
