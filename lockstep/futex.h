// Futex on a word in memory shared between processes (no FUTEX_PRIVATE_FLAG).
#pragma once

#include <atomic>
#include <cstdint>

namespace rocelab::lockstep {

// Sleeps while *word == expected, at most `wall_ns` nanoseconds (negative: without limit). May return early;
// callers look again. True: a signal's handler has run meanwhile (some runs are not told of).
bool futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t wall_ns);
void futex_wake_all(std::atomic<std::uint32_t>& word);

// Who waits for the other side of the clock gives the processor away some times before it sleeps: the answer
// is often microseconds away, and to wake an idle core of a virtual machine takes tens of them. More yields
// take the processor from those that are waited for, and on a loaded machine each may last somebody's time
// slice.
class Patience {
 public:
  bool yield();  // false: enough of it, sleep

 private:
  int yields_ = 0;
  std::int64_t since_ = 0;  // wall time of the first
};

}  // namespace rocelab::lockstep
