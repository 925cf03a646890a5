#include <gtest/gtest.h>

#include "emu/gateway/gateway.h"

namespace rocelab {
namespace {

// 10,000 frames to a device, of which `late` were late by `by_ns`.
GatewayReport report(int late, std::int64_t by_ns) {
  GatewayReport r;
  r.late_limit_ns = late_limit_ns(100_us, 1);
  r.to_device = 10'000;
  for (int i = 0; i < 10'000; ++i) r.late.add(i < late ? by_ns : 0);
  return r;
}

TEST(GatewayReportTest, TheLimitIsFivePercentOfTheBaseRttByTheMachinesClock) {
  EXPECT_EQ(late_limit_ns(100_us, 1), 5'000);
  EXPECT_EQ(late_limit_ns(100_us, 20), 100'000);
  EXPECT_EQ(late_limit_ns(Duration(), 1), 0);
}

TEST(GatewayReportTest, OneFrameInAThousandMayBeLaterThanTheLimit) {
  EXPECT_TRUE(report(0, 0).ok());
  EXPECT_TRUE(report(10'000, 4'000).ok());
  EXPECT_TRUE(report(10, 1'000'000).ok());
  EXPECT_FALSE(report(11, 1'000'000).ok());
  EXPECT_NE(report(11, 1'000'000).to_json().find("\"verdict\": \"degraded\""), std::string::npos);
  EXPECT_NE(report(11, 1'000'000).to_json().find("\"late_limit_ns\": 5000"), std::string::npos);
}

TEST(GatewayReportTest, ViolationsLossesAndAClockThatWasMovedDegradeIt) {
  GatewayReport few = report(0, 0), many = few;
  few.violations = 10;
  many.violations = 11;
  EXPECT_TRUE(few.ok());
  EXPECT_FALSE(many.ok());
  for (std::uint64_t GatewayReport::*count :
       {&GatewayReport::overruns, &GatewayReport::refused, &GatewayReport::unread, &GatewayReport::slips}) {
    GatewayReport r = report(0, 0);
    r.*count = 1;
    EXPECT_FALSE(r.ok());
  }
}

TEST(GatewayReportTest, WithoutFramesToTheDeviceNothingWasLate) { EXPECT_TRUE(GatewayReport().ok()); }

}  // namespace
}  // namespace rocelab
