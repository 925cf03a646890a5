#include "irn_provider/verbs/qp_attr_table.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace rocelab::verbs {
namespace {

TEST(QpAttrTableTest, EveryMoveStandsOnceAndRequiresNothingThatItAlsoCallsOptional) {
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV}) {
    std::set<std::pair<int, int>> seen;
    for (const QpTransition& t : transitions(type)) {
      EXPECT_TRUE(seen.insert({t.from, t.to}).second) << type << ": " << t.from << " -> " << t.to;
      EXPECT_EQ(t.required & t.optional, 0) << type << ": " << t.from << " -> " << t.to;
    }
  }
}

TEST(QpAttrTableTest, EveryStateMayGoToResetAndToErr) {
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV})
    for (int state = IBV_QPS_RESET; state <= IBV_QPS_ERR; ++state) {
      const auto from = static_cast<ibv_qp_state>(state);
      EXPECT_TRUE(mask_allowed(type, from, IBV_QPS_RESET, IBV_QP_STATE)) << type << " from " << from;
      EXPECT_TRUE(mask_allowed(type, from, IBV_QPS_ERR, IBV_QP_STATE)) << type << " from " << from;
      EXPECT_FALSE(mask_allowed(type, from, IBV_QPS_ERR, IBV_QP_STATE | IBV_QP_PORT))
          << type << " from " << from;
    }
}

TEST(QpAttrTableTest, NoStateIsSkippedOnTheWayUp) {
  for (const auto& [from, to] : {std::pair{IBV_QPS_RESET, IBV_QPS_RTR},
                                 {IBV_QPS_RESET, IBV_QPS_RTS},
                                 {IBV_QPS_INIT, IBV_QPS_RTS},
                                 {IBV_QPS_ERR, IBV_QPS_INIT},
                                 {IBV_QPS_ERR, IBV_QPS_RTS},
                                 {IBV_QPS_RTS, IBV_QPS_RTR},
                                 {IBV_QPS_RTR, IBV_QPS_SQD},
                                 {IBV_QPS_RTS, IBV_QPS_SQE},
                                 {IBV_QPS_RTR, IBV_QPS_RTR}})
    EXPECT_EQ(find_transition(IBV_QPT_RC, from, to), nullptr) << from << " -> " << to;
}

// The attributes that every RC program on earth sets, and each of them needed.
TEST(QpAttrTableTest, TheUsualWayUpIsAllowedAndNothingLessIs) {
  struct Step {
    ibv_qp_state from, to;
    int mask;
  };
  for (const Step& s :
       {Step{IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
        Step{IBV_QPS_INIT, IBV_QPS_RTR,
             IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                 IBV_QP_MIN_RNR_TIMER},
        Step{IBV_QPS_RTR, IBV_QPS_RTS,
             IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                 IBV_QP_MAX_QP_RD_ATOMIC}}) {
    EXPECT_TRUE(mask_allowed(IBV_QPT_RC, s.from, s.to, s.mask | IBV_QP_STATE));
    for (int bit = 1; bit <= IBV_QP_DEST_QPN; bit <<= 1) {
      if ((s.mask & bit) == 0) continue;
      EXPECT_FALSE(mask_allowed(IBV_QPT_RC, s.from, s.to, (s.mask & ~bit) | IBV_QP_STATE)) << bit;
    }
    EXPECT_FALSE(mask_allowed(IBV_QPT_RC, s.from, s.to, s.mask | IBV_QP_STATE | IBV_QP_QKEY));  // UD's
  }
}

TEST(QpAttrTableTest, AWorkingQueuePairMayChangeItsRightsButNotItsPeer) {
  EXPECT_TRUE(mask_allowed(IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_RTS, IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER));
  EXPECT_FALSE(mask_allowed(IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_RTS, IBV_QP_DEST_QPN));
  EXPECT_FALSE(mask_allowed(IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_RTS, IBV_QP_TIMEOUT));
  EXPECT_TRUE(mask_allowed(IBV_QPT_RC, IBV_QPS_SQD, IBV_QPS_SQD, IBV_QP_TIMEOUT | IBV_QP_AV));
}

TEST(QpAttrTableTest, UnreliableTypesNeedLessAndDatagramsNoPeer) {
  EXPECT_TRUE(mask_allowed(IBV_QPT_UC, IBV_QPS_INIT, IBV_QPS_RTR,
                           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN));
  EXPECT_FALSE(mask_allowed(
      IBV_QPT_UC, IBV_QPS_INIT, IBV_QPS_RTR,
      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MIN_RNR_TIMER));
  EXPECT_TRUE(mask_allowed(IBV_QPT_UD, IBV_QPS_RESET, IBV_QPS_INIT,
                           IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
  EXPECT_FALSE(mask_allowed(IBV_QPT_UD, IBV_QPS_RESET, IBV_QPS_INIT,
                            IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
  EXPECT_TRUE(mask_allowed(IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_STATE));
  EXPECT_TRUE(mask_allowed(IBV_QPT_UD, IBV_QPS_SQE, IBV_QPS_RTS, IBV_QP_STATE));
  EXPECT_EQ(find_transition(IBV_QPT_RC, IBV_QPS_SQE, IBV_QPS_RTS), nullptr);
}

TEST(QpAttrTableTest, EachXrcEndHasItsHalfOfWhatRcNeeds) {
  constexpr int kPeer = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  constexpr int kTarget = kPeer | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  constexpr int kRetries = IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  constexpr int kRts = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT;
  EXPECT_TRUE(mask_allowed(IBV_QPT_XRC_SEND, IBV_QPS_INIT, IBV_QPS_RTR, kPeer));
  EXPECT_FALSE(mask_allowed(IBV_QPT_XRC_SEND, IBV_QPS_INIT, IBV_QPS_RTR, kTarget));
  EXPECT_TRUE(mask_allowed(IBV_QPT_XRC_RECV, IBV_QPS_INIT, IBV_QPS_RTR, kTarget));
  EXPECT_FALSE(mask_allowed(IBV_QPT_XRC_RECV, IBV_QPS_INIT, IBV_QPS_RTR, kPeer));
  EXPECT_TRUE(mask_allowed(IBV_QPT_XRC_SEND, IBV_QPS_RTR, IBV_QPS_RTS, kRts | kRetries));
  EXPECT_FALSE(mask_allowed(IBV_QPT_XRC_SEND, IBV_QPS_RTR, IBV_QPS_RTS, kRts));
  EXPECT_TRUE(mask_allowed(IBV_QPT_XRC_RECV, IBV_QPS_RTR, IBV_QPS_RTS, kRts));
  EXPECT_FALSE(mask_allowed(IBV_QPT_XRC_RECV, IBV_QPS_RTR, IBV_QPS_RTS, kRts | kRetries));
  EXPECT_FALSE(mask_allowed(IBV_QPT_XRC_SEND, IBV_QPS_SQD, IBV_QPS_SQD, IBV_QP_MIN_RNR_TIMER));
  EXPECT_FALSE(mask_allowed(IBV_QPT_XRC_RECV, IBV_QPS_SQD, IBV_QPS_SQD, IBV_QP_RETRY_CNT));
}

TEST(QpAttrTableTest, SaysWhyAMoveIsNotAllowed) {
  constexpr int kInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  const auto why = [](ibv_qp_state from, ibv_qp_state to, int mask) {
    return why_not_allowed(IBV_QPT_RC, from, to, mask);
  };
  EXPECT_EQ(why(IBV_QPS_RESET, IBV_QPS_INIT, kInit), "");
  EXPECT_EQ(why(IBV_QPS_RESET, IBV_QPS_INIT, kInit & ~IBV_QP_PORT), "RESET to INIT also needs IBV_QP_PORT");
  EXPECT_EQ(why(IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_STATE | IBV_QP_PORT),
            "RESET to INIT also needs IBV_QP_ACCESS_FLAGS, IBV_QP_PKEY_INDEX");
  EXPECT_EQ(why(IBV_QPS_RESET, IBV_QPS_INIT, kInit | IBV_QP_TIMEOUT | IBV_QP_DEST_QPN | 1 << 25),
            "RESET to INIT does not take IBV_QP_TIMEOUT, IBV_QP_DEST_QPN, bit 25");
  EXPECT_EQ(why(IBV_QPS_RESET, IBV_QPS_RTR, kInit),
            "RESET to RTR: a queue pair goes by RESET, INIT, RTR, RTS, and from each to RESET or ERR");
}

// INIT -> RTR and RTR -> RTS with the attributes of RC, for both ends of an XRC connection.
TEST(QpAttrTableTest, EndsOfXrcIgnoreWhatOnlyTheOtherOneHas) {
  const int to_rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  const int to_rts = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                     IBV_QP_MAX_QP_RD_ATOMIC;
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV}) {
    EXPECT_TRUE(mask_allowed(type, IBV_QPS_INIT, IBV_QPS_RTR, heeded_mask(type, to_rtr))) << type;
    EXPECT_TRUE(mask_allowed(type, IBV_QPS_RTR, IBV_QPS_RTS, heeded_mask(type, to_rts))) << type;
  }
  EXPECT_FALSE(mask_allowed(IBV_QPT_XRC_SEND, IBV_QPS_INIT, IBV_QPS_RTR, to_rtr));
  EXPECT_EQ(heeded_mask(IBV_QPT_UC, to_rtr), to_rtr);
}

}  // namespace
}  // namespace rocelab::verbs
