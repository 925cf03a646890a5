// A struct of counters out of one list of names: its members, their sum, number and names, so that whoever
// shows counters cannot disagree with whoever counts. LIST(X) is X(name) for each of them.
// ROCELAB_COUNTERS(NicCounter, LIST) makes NicCounters, operator+, kNicCounterCount and kNicCounterNames, in
// the order of the list.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#define ROCELAB_COUNTER_MEMBER(name) std::uint64_t name = 0;
#define ROCELAB_COUNTER_SUM(name) a.name += b.name;
#define ROCELAB_COUNTER_ONE(name) +1
#define ROCELAB_COUNTER_NAME(name) #name,

#define ROCELAB_COUNTERS(Counter, LIST)                                             \
  struct Counter##s {                                                               \
    LIST(ROCELAB_COUNTER_MEMBER)                                                    \
  };                                                                                \
  static_assert(std::is_trivially_copyable_v<Counter##s>);                          \
  inline Counter##s operator+(Counter##s a, const Counter##s& b) {                  \
    LIST(ROCELAB_COUNTER_SUM)                                                       \
    return a;                                                                       \
  }                                                                                 \
  inline constexpr int k##Counter##Count = 0 LIST(ROCELAB_COUNTER_ONE);             \
  static_assert(sizeof(Counter##s) == k##Counter##Count * sizeof(std::uint64_t));   \
  inline constexpr std::array<const char*, k##Counter##Count> k##Counter##Names = { \
      LIST(ROCELAB_COUNTER_NAME)};                                                  \
  static_assert(true)  // takes the semicolon
