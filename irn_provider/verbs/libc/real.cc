#include "irn_provider/verbs/libc/real.h"

#include <dlfcn.h>

#include <atomic>
#include <string_view>

#include "base/check.h"

namespace rocelab::real {
namespace {

thread_local int runtime_depth = 0;
std::atomic<void (*)()> leave_hook = nullptr;

// A cell per function. Relaxed is enough: whoever resolves finds the same address.
template <class F>
F resolve(std::atomic<F>& cell, const char* name) {
  F function = cell.load(std::memory_order_relaxed);
  if (function == nullptr) [[unlikely]] {
    // x86-64 has older ones of the same name, for programs of 2002, whose condition variables are others.
    if (std::string_view(name).starts_with("pthread_cond_"))
      function = reinterpret_cast<F>(dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2"));
    if (function == nullptr) function = reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
    RL_CHECK(function != nullptr);
    cell.store(function, std::memory_order_relaxed);
  }
  return function;
}

#define X(result, name, parameters, arguments) std::atomic<result(*) parameters> cell_##name;
ROCELAB_REAL_FUNCTIONS(X)
#undef X
using Open = int (*)(const char*, int, ...);
using OpenAt = int (*)(int, const char*, int, ...);
std::atomic<Open> cell_open, cell_open64;
std::atomic<OpenAt> cell_openat, cell_openat64;

// Before main, so that a signal handler never runs dlsym.
__attribute__((constructor)) void resolve_all() {
#define X(result, name, parameters, arguments) resolve(cell_##name, #name);
  ROCELAB_REAL_FUNCTIONS(X)
#undef X
  resolve(cell_open, "open");
  resolve(cell_open64, "open64");
  resolve(cell_openat, "openat");
  resolve(cell_openat64, "openat64");
}

}  // namespace

#define X(result, name, parameters, arguments) \
  result name parameters { return resolve(cell_##name, #name) arguments; }
ROCELAB_REAL_FUNCTIONS(X)
#undef X
int open(const char* path, int flags, mode_t mode) { return resolve(cell_open, "open")(path, flags, mode); }
int open64(const char* path, int flags, mode_t mode) {
  return resolve(cell_open64, "open64")(path, flags, mode);
}

int openat(int folder, const char* path, int flags, mode_t mode) {
  return resolve(cell_openat, "openat")(folder, path, flags, mode);
}
int openat64(int folder, const char* path, int flags, mode_t mode) {
  return resolve(cell_openat64, "openat64")(folder, path, flags, mode);
}

std::int64_t wall_ns() {
  timespec ts{};
  real::clock_gettime(CLOCK_MONOTONIC, &ts);
  return std::int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

void on_leaving_runtime(void (*hook)()) { leave_hook = hook; }

RuntimeScope::RuntimeScope() { ++runtime_depth; }
RuntimeScope::~RuntimeScope() {
  if (--runtime_depth > 0) return;
  if (void (*const hook)() = leave_hook.load(std::memory_order_relaxed)) hook();
}
bool in_runtime() { return runtime_depth > 0; }
void abandon_runtime() { runtime_depth = 0; }

}  // namespace rocelab::real
