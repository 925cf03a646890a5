#include "emu/cost/state.h"

#include <algorithm>
#include <bit>

#include "irn_provider/cc/rocc_rp.h"
#include "irn_provider/transport/gbn_responder.h"
#include "irn_provider/transport/go_back_n.h"
#include "irn_provider/transport/irn_receiver.h"
#include "irn_provider/transport/irn_responder.h"
#include "irn_provider/transport/irn_sender.h"
#include "irn_provider/transport/queue_pair.h"
#include "ovs_patches/switch_model/escape.h"
#include "ovs_patches/switch_model/flow_index.h"
#include "ovs_patches/switch_model/queue.h"
#include "ovs_patches/switch_model/rocc_cp.h"

namespace rocelab {
namespace {

template <class T>
constexpr std::uint64_t bits_of() {
  return 8 * sizeof(T);
}

// Of a bitmap that reaches over so many packets.
std::uint64_t bitmap_bits(std::uint32_t packets) {
  return std::bit_ceil(std::max<std::uint64_t>(packets, 64));
}

}  // namespace

std::vector<StateItem> cost_state() {
  const std::uint64_t bitmap = bitmap_bits(IrnConfig().bdp_cap);
  constexpr std::uint64_t kTransport = 52 + 52 + 56, kBitmaps = 5 * 128;  // Mittal, 4.5.1
  // A flow in Escape's table: the flow, its key, and its two places in the hash table.
  constexpr std::uint64_t kEscapeFlow =
      8 * (sizeof(SwitchFlow) + sizeof(std::uint64_t) + 2 * sizeof(std::uint32_t));
  return {
      {"irn", "QP", "sender with its timer, and receiver, without bitmaps",
       bits_of<IrnSender>() + bits_of<IrnReceiver>(), kTransport, "4.5.1: 52 + 52 + 56"},
      {"irn", "QP", "of these: sender", bits_of<IrnSender>(), 0, ""},
      {"irn", "QP", "bitmaps: SACK at the sender, two of arrivals at the receiver", 3 * bitmap, kBitmaps,
       "4.5.1: 5 x 128, those of READ responses included"},
      {"irn", "QP", "of RoCE in place of both: go-back-N's sender", bits_of<GoBackN>(), 0, ""},
      {"irn", "QP", "responder (IRN), all of a verbs responder", bits_of<IrnResponder>(), 0, ""},
      {"irn", "QP", "responder (RoCE), all of a verbs responder", bits_of<GbnResponder>(), 0, ""},
      {"irn", "QP", "queue pair with requester and queues, without what it allocates", bits_of<QueuePair>(),
       0, ""},
      {"irn", "WQE", "send WQE; of it IRN's recv_ or read_WQE_SN", 8 * sizeof(SendEntry::wqe_sn), 24,
       "4.5.1: 3 B"},
      {"irn", "WQE", "send WQE, all of it", bits_of<SendEntry>(), 0, ""},
      {"irn", "NIC", "what all QPs share: RTO_low, RTO_high, N, BDP cap",
       8 * (sizeof(IrnConfig::rto_low) + sizeof(IrnConfig::rto_high) + sizeof(IrnConfig::rto_low_packets) +
            sizeof(IrnConfig::bdp_cap)),
       80, "4.5.1: 10 B"},
      {"rocc", "port", "congestion point: parameters and law", bits_of<RoccCp>(), 0, ""},
      {"rocc", "flow", "in the table of flows in the queue: a key and a stamp of a hash table", 2 * 8 * 16, 0,
       ""},
      {"rocc", "flow", "reaction point at the host", bits_of<RoccRp>(), 0, ""},
      {"escape", "port", "pool of tokens", bits_of<EscapePool>(), 0, ""},
      {"escape", "port", "table of flows, without the flows", bits_of<EscapeFlows>(), 0, ""},
      {"escape", "flow", "in a port's table", kEscapeFlow, 0, ""},
      {"escape", "token", "that is away: when it left", bits_of<Time>(), 0, ""},
      {"escape", "frame", "in a queue out of which frames are extracted: links in two lists",
       bits_of<FlowIndex::Links>(), 0, ""},
  };
}

}  // namespace rocelab
