#include "irn_provider/cc/heard_rates.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "irn_provider/cc/dcqcn_rp.h"

namespace rocelab {
namespace {

constexpr Time at(Duration d) { return Time::zero() + d; }
constexpr Rate kbps(std::int64_t n) { return Rate::from_bps(n * 1'000); }

class HeardRatesTest : public testing::Test {
 protected:
  using Heard = std::vector<std::pair<Rate, Time>>;
  Heard heard_;
  HeardRates rates_{std::make_unique<DcqcnRp>(DcqcnParams{}, CcContext{40_Gbps}),
                    [this](Rate rate, Time now) { heard_.emplace_back(rate, now); }};
};

TEST_F(HeardRatesTest, AnEventIsHeardAtItsTimeAndASecondLookIsNot) {
  rates_.start(at(0_us));
  rates_.on_cnp(at(100_us));
  EXPECT_EQ(rates_.rate(at(120_us)), 20_Gbps);
  EXPECT_EQ(heard_, (Heard{{40_Gbps, at(0_us)}, {20_Gbps, at(100_us)}}));
}

// As DcqcnRpTest has them, of one look long after.
TEST_F(HeardRatesTest, EachTimerThatWasDueIsHeard) {
  rates_.start(at(0_us));
  rates_.on_cnp(at(100_us));
  heard_.clear();
  EXPECT_EQ(rates_.rate(at(100_us + 55_us * 4 + 1_us)), kbps(38'750'000));
  const Time look = at(100_us + 55_us * 4 + 1_us);
  EXPECT_EQ(heard_,
            (Heard{{30_Gbps, look}, {35_Gbps, look}, {kbps(37'500'000), look}, {kbps(38'750'000), look}}));
}

TEST_F(HeardRatesTest, AStartIsHeardAgain) {
  rates_.start(at(0_us));
  rates_.start(at(50_us));
  EXPECT_EQ(heard_, (Heard{{40_Gbps, at(0_us)}, {40_Gbps, at(50_us)}}));
}

}  // namespace
}  // namespace rocelab
