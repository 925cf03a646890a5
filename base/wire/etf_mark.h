// What a token of Escape says (base/wire/etf.h).
#pragma once

#include <cstdint>

namespace rocelab {

// It asks for a frame of its flow, or comes back: none waits for it, or a pool had no place left.
enum class EscapeTokenMark : std::uint8_t { kAsks = 0, kNothingWaits = 1, kNoPlace = 2 };

}  // namespace rocelab
