#include "irn_provider/verbs/qp_attr_table.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace rocelab::verbs {
namespace {

constexpr int kInit = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int kRtrRc = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kRtsRc =
    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
// What a QP that works may change at any time.
constexpr int kLive =
    IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE;
constexpr int kDrained = IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                         IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ALT_PATH |
                         IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_MIN_RNR_TIMER |
                         IBV_QP_PATH_MIG_STATE;

// Any state may be left for RESET and for ERR, and asks for nothing.
constexpr auto kWaysOut = [] {
  std::array<QpTransition, 2 * (IBV_QPS_ERR + 1)> ways{};
  for (std::size_t i = 0; i < ways.size(); ++i)
    ways[i] = {static_cast<ibv_qp_state>(i / 2), i % 2 == 0 ? IBV_QPS_RESET : IBV_QPS_ERR, 0, 0};
  return ways;
}();

template <std::size_t N>
constexpr auto with_ways_out(const QpTransition (&own)[N]) {
  std::array<QpTransition, N + kWaysOut.size()> all{};
  std::copy(std::begin(own), std::end(own), all.begin());
  std::copy(kWaysOut.begin(), kWaysOut.end(), all.begin() + N);
  return all;
}

constexpr auto kRc = with_ways_out({
    // from            to             required  optional
    {IBV_QPS_RESET, IBV_QPS_INIT, kInit, 0},
    {IBV_QPS_INIT, IBV_QPS_INIT, 0, kInit},
    {IBV_QPS_INIT, IBV_QPS_RTR, kRtrRc, IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
    {IBV_QPS_RTR, IBV_QPS_RTS, kRtsRc, kLive},
    {IBV_QPS_RTS, IBV_QPS_RTS, 0, kLive},
    {IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {IBV_QPS_SQD, IBV_QPS_RTS, 0, kLive},
    {IBV_QPS_SQD, IBV_QPS_SQD, 0, kDrained},
});

constexpr int kLiveUc = IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE;
constexpr auto kUc = with_ways_out({
    {IBV_QPS_RESET, IBV_QPS_INIT, kInit, 0},
    {IBV_QPS_INIT, IBV_QPS_INIT, 0, kInit},
    {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
     IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
    {IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, kLiveUc},
    {IBV_QPS_RTS, IBV_QPS_RTS, 0, kLiveUc},
    {IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {IBV_QPS_SQD, IBV_QPS_RTS, 0, kLiveUc},
    {IBV_QPS_SQD, IBV_QPS_SQD, 0,
     IBV_QP_AV | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PATH_MIG_STATE},
    {IBV_QPS_SQE, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS},
});

constexpr int kInitUd = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
constexpr int kLiveUd = IBV_QP_CUR_STATE | IBV_QP_QKEY;
constexpr auto kUd = with_ways_out({
    {IBV_QPS_RESET, IBV_QPS_INIT, kInitUd, 0},
    {IBV_QPS_INIT, IBV_QPS_INIT, 0, kInitUd},
    {IBV_QPS_INIT, IBV_QPS_RTR, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
    {IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, kLiveUd},
    {IBV_QPS_RTS, IBV_QPS_RTS, 0, kLiveUd},
    {IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {IBV_QPS_SQD, IBV_QPS_RTS, 0, kLiveUd},
    {IBV_QPS_SQD, IBV_QPS_SQD, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
    {IBV_QPS_SQE, IBV_QPS_RTS, 0, kLiveUd},
});

// XRC: each end has the half of RC's attributes that it works with, a target a timeout besides.
constexpr int kRtrUc = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int kDrainedIni = kDrained & ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
constexpr int kDrainedTgt = kDrained & ~(IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
constexpr auto kXrcIni = with_ways_out({
    {IBV_QPS_RESET, IBV_QPS_INIT, kInit, 0},
    {IBV_QPS_INIT, IBV_QPS_INIT, 0, kInit},
    {IBV_QPS_INIT, IBV_QPS_RTR, kRtrUc, IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
    {IBV_QPS_RTR, IBV_QPS_RTS, kRtsRc, kLiveUc},
    {IBV_QPS_RTS, IBV_QPS_RTS, 0, kLiveUc},
    {IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {IBV_QPS_SQD, IBV_QPS_RTS, 0, kLiveUc},
    {IBV_QPS_SQD, IBV_QPS_SQD, 0, kDrainedIni},
});
constexpr auto kXrcTgt = with_ways_out({
    {IBV_QPS_RESET, IBV_QPS_INIT, kInit, 0},
    {IBV_QPS_INIT, IBV_QPS_INIT, 0, kInit},
    {IBV_QPS_INIT, IBV_QPS_RTR, kRtrRc, IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
    {IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_TIMEOUT | IBV_QP_SQ_PSN, kLive},
    {IBV_QPS_RTS, IBV_QPS_RTS, 0, kLive},
    {IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {IBV_QPS_SQD, IBV_QPS_RTS, 0, kLive},
    {IBV_QPS_SQD, IBV_QPS_SQD, 0, kDrainedTgt},
});

}  // namespace

std::span<const QpTransition> transitions(ibv_qp_type type) {
  if (type == IBV_QPT_UC) return kUc;
  if (type == IBV_QPT_UD) return kUd;
  if (type == IBV_QPT_XRC_SEND) return kXrcIni;
  if (type == IBV_QPT_XRC_RECV) return kXrcTgt;
  return kRc;
}

const QpTransition* find_transition(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to) {
  for (const QpTransition& t : transitions(type))
    if (t.from == from && t.to == to) return &t;
  return nullptr;
}

int heeded_mask(ibv_qp_type type, int mask) {
  switch (type) {
    case IBV_QPT_XRC_SEND:
      return mask & ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    case IBV_QPT_XRC_RECV:
      return mask & ~(IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
    default:
      return mask;
  }
}

bool mask_allowed(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask) {
  const QpTransition* t = find_transition(type, from, to);
  return t != nullptr && (mask & t->required) == t->required &&
         (mask & ~(t->required | t->optional | IBV_QP_STATE)) == 0;
}

const char* name_of(ibv_qp_state state) {
  constexpr const char* kNames[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  return static_cast<std::size_t>(state) < std::size(kNames) ? kNames[state] : "no state";
}

namespace {

// In the order of their bits, from IBV_QP_STATE.
constexpr const char* kAttributes[] = {"STATE",
                                       "CUR_STATE",
                                       "EN_SQD_ASYNC_NOTIFY",
                                       "ACCESS_FLAGS",
                                       "PKEY_INDEX",
                                       "PORT",
                                       "QKEY",
                                       "AV",
                                       "PATH_MTU",
                                       "TIMEOUT",
                                       "RETRY_CNT",
                                       "RNR_RETRY",
                                       "RQ_PSN",
                                       "MAX_QP_RD_ATOMIC",
                                       "ALT_PATH",
                                       "MIN_RNR_TIMER",
                                       "SQ_PSN",
                                       "MAX_DEST_RD_ATOMIC",
                                       "PATH_MIG_STATE",
                                       "CAP",
                                       "DEST_QPN"};

std::string names_of(int mask) {
  std::string names;
  for (std::size_t bit = 0; bit < 8 * sizeof mask; ++bit) {
    if ((static_cast<unsigned>(mask) >> bit & 1) == 0) continue;
    const bool known = bit < std::size(kAttributes);
    names += (names.empty() ? "" : ", ") +
             (known ? std::string("IBV_QP_") + kAttributes[bit] : "bit " + std::to_string(bit));
  }
  return names;
}

}  // namespace

std::string why_not_allowed(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask) {
  const std::string move = std::string(name_of(from)) + " to " + name_of(to);
  const QpTransition* t = find_transition(type, from, to);
  if (t == nullptr)
    return move + ": a queue pair goes by RESET, INIT, RTR, RTS, and from each to RESET or ERR";
  if (const int missing = t->required & ~mask; missing != 0) return move + " also needs " + names_of(missing);
  const int surplus = mask & ~(t->required | t->optional | IBV_QP_STATE);
  return surplus != 0 ? move + " does not take " + names_of(surplus) : "";
}

}  // namespace rocelab::verbs
