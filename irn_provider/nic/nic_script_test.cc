// Random scripts of API calls, losses and forged packets, from fixed seeds; ROCELAB_FUZZ_SEED starts
// elsewhere. The libFuzzer target fuzz_nic runs the same.
#include "irn_provider/nic/nic_script.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace rocelab {
namespace {

TEST(NicScriptTest, NoScriptBreaksTheEngine) {
  const char* env = std::getenv("ROCELAB_FUZZ_SEED");
  const std::uint64_t first = env != nullptr ? std::strtoull(env, nullptr, 10) : 1;
  NicScript::Tally tally;
  for (std::uint64_t seed = first; seed < first + 3000; ++seed) {
    Rng rng(seed);
    std::vector<std::byte> bytes(20 + rng.below(600));
    for (std::byte& b : bytes) b = static_cast<std::byte>(rng.next());
    ASSERT_EQ(NicScript::run(bytes, &tally), "") << "seed " << seed;
  }
  // Scripts that guess no key right would test little.
  if (env != nullptr) return;
  EXPECT_GT(tally.bound, 100u);
  EXPECT_GT(tally.invalidated, 0u);
  EXPECT_GT(tally.through_windows, 10u);
  EXPECT_GT(tally.foreign, 1000u);
}

}  // namespace
}  // namespace rocelab
