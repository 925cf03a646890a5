// Futex on a word in memory shared between processes (no FUTEX_PRIVATE_FLAG).
#pragma once

#include <atomic>
#include <cstdint>

namespace rocelab::lockstep {

// Sleeps while *word == expected, at most `wall_ns` nanoseconds (negative: without limit). May return early;
// callers look again.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t wall_ns);
void futex_wake_all(std::atomic<std::uint32_t>& word);

}  // namespace rocelab::lockstep
