// RL_EXPORT: a symbol that the preloaded library offers under a name of the C library or of libibverbs.
// Everything else in it is hidden.
#pragma once

#define RL_EXPORT extern "C" __attribute__((visibility("default")))
