// Where loaded code reads the time stamp counter: for machines whose processor cannot be made to trap there.
// Only instructions are found, not bytes that look like one: a function that has such bytes is decoded from
// its beginning, which its unwind information tells.
#pragma once

#include <cstdint>
#include <vector>

namespace rocelab::libc {

struct TscSite {
  std::uintptr_t at = 0;
  int length = 0;  // 2: rdtsc, 3: rdtscp
  friend bool operator==(const TscSite&, const TscSite&) = default;
};

// Those in [begin, end), executable and readable memory of one loaded object, by address.
std::vector<TscSite> tsc_sites(std::uintptr_t begin, std::uintptr_t end);

// Those of the program and all its libraries, by address. Not of the loader, of the vDSO, whose clocks show
// what they did, and of the preloaded library.
std::vector<TscSite> loaded_tsc_sites();

// How many objects have been loaded so far, by the loader's count.
std::uint64_t objects_loaded();

// Makes each an invalid instruction (ud2) of the same length: SIGILL at its address. False: the memory cannot
// be written; those before it have been changed.
bool disable(const std::vector<TscSite>& sites);

}  // namespace rocelab::libc
