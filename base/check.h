// RL_CHECK: a broken invariant of this program aborts with file, line and text. It is on in every build.
// It is never used on what a packet, a file or a caller may contain: those are counted or answered with an
// error value.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace rocelab::internal {
[[noreturn]] inline void check_failed(const char* file, int line, const char* what) {
  std::fprintf(stderr, "%s:%d: invariant broken: %s\n", file, line, what);
  std::abort();
}
}  // namespace rocelab::internal

#define RL_CHECK(condition)                                              \
  do {                                                                   \
    if (!(condition)) [[unlikely]]                                       \
      ::rocelab::internal::check_failed(__FILE__, __LINE__, #condition); \
  } while (false)
