// Interposed: exit, _exit, _Exit.
//
// A program may call exit in a signal's handler, which may have interrupted a wait of ours: that wait is
// given up, and the program's own handlers of exit run as they would without the signal. Where the signal has
// come in the midst of a change of our state they cannot: then output is flushed and the process ends, which
// the run notices as it notices any process's end.
//
// _exit, by which forked children end (Python's multiprocessing), runs no handlers. What hardware and the
// kernel's connection manager have sent before such a child can end leaves here, too. Of other programs it is
// the handlers of signals that call _exit, in the midst of anything: they end at once.
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>

#include "irn_provider/live/live_process.h"
#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/real.h"
#include "irn_provider/verbs/objects.h"

namespace {

const pid_t g_loaded_by = getpid();

[[noreturn]] void end_at_once(int status) {
  rocelab::real::_exit(status);
  __builtin_unreachable();
}

[[noreturn]] void end_without_handlers(int status) {
  if (getpid() != g_loaded_by && !rocelab::LiveProcess::inside()) rocelab::verbs::leave_experiment();
  end_at_once(status);
}

}  // namespace

RL_EXPORT void exit(int status) noexcept {
  if (!rocelab::LiveProcess::abandon_interrupted()) {
    std::fflush(stdout);
    std::fflush(stderr);
    end_at_once(status);
  }
  rocelab::real::abandon_runtime();
  rocelab::real::exit(status);
  __builtin_unreachable();
}

RL_EXPORT void _exit(int status) { end_without_handlers(status); }
RL_EXPORT void _Exit(int status) noexcept { end_without_handlers(status); }
