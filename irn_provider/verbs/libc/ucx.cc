#include "irn_provider/verbs/libc/ucx.h"

#include <dlfcn.h>

#include <cstdlib>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/program.h"
#include "irn_provider/verbs/libc/tsc.h"

namespace rocelab::libc {
namespace {

constexpr double kWithoutCounter = 1e6;  // what UCX says where it does not use the counter but gettimeofday

// Where a plug-in brings UCX in, its symbols are no other object's: by its own handle.
void* libucs() { return dlopen("libucs.so.0", RTLD_NOLOAD | RTLD_LAZY); }

double real_rate() {
  void* library = libucs();
  const auto rate = reinterpret_cast<double (*)()>(
      library != nullptr ? dlsym(library, "ucs_get_cpu_clocks_per_sec") : nullptr);
  return rate != nullptr ? rate() : kWithoutCounter;
}

}  // namespace

bool has_ucx() {
  void* library = libucs();
  if (library != nullptr) dlclose(library);
  return library != nullptr;
}

}  // namespace rocelab::libc

// Ticks of UCX's clock in a second.
RL_EXPORT double ucs_get_cpu_clocks_per_sec() {
  using namespace rocelab;
  static const double rate = [] {
    const double real = libc::real_rate();
    const char* segment = std::getenv("ROCELAB_SEGMENT");  // on an interface the counter is the real one
    if (segment == nullptr || segment[0] == 0 || real == libc::kWithoutCounter) return real;
    return libc::needs_of({.ucx = true}, std::getenv("ROCELAB_TSC"), nullptr).tsc ? libc::kTscHz : real;
  }();
  return rate;
}
