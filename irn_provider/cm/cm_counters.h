// CmCounters: what a connection manager counts: datagrams to QP1 that changed nothing, by reason, and what
// was sent. Frames that are no good datagrams to QP1 are the NIC's to count
// (irn_provider/transport/counters.h). All since the start.
#pragma once

#include "base/counter_list.h"

namespace rocelab::cm {

// One name per line: the formatter would fill lines.
// clang-format off
#define ROCELAB_CM_COUNTERS(X)                                                                      \
  X(rx_mads)                                                                                        \
  X(tx_mads)                                                                                        \
  X(retries)                                                                                        \
  X(rx_malformed) /* CmMad::parse refuses */                                                        \
  X(rx_unknown_id) /* names no endpoint of ours */                                                  \
  X(rx_wrong_peer) /* names one, but comes from another port than its peer, or means another QP */  \
  X(rx_wrong_state) /* the endpoint awaits something else */                                        \
  X(rx_duplicates) /* answered again, or known already */                                           \
  X(rx_stale) /* a new request from a QP that an old connection still has */                        \
  X(rx_no_listener) /* requests */                                                                  \
  X(rx_backlog_full)                                                                                \
  X(rx_refused)                                                                                     \
  X(tx_dropped) /* of tx_mads: too many waited for QP1 */
// clang-format on

ROCELAB_COUNTERS(CmCounter, ROCELAB_CM_COUNTERS);

}  // namespace rocelab::cm
