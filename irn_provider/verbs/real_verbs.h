// Forwarding to the installed libibverbs. The library is preloaded into whole sessions; a process without
// $ROCELAB_SEGMENT or $ROCELAB_INTERFACE must not notice it.
//
//   RL_EXPORT ibv_pd* ibv_alloc_pd(ibv_context* context) {
//     if (!in_experiment()) return REAL(ibv_alloc_pd)(context);
//
// The choice holds for the life of the process: with one `rocelab0` is the only device there is, so
// that no object of another library ever reaches us, nor ours it.
#pragma once

namespace rocelab::verbs {

// One of them was set when it was first asked.
bool in_experiment();

// Address of libibverbs' own `name`. When the process has no such function, the program could not have called
// it either: aborts with a line.
void* real_symbol(const char* name);

// The same, resolved once per place of use.
#define REAL(name)                                                                                          \
  ([] {                                                                                                     \
    static const auto function = reinterpret_cast<decltype(&::name)>(::rocelab::verbs::real_symbol(#name)); \
    return function;                                                                                        \
  }())

}  // namespace rocelab::verbs
