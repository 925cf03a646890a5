// The fuzzer's claims without libFuzzer: random scripts (cm_script.h) from fixed seeds.
#include <gtest/gtest.h>

#include "irn_provider/cm/cm_script.h"

namespace rocelab::cm {
namespace {

TEST(CmRandomTest, ScriptsOfCallsLossesAndForgeriesBreakNoClaim) {
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    Rng rng(seed);
    std::vector<std::uint8_t> script(rng.below(3'000));
    for (std::uint8_t& b : script) b = static_cast<std::uint8_t>(rng.below(256));
    SCOPED_TRACE(seed);
    CmScript(script).run();
  }
}

}  // namespace
}  // namespace rocelab::cm
