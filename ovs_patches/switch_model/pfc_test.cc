#include "ovs_patches/switch_model/pfc.h"

#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

// 40 Gb/s: a quantum is 512 bits, 12.8 ns; 0xffff of them are 838,848 ns, half of that 419,424 ns.
constexpr Rate kRate = 40_Gbps;

TEST(PauseRequestsTest, PausesWhileAnyOwnerAsks) {
  PauseRequests requests(0xffff, 50, kRate);
  EXPECT_TRUE(requests.request(0, tc(3), true));
  EXPECT_FALSE(requests.request(1, tc(3), true));
  EXPECT_FALSE(requests.request(0, tc(3), false));
  EXPECT_TRUE(requests.asks(tc(3)));
  EXPECT_TRUE(requests.request(1, tc(3), false));
  EXPECT_FALSE(requests.asks(tc(3)));
  EXPECT_FALSE(requests.request(1, tc(3), false)) << "nothing changes any more";
}

TEST(PauseRequestsTest, OneFrameCarriesAllClassesThatChanged) {
  PauseRequests requests(100, 50, kRate);
  requests.request(0, tc(3), true);
  requests.request(0, tc(5), true);
  const PfcFrame xoff = requests.make_frame(Time::zero());
  EXPECT_EQ(xoff.class_enable, 0b0010'1000);
  EXPECT_EQ(xoff.time[3], 100);
  EXPECT_EQ(xoff.time[5], 100);
  EXPECT_FALSE(requests.frame_due());
  requests.request(0, tc(5), false);
  const PfcFrame xon = requests.make_frame(Time::zero());
  EXPECT_EQ(xon.class_enable, 0b0010'0000);
  EXPECT_EQ(xon.time[5], 0);
}

TEST(PauseRequestsTest, SendsNothingForWhatChangedBackInTime) {
  PauseRequests requests(0xffff, 50, kRate);
  requests.request(0, tc(3), true);
  EXPECT_TRUE(requests.frame_due());
  requests.request(0, tc(3), false);
  EXPECT_FALSE(requests.frame_due());
}

TEST(PauseRequestsTest, RefreshesAtHalfThePauseAndNotBefore) {
  PauseRequests requests(0xffff, 50, kRate);
  requests.request(0, tc(3), true);
  requests.make_frame(at(1_us));
  const Time refresh = at(1_us + 419'424_ns);
  EXPECT_EQ(requests.next_timeout(), refresh);
  requests.on_timeout(refresh - 1_ps);
  EXPECT_FALSE(requests.frame_due());
  requests.on_timeout(refresh);
  ASSERT_TRUE(requests.frame_due());
  EXPECT_EQ(requests.make_frame(refresh + 5_ns).time[3], 0xffff);
  EXPECT_EQ(requests.next_timeout(), refresh + 5_ns + 419'424_ns) << "counted from the frame that left";
}

TEST(PauseRequestsTest, XonEndsTheRefreshes) {
  PauseRequests requests(0xffff, 50, kRate);
  requests.request(0, tc(3), true);
  requests.make_frame(Time::zero());
  requests.request(0, tc(3), false);
  EXPECT_EQ(requests.make_frame(at(1_us)).time[3], 0);
  EXPECT_TRUE(requests.next_timeout().is_never());
}

TEST(PauseStateTest, PausesUntilTheDeadlineAndNotAPicosecondLonger) {
  PauseState state(kRate);
  PfcFrame frame;
  frame.class_enable = bit_of(tc(3));
  frame.time[3] = 1000;  // 12.8 us
  EXPECT_EQ(state.on_frame(frame, at(1_us)).paused, bit_of(tc(3)));
  EXPECT_EQ(state.next_timeout(), at(13'800_ns));
  EXPECT_EQ(state.on_timeout(at(13'800_ns) - 1_ps).resumed, 0);
  EXPECT_EQ(state.paused(), bit_of(tc(3)));
  EXPECT_EQ(state.on_timeout(at(13'800_ns)).resumed, bit_of(tc(3)));
  EXPECT_EQ(state.paused(), 0);
  EXPECT_EQ(state.paused_time(tc(3), at(1_s)), 12'800_ns);
}

TEST(PauseStateTest, RefreshProlongsAndXonEnds) {
  PauseState state(kRate);
  PfcFrame frame;
  frame.class_enable = bit_of(tc(3));
  frame.time[3] = 1000;
  state.on_frame(frame, Time::zero());
  EXPECT_EQ(state.on_frame(frame, at(10_us)).paused, 0) << "it was paused before";
  EXPECT_EQ(state.next_timeout(), at(22'800_ns));
  frame.time[3] = 0;
  EXPECT_EQ(state.on_frame(frame, at(15_us)).resumed, bit_of(tc(3)));
  EXPECT_TRUE(state.next_timeout().is_never());
  EXPECT_EQ(state.paused_time(tc(3), at(20_us)), 15_us);
}

TEST(PauseStateTest, ClassesExpireOneByOne) {
  PauseState state(kRate);
  PfcFrame frame;
  frame.class_enable = bit_of(tc(1)) | bit_of(tc(2));
  frame.time[1] = 10;
  frame.time[2] = 20;
  frame.time[3] = 30;  // not enabled: means nothing
  EXPECT_EQ(state.on_frame(frame, Time::zero()).paused, 0b110);
  EXPECT_EQ(state.on_timeout(at(128_ns)).resumed, bit_of(tc(1)));
  EXPECT_EQ(state.on_timeout(at(256_ns)).resumed, bit_of(tc(2)));
  EXPECT_EQ(state.paused(), 0);
}

}  // namespace
}  // namespace rocelab
