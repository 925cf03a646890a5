// Interposed: exit. A program may call it in a signal's handler, which may have interrupted a wait of ours:
// that wait is given up, and the program's own handlers of exit run as they would without the signal. Where
// the signal has come in the midst of a change of our state they cannot: then output is flushed and the
// process ends, which the run notices as it notices any process's end.
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>

#include "irn_provider/live/live_process.h"
#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/next_symbol.h"
#include "irn_provider/verbs/libc/real.h"

namespace {

// At load: a handler must not look it up.
void (*const g_really)(int) = rocelab::libc::next_symbol<void (*)(int)>("exit");

}  // namespace

RL_EXPORT void exit(int status) noexcept {
  if (!rocelab::LiveProcess::abandon_interrupted()) {
    std::fflush(stdout);
    std::fflush(stderr);
    _exit(status);
  }
  rocelab::real::abandon_runtime();
  g_really(status);
  __builtin_unreachable();
}
