#include <gtest/gtest.h>

#include <set>
#include <string>

#include "emu/cost/operations.h"
#include "emu/cost/state.h"
#include "irn_provider/transport/irn_receiver.h"
#include "irn_provider/transport/irn_sender.h"

namespace rocelab {
namespace {

TEST(CostTest, EachOperationRunsAsOftenAsItIsPrepared) {
  std::set<std::string> names;
  for (const CostOperation& operation : cost_operations()) {
    EXPECT_TRUE(names.insert(std::string(operation.name)).second);
    EXPECT_GT(operation.paper_mops, 0);
    const auto loop = make_cost_loop(operation.name);
    ASSERT_NE(loop, nullptr) << operation.name;
    loop->prepare();
    const std::uint64_t first = loop->run();
    EXPECT_GE(first, 512u) << operation.name;
    loop->prepare();
    EXPECT_EQ(loop->run(), first) << operation.name;
  }
  EXPECT_EQ(make_cost_loop("nothing"), nullptr);
}

TEST(CostTest, StateIsThatOfTheStructuresAndPapersNumbersAreTheirs) {
  std::uint64_t transport = 0, bitmaps = 0;
  for (const StateItem& item : cost_state()) {
    EXPECT_GT(item.bits, 0u) << item.what;
    EXPECT_EQ(item.paper_bits == 0, item.source.empty()) << item.what;
    if (item.paper_bits == 160) transport += item.bits;
    if (item.paper_bits == 640) bitmaps += item.bits;
  }
  EXPECT_EQ(transport, 8 * (sizeof(IrnSender) + sizeof(IrnReceiver)));
  EXPECT_EQ(bitmaps, 3u * 128) << "a cap of 110 packets takes two words of 64 bits";
}

}  // namespace
}  // namespace rocelab
