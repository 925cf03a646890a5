#include "ovs_patches/switch_model/queue_script.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace rocelab {
namespace {

TEST(QueueScriptTest, RandomWorkOnEveryOrderAndRuleAgreesWithAList) {
  Rng rng(1);
  for (std::uint8_t order = 0; order < QueueScript::kOrders.size(); ++order) {
    for (std::uint8_t rule = 0; rule < 3; ++rule) {
      for (int round = 0; round < 40; ++round) {
        std::vector<std::uint8_t> bytes = {order, rule};
        for (int i = 0; i < 400; ++i) bytes.push_back(static_cast<std::uint8_t>(rng.below(256)));
        QueueScript(bytes).run();
      }
    }
  }
}

}  // namespace
}  // namespace rocelab
