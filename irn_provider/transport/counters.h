// NicCounters: what a NIC counts, under the names that RDMA people know (rdma-core hw_counters, ethtool -S,
// IRN's own). Frames and packets, unless a name says bytes. One list, so that `stat`, summary.json and the
// docs cannot disagree.
#pragma once

#include "base/counter_list.h"

namespace rocelab {

// One name per line: the formatter would fill lines.
// clang-format off
#define ROCELAB_NIC_COUNTERS(X)                                                                   \
  X(tx_packets)                                                                                   \
  X(tx_bytes)                                                                                     \
  X(tx_request_frames) /* of tx_packets: READs and atomics */                                     \
  X(tx_request_bytes)                                                                             \
  X(tx_ack_frames) /* and acknowledgements */                                                     \
  X(tx_ack_bytes)                                                                                 \
  X(tx_nack_frames) /* and NACKs of IRN; RoCE's NAKs are ACKs with another syndrome */            \
  X(tx_nack_bytes)                                                                                \
  X(tx_cnp_frames) /* and CNPs */                                                                 \
  X(tx_cnp_bytes)                                                                                 \
  X(rx_packets)                                                                                   \
  X(rx_bytes) /* RoCE frames, bytes as frame length */                                            \
  X(rx_write_requests)                                                                            \
  X(rx_read_requests)                                                                             \
  X(rx_atomic_requests)                                                                           \
  X(rx_send_requests)                                                                             \
  X(out_of_sequence) /* responder: requests that arrived out of order */                          \
  X(duplicate_request) /* responder: requests that it had already */                              \
  X(packet_seq_err) /* requester: NAKs (RoCE) and NACKs (IRN) for a sequence error received */    \
  X(implied_nak_seq_err) /* requester: a READ response or ACK that implies a loss */              \
  X(local_ack_timeout_err) /* periods of the verbs timeout without progress */                    \
  X(rnr_nak_retry_err) /* RNR NAKs received */                                                    \
  X(out_of_buffer) /* responder: RNR NAKs sent, no receive WQE */                                 \
  X(req_remote_access_errors)                                                                     \
  X(req_remote_invalid_request)                                                                   \
  X(req_cqe_error)                                                                                \
  X(resp_cqe_error)                                                                               \
  X(resp_local_length_error) /* responder: longer than its receive WQE */                         \
  X(resp_remote_access_errors) /* responder refused: R_Key, PD, bounds or rights of a region */   \
  X(resp_remote_invalid_request) /* responder refused: opcode, length, right of the QP, READs */  \
  X(resp_remote_operation_errors) /* responder refused: its receive WQE names no good memory */   \
  X(req_cqe_flush_error)                                                                          \
  X(resp_cqe_flush_error)                                                                         \
  X(retransmitted_packets) /* all packets that left again */                                      \
  X(nack_retransmissions) /* of these: by NAK or NACK */                                          \
  X(timeout_retransmissions) /* of these: in recovery that a timer began */                       \
  X(rto_low_timeouts)                                                                             \
  X(rto_high_timeouts)                                                                            \
  X(read_responder_timeouts)                                                                      \
  X(spurious_retransmissions) /* receiver: data packets that were here already */                 \
  X(premature_cqes) /* IRN: CQEs held back until earlier packets came */                          \
  X(ooo_placed_packets) /* IRN: payload placed before an earlier packet came */                   \
  X(probe_drops) /* IRN: out of order, without a receive WQE or due an error: dropped silently */ \
  X(rx_beyond_bitmap) /* IRN: packets further ahead than the bitmap reaches, dropped */           \
  X(rx_icrc_encapsulated) /* frames with a wrong ICRC */                                          \
  X(rx_malformed)                                                                                 \
  X(rx_unknown_qp)                                                                                \
  X(rx_wrong_mode)                                                                                \
  X(rx_wrong_state)                                                                               \
  X(rx_wrong_peer) /* for a connected QP: not from its peer's address, or not to its own */       \
  X(rx_dropped_messages) /* UC: for all reasons but a missing receive WQE */                      \
  X(rx_incomplete_messages) /* of these: a packet was lost; the others: resp_remote_* */          \
  X(rx_stray_packets) /* UC: middle and last packets of no message in progress */                 \
  X(rx_stray_answers) /* requester: answers to packets that it has never sent */                  \
  X(qkey_violations)                                                                              \
  X(np_cnp_sent)                                                                                  \
  X(rp_cnp_handled)                                                                               \
  X(np_ecn_marked_roce_packets)                                                                   \
  X(rx_prio0_pause)                                                                               \
  X(rx_prio1_pause)                                                                               \
  X(rx_prio2_pause)                                                                               \
  X(rx_prio3_pause)                                                                               \
  X(rx_prio4_pause)                                                                               \
  X(rx_prio5_pause)                                                                               \
  X(rx_prio6_pause)                                                                               \
  X(rx_prio7_pause)                                                                               \
  X(rx_pause_duration_ns) /* time in which at least one class was paused */                       \
  X(rp_fair_rates_handled) /* feedback of switches (RoCC) that was taken in */                    \
  X(rp_fair_rates_refused) /* and that cannot be right, or was not asked for */                   \
  X(rp_fair_rates_unknown_flow) /* and of no QP here */                                           \
  X(rx_escape_tokens) /* Escape's tokens that reached this host, where they end */                \
  X(rx_escape_announcements) /* and its announcements, which are for switches */                  \
  X(rx_queue_pauses) /* BFC's pauses of queues */                                                 \
  X(rx_not_in_group) /* multicast datagrams to a group without a member here */                   \
  X(link_downed) /* how often the port's link has failed */                                       \
  X(rx_slack_packets) /* data packets with slack (LSTF) that were received */                     \
  X(rx_overdue_packets) /* of these: that waited longer than their slack allowed */               \
  X(rx_overdue_beyond) /* of these: by more than a full frame on the slowest link */              \
  X(rx_waited_at_1) /* of rx_slack_packets: that waited at one switch (congestion points) */      \
  X(rx_waited_at_2)                                                                               \
  X(rx_waited_at_3)                                                                               \
  X(rx_waited_at_more)                                                                            \
  X(rx_edge_drops) /* data packets that queue management at the edge dropped (slack.edge) */      \
  X(rx_edge_marks) /* and that it marked */                                                       \
  X(rlp_packets) /* RC3: data packets sent by the low-priority loop */                            \
  X(rlp_repeated) /* of these: sent by TCP, too, which did not know that they had arrived */      \
  X(rlp_duplicates) /* received at a lower level, and here already */                             \
  X(rlp_refused) /* received at a lower level, and dropped: no receive WQE, wrong key, ... */     \
  X(rx_unknown_dscp) /* of rx_packets: of a DSCP that the NIC's class map leaves out */
// clang-format on

ROCELAB_COUNTERS(NicCounter, ROCELAB_NIC_COUNTERS);

}  // namespace rocelab
