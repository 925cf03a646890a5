// Frames that stay on one machine: as those of frame.h, but without an ICRC, for nothing can corrupt them
// there. Its four bytes are in their place and zero, so that lengths are the same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "base/wire/frame.h"

namespace rocelab {

enum class Icrc : std::uint8_t { kPresent, kNone };

// Behind a payload that is in place: pad, ICRC or zeros, zeros up to 60 bytes.
inline void seal_frame(const FrameLayout& layout, std::span<std::byte> frame, Icrc icrc) {
  if (icrc == Icrc::kPresent) return seal_frame(layout, frame);
  RL_CHECK(frame.size() >= layout.length);
  const std::size_t payload_end = layout.payload + layout.payload_length;
  std::ranges::fill(frame.subspan(payload_end, layout.length - payload_end), std::byte{0});
}

}  // namespace rocelab
