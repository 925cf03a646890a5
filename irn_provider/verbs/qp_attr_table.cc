#include "irn_provider/verbs/qp_attr_table.h"

#include <array>

namespace rocelab::verbs {
namespace {

constexpr int kInit = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int kRtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kRts =
    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
// What a QP that works may change at any time.
constexpr int kLive =
    IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE;
constexpr int kDrained = IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                         IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ALT_PATH |
                         IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_MIN_RNR_TIMER |
                         IBV_QP_PATH_MIG_STATE;

constexpr QpTransition kTable[] = {
    // from            to             required  optional
    {IBV_QPS_RESET, IBV_QPS_RESET, 0, 0},
    {IBV_QPS_RESET, IBV_QPS_INIT, kInit, 0},
    {IBV_QPS_RESET, IBV_QPS_ERR, 0, 0},
    {IBV_QPS_INIT, IBV_QPS_RESET, 0, 0},
    {IBV_QPS_INIT, IBV_QPS_ERR, 0, 0},
    {IBV_QPS_INIT, IBV_QPS_INIT, 0, kInit},
    {IBV_QPS_INIT, IBV_QPS_RTR, kRtr, IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
    {IBV_QPS_RTR, IBV_QPS_RESET, 0, 0},
    {IBV_QPS_RTR, IBV_QPS_ERR, 0, 0},
    {IBV_QPS_RTR, IBV_QPS_RTS, kRts, kLive},
    {IBV_QPS_RTS, IBV_QPS_RESET, 0, 0},
    {IBV_QPS_RTS, IBV_QPS_ERR, 0, 0},
    {IBV_QPS_RTS, IBV_QPS_RTS, 0, kLive},
    {IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {IBV_QPS_SQD, IBV_QPS_RESET, 0, 0},
    {IBV_QPS_SQD, IBV_QPS_ERR, 0, 0},
    {IBV_QPS_SQD, IBV_QPS_RTS, 0, kLive},
    {IBV_QPS_SQD, IBV_QPS_SQD, 0, kDrained},
    {IBV_QPS_SQE, IBV_QPS_RESET, 0, 0},
    {IBV_QPS_SQE, IBV_QPS_ERR, 0, 0},
    {IBV_QPS_ERR, IBV_QPS_RESET, 0, 0},
    {IBV_QPS_ERR, IBV_QPS_ERR, 0, 0},
};

}  // namespace

std::span<const QpTransition> rc_transitions() { return kTable; }

const QpTransition* find_transition(ibv_qp_state from, ibv_qp_state to) {
  for (const QpTransition& t : kTable)
    if (t.from == from && t.to == to) return &t;
  return nullptr;
}

bool mask_allowed(ibv_qp_state from, ibv_qp_state to, int mask) {
  const QpTransition* t = find_transition(from, to);
  return t != nullptr && (mask & t->required) == t->required &&
         (mask & ~(t->required | t->optional | IBV_QP_STATE)) == 0;
}

}  // namespace rocelab::verbs
