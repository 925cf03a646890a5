#include "base/rocc_law.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

TEST(RoccLawTest, BeginsAtFmaxOrWhereItIsTold) {
  const RoccValues values = rocc_values(RoccParams{});
  EXPECT_EQ(RoccLaw(values).units(), 4000u);
  RoccLaw law(values, RoccValues::whole(400));
  EXPECT_EQ(law.units(), 400u);
  EXPECT_FALSE(law.unlimited());
  law.update(0);  // 400 + (0.3 * 250) / 8: an empty queue, which was empty
  EXPECT_EQ(law.units(), 409u);
}

TEST(RoccLawTest, ReckonsInWholeUnits) {
  const RoccValues values = rocc_values(RoccParams{});
  EXPECT_EQ(values.q_ref, 250);
  EXPECT_EQ(values.q_mid, 500);
  EXPECT_EQ(values.q_max, 600);
  EXPECT_EQ(values.f_min, RoccValues::whole(10));
  EXPECT_EQ(values.f_max, RoccValues::whole(4000));
}

TEST(RoccLawTest, ACnpCanNameThePapersSetsAndNothingThatNoLawCanWorkWith) {
  for (const Rate link : {10_Gbps, 25_Gbps, 40_Gbps, 100_Gbps})
    EXPECT_TRUE(rocc_values(rocc_params_for(link)).fit_cnp()) << to_string(link);
  const RoccValues good = rocc_values(RoccParams{});
  using Field = std::int64_t RoccValues::*;
  struct Bad {
    Field field;
    std::int64_t value;
  };
  for (const auto& [field, value] :
       {Bad{&RoccValues::f_min, 0}, Bad{&RoccValues::f_min, RoccValues::whole(4001)},
        Bad{&RoccValues::f_min, RoccValues::whole(10) + 1},
        Bad{&RoccValues::f_max, RoccValues::whole(4000) + 1}, Bad{&RoccValues::q_ref, -1},
        Bad{&RoccValues::q_mid, std::int64_t{1} << 32}, Bad{&RoccValues::q_max, std::int64_t{1} << 32},
        Bad{&RoccValues::alpha, -1}, Bad{&RoccValues::alpha, std::int64_t{1} << 48},
        Bad{&RoccValues::beta, std::int64_t{1} << 48}}) {
    RoccValues bad = good;
    bad.*field = value;
    EXPECT_FALSE(bad.fit_cnp()) << value;
  }
}

}  // namespace
}  // namespace rocelab
