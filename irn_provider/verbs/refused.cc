// Why a call is refused, told to whoever runs the program: its own message rarely says more than EINVAL.
#include "irn_provider/verbs/refused.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "irn_provider/verbs/libc/real.h"

namespace rocelab::verbs {
namespace {

constexpr std::size_t kMaxLine = 1'024;

bool wants_all() {
  static const bool all = std::getenv("ROCELAB_DEBUG") != nullptr;
  return all;
}

// Programs that work destroy things in the wrong order when they are done, and do not look whether it was
// refused (fio).
bool matters(int error) { return error != EBUSY; }

// Once in a process; a forked child whose parent has said something says nothing.
bool is_first() {
  static const char* const quiet = std::getenv("ROCELAB_QUIET");
  static std::atomic<bool> said{false};
  return (quiet == nullptr || quiet[0] == 0 || quiet[0] == '0') && !said.exchange(true);
}

// In one write, since others write there, too; not by stdio, whose lock a thread of the program may have.
void say(const char* text) {
  const int before = errno;
  [[maybe_unused]] const ssize_t written = real::write(STDERR_FILENO, text, std::strlen(text));
  errno = before;
}

__attribute__((format(printf, 2, 0))) std::size_t add(char (&line)[kMaxLine], const char* format,
                                                      std::va_list arguments) {
  const std::size_t used = std::strlen(line);
  std::vsnprintf(line + used, sizeof line - used, format, arguments);
  return std::strlen(line);
}

}  // namespace

void debug(const char* format, ...) {
  if (!wants_all()) return;
  char line[kMaxLine] = "rocelab: ";
  std::va_list arguments;
  va_start(arguments, format);
  const std::size_t end = add(line, format, arguments);
  va_end(arguments);
  std::snprintf(line + end, sizeof line - end, "\n");
  say(line);
}

namespace {

__attribute__((format(printf, 3, 0))) void explain_all(const char* call, int error, const char* format,
                                                       std::va_list arguments) {
  const bool all = wants_all();
  if (!all && !(matters(error) && is_first())) return;
  char line[kMaxLine];
  const char* const name = strerrorname_np(error);
  std::snprintf(line, sizeof line, "rocelab: %s: %s: %s: ", program_invocation_short_name, call,
                name != nullptr ? name : "refused");
  const std::size_t end = add(line, format, arguments);
  std::snprintf(line + end, sizeof line - end, "%s\n",
                all ? "" : " (ROCELAB_DEBUG=1 explains every refusal, ROCELAB_QUIET=1 none)");
  say(line);
}

}  // namespace

void explain(const char* call, int error, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  explain_all(call, error, format, arguments);
  va_end(arguments);
}

int refused(const char* call, int error, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  explain_all(call, error, format, arguments);
  va_end(arguments);
  errno = error;
  return error;
}

}  // namespace rocelab::verbs
