#include "irn_provider/verbs/libc/tsc_sites.h"

#include <gtest/gtest.h>
#include <x86intrin.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "irn_provider/verbs/libc/tsc.h"
#include "irn_provider/verbs/sanitizer.h"

namespace rocelab::libc {
namespace {

// Both instructions, and between them constants with their bytes: 0f 31 90 and 0f 01 f9.
[[gnu::noinline]] std::uint64_t read_both() {
  unsigned processor = 0;
  const std::uint64_t first = __rdtsc();
  std::uint32_t constants = 0;
  asm volatile("movl $0x0090310f, %0\n\taddl $0x00f9010f, %0" : "=&r"(constants));
  return __rdtscp(&processor) - first + constants * 0ull;
}
[[gnu::noinline]] void after_read_both() { asm volatile("nop"); }

std::uintptr_t address_of(const void* code) { return reinterpret_cast<std::uintptr_t>(code); }

std::vector<TscSite> sites_of_read_both() {
  const auto begin = address_of(reinterpret_cast<const void*>(&read_both));
  return tsc_sites(begin, begin + 200);
}

TEST(TscSitesTest, FindsInstructionsAndNotConstantsThatLookAlike) {
  const std::vector<TscSite> sites = sites_of_read_both();
  const auto* code = reinterpret_cast<const unsigned char*>(&read_both);
  const std::array<unsigned char, 2> bytes{0x0f, 0x31};
  const auto alike = std::search(code, code + 200, bytes.begin(), bytes.end());
  ASSERT_GE(sites.size(), 2u);
  EXPECT_EQ(sites[0].length, 2);
  EXPECT_EQ(sites[1].length, 3);
  EXPECT_EQ(sites[0].at, address_of(alike));
  const auto constant = std::search(alike + 2, code + 200, bytes.begin(), bytes.end());
  ASSERT_NE(constant, code + 200) << "the constant is in the code";
  for (const TscSite& site : sites) EXPECT_NE(site.at, address_of(constant));
}

TEST(TscSitesTest, AllThatIsLoadedIncludesTheProgram) {
  const std::vector<TscSite> all = loaded_tsc_sites();
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, &TscSite::at));
  for (const TscSite& site : sites_of_read_both()) EXPECT_EQ(std::ranges::count(all, site), 1);
  EXPECT_EQ(objects_loaded(), objects_loaded());
}

// Without an experiment the counter is the real one, by way of the trap.
void read_by_code() {
  const std::vector<TscSite> sites = sites_of_read_both();
  if (trap_tsc(true) != TscTrap::kCode) std::_Exit(1);
  for (const TscSite& site : sites)
    if (reinterpret_cast<const unsigned char*>(site.at)[1] != 0x0b) std::_Exit(2);
  if (!sites_of_read_both().empty()) std::_Exit(3);
  std::uint64_t before = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t elapsed = read_both(), now = __rdtsc();
    if (elapsed == 0 || elapsed > 1'000'000'000'000 || now <= before) std::_Exit(4);
    before = now;
  }
  if (trap_tsc(true) != TscTrap::kCode) std::_Exit(5);
  std::_Exit(0);
}

// Where the replacements go, beside the program's code, is memory that ThreadSanitizer has no shadow of.
TEST(TscSitesTest, ReplacedInstructionsAreAnswered) {
  if (kThreadSanitizer) GTEST_SKIP();
  after_read_both();
  EXPECT_EXIT(read_by_code(), ::testing::ExitedWithCode(0), "");
}

TEST(TscSitesTest, AnotherInvalidInstructionEndsTheProgramAsEver) {
  if (kThreadSanitizer) GTEST_SKIP();
  EXPECT_EXIT(
      {
        trap_tsc(true);
        asm volatile("ud2");
      },
      ::testing::KilledBySignal(SIGILL), "");
}

}  // namespace
}  // namespace rocelab::libc
