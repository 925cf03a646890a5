// TcMask: a set of traffic classes.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace rocelab {

using TcMask = std::uint8_t;  // bit n: class n
inline constexpr TcMask kAllClasses = 0xff;
constexpr TcMask bit_of(Tc tc) { return static_cast<TcMask>(1u << tc.value); }

}  // namespace rocelab
