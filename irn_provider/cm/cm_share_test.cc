#include <gtest/gtest.h>

#include "base/wire/cm/ip_cm.h"
#include "irn_provider/cm/port_share.h"

namespace rocelab::cm {
namespace {

constexpr std::uint32_t kOpen = 0b1110;  // processes 1, 2 and 3

Req request() {
  Req r;
  r.service_id = service_id(PortSpace::kTcp, 7174);
  return r;
}

TEST(CmShareTest, RequestGoesToWhoeverListens) {
  EXPECT_EQ(taker(request(), kOpen, 2), 2u);
  EXPECT_EQ(taker(SidrReq{}, kOpen, 3), 3u);
}

TEST(CmShareTest, RequestThatNobodyServesIsRefusedByOne) {
  EXPECT_EQ(taker(request(), kOpen, std::nullopt), 1u);
  EXPECT_EQ(taker(request(), kOpen, 0), 1u);  // a listener that takes no datagrams
}

TEST(CmShareTest, AnswerGoesToTheProcessWhoseIdItNames) {
  const CommId id = first_id_of(3) | 5;
  Rep rep;
  rep.remote_id = id;
  EXPECT_EQ(taker(rep, kOpen, std::nullopt), 3u);
  EXPECT_EQ(taker(Rtu{9, id, {}}, kOpen, std::nullopt), 3u);
  EXPECT_EQ(taker(Dreq{9, id, {}, {}}, kOpen, std::nullopt), 3u);
  SidrRep sidr;
  sidr.request_id = id;
  EXPECT_EQ(taker(sidr, kOpen, std::nullopt), 3u);
}

TEST(CmShareTest, AnswerToAProcessThatIsGoneHasATakerToo) {
  EXPECT_EQ(taker(Dreq{9, first_id_of(4) | 5, {}, {}}, kOpen, std::nullopt), 1u);
}

TEST(CmShareTest, RejectionWithoutAnIdConcernsEveryone) {
  Rej rej;
  rej.reason = RejReason::kTimeout;
  EXPECT_EQ(taker(rej, kOpen, std::nullopt), kEveryone);
  rej.remote_id = first_id_of(2);
  EXPECT_EQ(taker(rej, kOpen, std::nullopt), 2u);
}

}  // namespace
}  // namespace rocelab::cm
