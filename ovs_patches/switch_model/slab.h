// A slab: nodes of many lists in one block, named by their index, of which those that are free form a list.
#pragma once

#include <cstdint>
#include <vector>

namespace rocelab {

// The index of one more node. The block grows by a quarter: with hundreds of switches what doubling would
// leave unused is most of the memory.
template <class Node>
std::uint32_t add_to_slab(std::vector<Node>& slab) {
  if (slab.size() == slab.capacity()) slab.reserve(slab.size() + slab.size() / 4 + 16);
  slab.emplace_back();
  return static_cast<std::uint32_t>(slab.size() - 1);
}

}  // namespace rocelab
