#include "ovs_patches/switch_model/switch_script.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace rocelab {
namespace {

TEST(SwitchScriptTest, RandomWorkOnSwitchesOfAnyRulesKeepsItsBooks) {
  Rng rng(1);
  int built = 0, by_queue = 0;
  std::array<std::uint64_t, 16> drops{};
  for (int round = 0; round < 3'000; ++round) {
    std::vector<std::uint8_t> bytes;
    for (int i = 0; i < 2'000; ++i) bytes.push_back(static_cast<std::uint8_t>(rng.below(256)));
    SwitchScript script(bytes);
    if (!script.problem().empty()) continue;
    ++built;
    by_queue += script.by_queue();
    script.run();
    for (std::size_t reason = 0; reason < drops.size(); ++reason)
      drops[reason] += script.drops(static_cast<SwitchDropReason>(reason));
  }
  EXPECT_GT(built, 100);
  EXPECT_GT(by_queue, 20);
  for (const auto reason :
       {SwitchDropReason::kEgressLimit, SwitchDropReason::kInputBuffer, SwitchDropReason::kHeadroom,
        SwitchDropReason::kOversize, SwitchDropReason::kNoRoute, SwitchDropReason::kNoCopy,
        SwitchDropReason::kWatchdog, SwitchDropReason::kEgressMax, SwitchDropReason::kPushedOut,
        SwitchDropReason::kPortBuffer, SwitchDropReason::kDisplaced})
    EXPECT_GT(drops[static_cast<std::size_t>(reason)], 50u) << static_cast<int>(reason);
}

}  // namespace
}  // namespace rocelab
