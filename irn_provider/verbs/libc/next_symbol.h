// The function that ours stands before, of those that real.h does not list. The loader's lock is held
// meanwhile: a thread that polls memory must not be parked in here (live_memory_poll.cc).
#pragma once

#include <dlfcn.h>

#include "irn_provider/live/live_process.h"

namespace rocelab::libc {

template <class F>
F next_symbol(const char* name) {
  const Inside inside;
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

}  // namespace rocelab::libc
