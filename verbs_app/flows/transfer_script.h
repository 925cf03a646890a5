// TransferScript: what one end of one flow asks of its queue pairs ("lanes"): how many there are and how
// deep, which work requests in which order, which of them are signaled, and when the flow is over. No I/O, no
// clock, no verbs: Transfer carries it out with libibverbs, the virtual-time engine (emu/des) with its own
// NICs, so that both post the same requests.
//
// The *requester* posts to its send queues: the source of a SEND or WRITE flow, the destination of a READ
// flow. It keeps up to `depth` messages posted per lane; every few of them, and the last, are signaled. The
// last WRITE of a lane carries the flow id as immediate data: that is how the destination learns of the end
// without another packet. The *responder* posts receives (SEND: one per message, in place; WRITE: one per
// lane for the immediate) or nothing (READ).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "verbs_app/flows/flow_list.h"

namespace rocelab::app {

struct TransferOptions {
  int depth = 64;        // messages in a lane's send queue
  int recv_depth = 256;  // receives posted ahead per lane, SEND flows
};

// One work request: for the send queue at a requester, for the receive queue at a responder.
struct WorkRequest {
  std::uint64_t wr_id = 0;
  std::uint64_t offset = 0;  // of the message in the flow
  std::uint32_t length = 0;  // of the message; 0: a receive without a buffer
  bool signaled = false;
  bool immediate = false;  // carries the flow id
};

struct LaneDepths {
  int send = 0, recv = 0;  // work requests that the queues must hold
};

class TransferScript {
 public:
  // `slot` marks this transfer's work requests, below kMaxSlots.
  TransferScript(const Flow& flow, bool is_source, std::uint32_t slot, const TransferOptions& options);

  const Flow& flow() const { return flow_; }
  bool is_source() const { return is_source_; }
  bool is_requester() const { return is_source_ != (flow_.op == Op::kRead); }
  std::size_t lanes() const { return lanes_.size(); }
  LaneDepths depths(std::size_t lane) const;
  std::uint32_t first_psn(std::size_t lane) const;  // of the packets that this end sends
  static int cq_entries(const Flow& flow, const TransferOptions& options);  // that the lanes may fill

  // The next request that the lane's queue has room for, now counted as posted; null: none now.
  std::optional<WorkRequest> next(std::size_t lane);
  // A request completed with success. True: the flow is over at this end.
  bool on_completion(std::uint64_t wr_id);

  static std::uint32_t slot_of(std::uint64_t wr_id) { return static_cast<std::uint32_t>(wr_id >> 44); }
  static std::size_t lane_of(std::uint64_t wr_id);
  static constexpr std::uint32_t kMaxSlots = 1u << 20;

 private:
  struct Lane {
    std::uint64_t messages = 0;  // that it carries
    std::uint64_t posted = 0, done = 0;
  };
  std::uint64_t wanted(const Lane& lane) const;  // work requests in all

  Flow flow_;
  bool is_source_;
  std::uint32_t slot_;
  TransferOptions options_;
  std::vector<Lane> lanes_;
};

}  // namespace rocelab::app
