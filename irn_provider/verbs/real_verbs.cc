#include "irn_provider/verbs/real_verbs.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "irn_provider/verbs/engine.h"

namespace rocelab::verbs {

bool in_experiment() {
  static const bool is = engine_is_configured();
  return is;
}

void* real_symbol(const char* name) {
  if (void* symbol = dlsym(RTLD_NEXT, name)) return symbol;
  // Programs that load libibverbs themselves (plug-ins) may keep it out of the global scope.
  if (void* library = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_LOCAL))
    if (void* symbol = dlsym(library, name)) return symbol;
  std::fprintf(stderr, "rocelab: this libibverbs has no %s\n", name);
  std::abort();
}

}  // namespace rocelab::verbs
