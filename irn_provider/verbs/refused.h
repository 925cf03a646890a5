// Why a call is refused, as lines on stderr. The first refusal of a process that its user must do something
// about is one ($ROCELAB_QUIET: none is); with $ROCELAB_DEBUG all are, and what debug() says.
//
// A refusal by which programs find out what a device has (EOPNOTSUPP, the longest inline data, an entry of a
// table that is not there) is an answer like others: debug() alone may tell of it. EBUSY is told with
// $ROCELAB_DEBUG alone, too.
#pragma once

#include <cstdarg>

namespace rocelab::verbs {

void debug(const char* format, ...) __attribute__((format(printf, 1, 2)));

// `call`: as the program knows it; `error`: an errno. The rest says which argument, and what is possible.
void explain(const char* call, int error, const char* format, ...) __attribute__((format(printf, 3, 4)));
// The same where the call fails now: returns `error`, and leaves it in errno, which with_nic() puts back at
// its end.
int refused(const char* call, int error, const char* format, ...) __attribute__((format(printf, 3, 4)));

}  // namespace rocelab::verbs
