// The longest message (IBTA Vol 1, 9.7.1: 2^31 bytes) where the path MTU is the smallest: it has more packets
// than may be outstanding.
#include <gtest/gtest.h>

#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kPsn = 0xfffff0, kLongest = 1u << 31;

class NicLengthTest : public ::testing::TestWithParam<TransportMode> {
 protected:
  // Regions as long; only their beginnings are there, and only these are sent.
  NicLengthTest() : pair_(config_of(GetParam())) {
    pair_.attr.path_mtu = 256;
    pair_.connect(kPsn);
    for (Endpoint* e : {&pair_.a, &pair_.b})
      e->key = *e->nic.reg_mr(e->pd, e->addr(), kLongest, e->addr(), Endpoint::kAllAccess);
  }
  // The first packet of a posted message.
  const Packet* first_of(WrOpcode opcode) {
    EXPECT_EQ(pair_.post(pair_.wqe(opcode, 0, 0, kLongest)), PostResult::kOk);
    pair_.run_until(pair_.now() + 1_us);
    return pair_.log.empty() ? nullptr : &pair_.log.front().packet;
  }
  NicPair pair_;
};

TEST_P(NicLengthTest, IsTakenWhole) {
  const Packet* first = first_of(WrOpcode::kWrite);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->roce.dma_length, kLongest);
  SendWqe longer = pair_.wqe(WrOpcode::kWrite, 0, 0, kLongest);
  longer.num_sge = 2, longer.sge[1] = {pair_.a.addr(), 1, pair_.a.key};
  EXPECT_EQ(pair_.post(longer), PostResult::kBadLength);
}

// RoCE's READ takes the PSNs of its responses at once: its second half waits for the first.
TEST_P(NicLengthTest, IsReadInHalvesWherePsnsAreShort) {
  const Packet* first = first_of(WrOpcode::kRead);
  ASSERT_NE(first, nullptr);
  const bool roce = GetParam() == TransportMode::kRoce;
  EXPECT_EQ(first->roce.dma_length, roce ? kLongest / 2 : kLongest);
  EXPECT_EQ(pair_.sent([](const Departure& d) { return d.side == 0; }).size(), 1u);
  EXPECT_EQ(pair_.a.nic.progress_of(pair_.a.qp)->sq_psn,
            (kPsn + (roce ? kLongest / 2 / 256 : 1)) & Psn::kMask);
}

INSTANTIATE_TEST_SUITE_P(Modes, NicLengthTest, ::testing::Values(TransportMode::kRoce, TransportMode::kIrn),
                         [](const auto& mode) {
                           return mode.param == TransportMode::kRoce ? "Roce" : "Irn";
                         });

}  // namespace
}  // namespace rocelab
