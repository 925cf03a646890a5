// The bytes of a flow's payload: a function of flow id and offset, so that a byte of another flow, another
// place or another message shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rocelab::app {

void fill_pattern(std::uint32_t flow, std::span<std::byte> data);

// Offset in the flow of the first byte that is not the pattern's; null: all are. `from`: of data's first
// byte.
std::optional<std::uint64_t> find_mismatch(std::uint32_t flow, std::span<const std::byte> data,
                                           std::uint64_t from = 0);

}  // namespace rocelab::app
