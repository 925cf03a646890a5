// How many pages this process keeps pinned by its memory regions, and how many it may. Nothing is pinned in
// fact (mr.cc); programs meet the limit that a kernel sets them all the same. Source: Linux, ib_umem_get()
// (drivers/infiniband/core/umem.c): each region counts its pages, whoever else counts them, against
// RLIMIT_MEMLOCK, unless the process has CAP_IPC_LOCK. Everything under the process's lock.
#pragma once

#include <cstdint>

namespace rocelab::verbs {

std::uint64_t pages_of(std::uint64_t addr, std::uint64_t length);

// 0; ENOMEM: more than the limit; EPERM: the limit is 0.
int pin(std::uint64_t pages);
void unpin(std::uint64_t pages);

}  // namespace rocelab::verbs
