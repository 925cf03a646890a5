/* The proxy libibverbs.so.1, for programs that dlopen libibverbs and look its functions up in it: a preloaded
   library does not reach those. Every function of the installed library under its own version, as a jump
   through a slot: to librocelab_verbs.so where that is preloaded and has the function, else to the installed
   library, which is loaded by its path. generate.py makes symbols.inc at build time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "symbols.inc"

__attribute__((visibility("hidden"), used)) void* rocelab_proxy_slots[FUNCTIONS];

#if defined(__x86_64__)
#define JUMP(i) "endbr64\n jmp *rocelab_proxy_slots+8*" #i "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(i)                                                                                         \
  "hint #34\n adrp x16, rocelab_proxy_slots+8*" #i "\n ldr x16, [x16, #:lo12:rocelab_proxy_slots+8*" #i \
  "]\n br x16\n"
#else
#error "a jump through a slot is written for x86-64 and aarch64"
#endif

#define DEFINE(i, name, at, version)                                                                     \
  __asm__(".text\n.globl rocelab_proxy_" #i "\n.type rocelab_proxy_" #i ", @function\nrocelab_proxy_" #i \
          ":\n" JUMP(i) ".symver rocelab_proxy_" #i ", " name at version "\n");
EACH_FUNCTION(DEFINE)

#define ENTRY(i, name, at, version) {name, version, sizeof at == sizeof "@@"},
struct Entry {
  const char *name, *version;
  int current; /* older versions have other structs: the installed library knows them */
};
static const struct Entry entries[FUNCTIONS] = {EACH_FUNCTION(ENTRY)};

__attribute__((constructor)) static void fill_slots(void) {
  void* preloaded = dlopen("librocelab_verbs.so", RTLD_LAZY | RTLD_NOLOAD);
  /* Global: providers find the library's data there. */
  void* real = dlopen(REAL_LIBRARY, RTLD_LAZY | RTLD_GLOBAL);
  if (real == NULL) {
    fprintf(stderr, "rocelab: %s\n", dlerror());
    abort();
  }
  for (int i = 0; i < FUNCTIONS; ++i) {
    if (preloaded != NULL && entries[i].current) rocelab_proxy_slots[i] = dlsym(preloaded, entries[i].name);
    if (rocelab_proxy_slots[i] == NULL)
      rocelab_proxy_slots[i] = dlvsym(real, entries[i].name, entries[i].version);
  }
}
