// The order in which ProcessMemory makes a packet's payload visible.
#include "irn_provider/transport/memory.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace rocelab {
namespace {

// A page that may not be written stands in for a reader on another processor: the first store to it stops
// the writer, and the handler looks at the bytes before it.
struct Watch {
  std::byte* page;         // the last word of the block begins here
  const std::byte* begin;  // of the block
  const std::byte* expected;
  bool hit = false, complete = false;
};
Watch* watch = nullptr;

void on_store(int, siginfo_t*, void*) {
  watch->hit = true;
  watch->complete = std::equal(watch->begin, static_cast<const std::byte*>(watch->page), watch->expected);
  mprotect(watch->page, 4096, PROT_READ | PROT_WRITE);
}

TEST(ProcessMemoryTest, StoresTheLastWordAfterAllOthers) {
  struct sigaction action {
  }, before{};
  action.sa_sigaction = on_store;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &before);
  for (const std::uint32_t length : {16u, 63u, 64u, 255u, 512u, 513u, 1016u, 1024u, 2048u, 4096u}) {
    auto* pages = static_cast<std::byte*>(
        mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(pages, MAP_FAILED);
    const std::uint32_t tail = (length - 1) % 8 + 1;
    std::vector<std::byte> bytes(length);
    for (std::uint32_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(i % 251 + 1);
    Watch here{pages + 4096, pages + 4096 - (length - tail), bytes.data()};
    watch = &here;
    ASSERT_EQ(mprotect(here.page, 4096, PROT_NONE), 0);
    ProcessMemory().write(reinterpret_cast<std::uint64_t>(here.begin), bytes.data(), length);
    EXPECT_TRUE(here.hit && here.complete) << length << " bytes";
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), here.begin)) << length << " bytes";
    munmap(pages, 8192);
  }
  sigaction(SIGSEGV, &before, nullptr);
}

TEST(ProcessMemoryTest, WritesBlocksOfAnyLengthAtAnyAddress) {
  for (std::uint32_t offset = 0; offset < 9; ++offset) {
    for (std::uint32_t length = 0; length < 40; ++length) {
      std::vector<std::byte> bytes(length), place(64), want(64);
      for (std::uint32_t i = 0; i < length; ++i) bytes[i] = want[offset + i] = static_cast<std::byte>(i + 1);
      ProcessMemory().write(reinterpret_cast<std::uint64_t>(place.data() + offset), bytes.data(), length);
      ASSERT_EQ(place, want) << length << " bytes at " << offset;
    }
  }
}

}  // namespace
}  // namespace rocelab
