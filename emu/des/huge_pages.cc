#include "emu/des/huge_pages.h"

#include <sys/mman.h>

namespace rocelab::des {

void huge_pages(void* memory, std::size_t bytes) { madvise(memory, bytes, MADV_HUGEPAGE); }

}  // namespace rocelab::des
