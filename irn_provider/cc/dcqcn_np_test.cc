#include "irn_provider/cc/dcqcn_np.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

constexpr Time at(Duration d) { return Time::zero() + d; }

TEST(DcqcnNpTest, TheFirstMarkDrawsACnpAtOnceTheNextOneAtTheEndOfN) {
  DcqcnNp np(50_us);
  EXPECT_FALSE(np.cnp_due());
  np.on_marked(at(10_us));
  EXPECT_TRUE(np.cnp_due());
  np.on_cnp_sent(at(10_us));
  EXPECT_FALSE(np.cnp_due());
  np.on_marked(at(11_us));
  np.on_marked(at(59_us));
  EXPECT_FALSE(np.cnp_due());
  EXPECT_EQ(np.next_timeout(), at(60_us));
  np.on_timeout(at(60_us) - 1_ps);
  EXPECT_FALSE(np.cnp_due());
  np.on_timeout(at(60_us));
  EXPECT_TRUE(np.cnp_due());
  np.on_cnp_sent(at(60_us));
  EXPECT_TRUE(np.next_timeout().is_never()) << "nothing was marked since";
}

TEST(DcqcnNpTest, AfterASilentNTheNextMarkDrawsOneAtOnce) {
  DcqcnNp np(50_us);
  np.on_marked(at(0_us));
  np.on_cnp_sent(at(0_us));
  EXPECT_TRUE(np.next_timeout().is_never());
  np.on_marked(at(50_us));
  EXPECT_TRUE(np.cnp_due());
}

}  // namespace
}  // namespace rocelab
