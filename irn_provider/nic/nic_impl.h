// Nic::Impl: what is behind nic.h. Packets and timers in nic.cc, resources in nic_resources.cc and
// nic_queues.cc. Private to this folder.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/bfc.h"
#include "base/replay_port.h"
#include "base/ring.h"
#include "base/wire/cm/mad.h"
#include "irn_provider/nic/drop_reason.h"
#include "irn_provider/nic/edge_aqm.h"
#include "irn_provider/nic/nic.h"
#include "irn_provider/nic/pause_state.h"
#include "irn_provider/nic/qp_scheduler.h"
#include "irn_provider/nic/slack_source.h"
#include "irn_provider/nic/timer_heap.h"
#include "irn_provider/transport/handle_table.h"
#include "irn_provider/transport/queue_pair.h"

namespace rocelab {

// What RoCC's feedback names a flow by: its destination host and QPN, which one queue pair here sends to.
inline std::uint64_t flow_key(NodeId destination, Qpn dest) {
  return (std::uint64_t{destination.value} + 1) << 24 | dest.value;  // 0: no flow
}

struct Nic::Impl {
  Impl(const NicConfig& configuration, Qpn first, PacketPool& packets, Memory& memory, TraceSink& sink);

  QueuePair* find(Qpn qpn) {
    const std::uint32_t slot = qpn.value - first_qpn.value;  // wraps to a huge number below first_qpn
    if (slot < qps.size()) [[likely]]
      return qps[slot].get();
    return qpn == kGsiQpn && gsi_slot ? qps[*gsi_slot].get() : nullptr;
  }
  std::uint32_t slot_of(const QueuePair& qp) const {
    const std::uint32_t slot = qp.context().qpn.value - first_qpn.value;
    return slot < qps.size() ? slot : *gsi_slot;
  }
  // After anything happened to a QP: whether it can send, and when it must be woken.
  void touch(QueuePair& qp, Time now);
  void wake_in_turn(Time now);

  NicDropReason check(const Packet& packet, const OpcodeInfo& info, QueuePair*& qp);
  void drop(const Packet& packet, NicDropReason reason, Time now);
  void accept(const Packet& packet, Time now);
  void on_group(const Packet& packet, const OpcodeInfo& info, Time now);
  void leave_groups(std::uint32_t slot);
  void on_feedback(Packet& packet, Time now);
  void on_queue_pauses(const BfcQueues& paused, Time now);
  // A QP's peer was set, or is gone: keeps `flows` right.
  void note_peer(std::uint32_t slot);
  CompletionQueue* find(Cqn cq);  // null: unknown
  SharedReceiveQueue* find(Srqn srq);
  PacketRef poll(Time now, TcMask of);  // null: nothing may leave
  PacketRef transmit(Time now, TcMask open, TcMask of);
  void count_control(const Packet& packet);
  bool still_sends(QueuePair& qp, const QpScheduler::Turn& turn, Time now);
  void write_slack(const QueuePair& qp, const QpScheduler::Turn& turn, Packet& packet, Time now);
  bool passes_edge(Packet& packet, const QueuePair& qp, Time now);
  void note_slack(const Packet& packet, Time now);

  std::optional<std::uint32_t> free_qp_slot();
  bool has_what_its_type_needs(const QpInit& init);
  void count_users(const QpInit& init, int change);  // of what the QP was made from

  const NicConfig config;
  const Tc cnp_tc;       // of the config
  const bool knows_all;  // every DSCP has a class
  const Qpn first_qpn;
  PacketPool& pool;
  TraceSink& trace;
  NicCounters counters;
  std::uint64_t completions = 0, posts = 0;
  MemoryRegions regions;
  MemoryWindows windows;
  HandleTable<AddressHandle> address_handles;
  AsyncEvents events{completions};
  NicServices services;
  NicPauseState pause;
  NicLinkState link{counters, events};
  QpScheduler scheduler;
  ClassTurns own_turns;        // of a port that no other NIC shares
  ClassTurns* class_turns;     // null: all classes by strict priority
  TcMask ready_elsewhere = 0;  // classes that NICs which share the port have something of
  SlackSource slacks;
  EdgeAqm edge;
  ReplayPort* replay = nullptr;
  TimerHeap timers;
  const bool shares_limiters;  // of the config
  std::vector<std::uint64_t>
      last_turns;                     // by slot, where they are shared: tx_packets at its last data packet
  std::vector<std::uint32_t> waking;  // slots
  std::map<GroupAddress, std::vector<std::uint32_t>>
      groups;  // slots of the members, in the order in which they joined

  struct ProtectionDomain {
    std::uint32_t users = 0;  // MRs, memory windows, QPs, SRQs, address handles
  };
  struct XrcDomain {
    std::uint32_t users = 0;  // XRC SRQs and targets
  };
  HandleTable<ProtectionDomain> pds;
  HandleTable<XrcDomain> xrcds;
  HandleTable<std::unique_ptr<CompletionQueue>> cqs;
  SrqTable srqs;
  std::vector<std::unique_ptr<QueuePair>> qps;  // by slot; null: free
  std::optional<std::uint32_t> gsi_slot;        // QP1, while it exists
  std::optional<std::uint32_t> last_slot;       // given to a QP
  std::uint32_t first_slot = 0;                 // that is given to one
  Ring<std::uint32_t> free_slots;  // in the order in which they became free: a QPN returns as late as can be

  // Where switch feedback belongs: the slot of the QP that sends to this address and QPN. Only with a
  // congestion control that gets some. Looked up, never walked.
  std::unordered_map<std::uint64_t, std::uint32_t> flows;
  std::vector<std::uint64_t> flow_of_slot;  // its key; 0: none

  BfcQueues paused_queues;  // by BFC; a queue pair's is bfc_queue_of()

  // The packet pulled last, for gather() and path_of().
  const Packet* pulled = nullptr;
  const QueuePair* pulled_qp = nullptr;
  PayloadSource pulled_source;
};

}  // namespace rocelab
