// What a value of a program measures. A program compares and adds values of one dimension only.
#pragma once

#include <cstdint>
#include <string>

namespace rocelab::oq {

enum class Dim : std::uint8_t {
  kAny,     // the number 0, and a state variable of which nothing is known yet
  kNumber,  // also a share
  kBytes,
  kPackets,
  kTime,  // picoseconds
  kRate,  // bits per second
  kFlow,  // equality only
  kBool,
};

// "240KB is bytes", "p.arrival is a time".
std::string words(Dim dim);

}  // namespace rocelab::oq
