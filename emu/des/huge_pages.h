// huge_pages: for a PacketPool: asks the system for huge pages behind a block of memory.
#pragma once

#include <cstddef>

namespace rocelab::des {

// As PacketPool::BlockHint. Where the system has none to give, pages stay small: slower, and nothing else.
void huge_pages(void* memory, std::size_t bytes);

}  // namespace rocelab::des
