// What must hold for any bytes whatever, checked by the libFuzzer target and by the deterministic mutation
// test: no parser reads out of bounds (the sanitizers see that), and what a parser accepts, its writer turns
// into bytes that parse to the same.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace rocelab::fuzz {

// Empty: all properties hold; otherwise which one does not.
std::string violated_property(std::span<const std::byte> bytes);

}  // namespace rocelab::fuzz
