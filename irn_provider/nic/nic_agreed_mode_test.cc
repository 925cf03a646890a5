// A NIC in IRN mode whose peer speaks RoCE only, once the two have agreed on that (QpAttr::plain_roce).
#include <gtest/gtest.h>

#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kPsn = 0xfffff0;

class MixedPair : public NicPair {
 public:
  MixedPair() : NicPair(config_of(TransportMode::kIrn), config_of(TransportMode::kRoce), kMemory) {}
};

TEST(NicAgreedModeTest, IrnNicSpeaksRcWithAPeerThatSpeaksNothingElse) {
  MixedPair pair;
  pair.attr.plain_roce = true;
  pair.connect(kPsn);
  pair.a.fill(0, 5'000, 1);
  pair.post_receive(0, 5'000);
  pair.post(pair.wqe(WrOpcode::kSend, 0, 0, 3'000, 1));
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 10'000, 5'000, 2));
  pair.post(pair.wqe(WrOpcode::kRead, 20'000, 10'000, 5'000, 3));
  pair.run();
  for (const Departure& d : pair.log)
    EXPECT_EQ(opcode_info(d.packet.roce.opcode).transport, TransportClass::kRc);
  ASSERT_EQ(pair.a.cqes.size(), 3u);
  for (const Cqe& cqe : pair.a.cqes) EXPECT_EQ(cqe.status, WcStatus::kSuccess);
  EXPECT_EQ(std::memcmp(pair.a.bytes.data() + 20'000, pair.a.bytes.data(), 5'000), 0);
}

TEST(NicAgreedModeTest, AfterResetTheQpIsTheNicsOwnAgain) {
  NicPair pair(config_of(TransportMode::kIrn));
  pair.attr.plain_roce = true;
  const auto [a, b] = pair.connect(kPsn);
  QpAttr reset;
  ASSERT_TRUE(pair.a.nic.modify_qp(a, reset, pair.now()));
  ASSERT_TRUE(pair.b.nic.modify_qp(b, reset, pair.now()));
  pair.attr.plain_roce = false;
  pair.bring_up(pair.a, a, b, kPsn, kPsn);
  pair.bring_up(pair.b, b, a, kPsn, kPsn);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 5'000, 1));
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  for (const Departure& d : pair.log)
    EXPECT_EQ(opcode_info(d.packet.roce.opcode).transport, TransportClass::kIrn);
}

TEST(NicAgreedModeTest, WithoutAnAgreementModesThatDifferEndInARetryError) {
  MixedPair pair;
  pair.connect(kPsn);
  pair.post(pair.wqe(WrOpcode::kWrite, 0, 0, 100, 1));
  pair.run();
  ASSERT_EQ(pair.a.cqes.size(), 1u);
  EXPECT_EQ(pair.a.cqes[0].status, WcStatus::kRetryExcErr);
}

}  // namespace
}  // namespace rocelab
