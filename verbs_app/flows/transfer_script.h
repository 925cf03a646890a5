// TransferScript: what one end of one flow asks of its queue pairs ("lanes"): how many there are and how
// deep, which work requests in which order and from when on, which of them are signaled, and when the flow is
// over. No I/O, no clock, no verbs: Transfer carries it out with libibverbs, the virtual-time engine
// (emu/des) with its own NICs, so that both post the same requests. Times are nanoseconds after the epoch.
//
// The *requester* posts to its send queues: the source of a SEND or WRITE flow, the destination of a READ
// flow. It keeps up to `depth` messages posted per lane; every few of them, and the last, are signaled. The
// last WRITE of a lane carries the flow id as immediate data: that is how the destination learns of the end
// without another packet. The *responder* posts receives (SEND: one per message, in place; WRITE: one per
// lane for the immediate) or nothing (READ). Messages of a stream wait for their time; one whose time has
// come while the lane is full is posted as soon as there is room. Each brings its number as immediate data,
// and the destination, which posts a receive for each, takes its latency: from the time at which it was due.
// A flow with a stop is over then, whatever is left of it: at its source at that time, at its destination a
// while later. Over UC and UD a message that is lost is not repeated; its receive serves the next one.
// Receives of SENDs lie in a ring of equal slots there, with room for a GRH in front (UD). The destination is
// over when nothing has come for a while.
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
  bool verify = false;   // payload of numbered messages is compared as they come
};

// One work request: for the send queue at a requester, for the receive queue at a responder.
struct WorkRequest {
  std::uint64_t wr_id = 0;
  std::uint64_t offset = 0;  // in the buffer: of the message in the flow, or of a slot of the ring
  std::uint32_t length = 0;  // of the message; 0: a receive without a buffer
  bool signaled = false;
  bool immediate = false;  // carries `imm`: the flow's id, or the message's number
  std::uint32_t imm = 0;
};

// Messages of a numbered flow that have come to its destination.
struct Arrivals {
  std::uint64_t messages = 0, bytes = 0;
  std::int64_t latency_sum_ns = 0, latency_max_ns = 0;
  std::int64_t last_ns = -1;  // when the last one came; negative: none has
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
  std::uint32_t slot() const { return slot_; }
  bool is_requester() const { return is_source_ != (flow_.op == Op::kRead); }
  std::size_t lanes() const { return lanes_.size(); }
  LaneDepths depths(std::size_t lane) const;
  LaneDepths shared_depths() const;                 // of a lane that several flows share
  std::uint32_t first_psn(std::size_t lane) const;  // of the packets that this end sends
  static int cq_entries(std::size_t lanes, const TransferOptions& options);  // that they may fill

  // The next request that is due and that the lane's queue has room for, now counted as posted; null: none
  // now.
  std::optional<WorkRequest> next(std::size_t lane, std::int64_t now_ns);
  // When to call again: next() of some lane has a request whose time is yet to come, or the flow's time is
  // up. kNever: completions tell.
  std::int64_t next_alarm_ns() const;
  bool time_is_up(std::int64_t now_ns) const { return now_ns >= end_ns(); }
  std::uint64_t done() const;  // requests that have completed
  std::uint64_t outstanding(std::size_t lane) const { return lanes_[lane].posted - lanes_[lane].done; }
  int depth() const { return is_requester() ? options_.depth : options_.recv_depth; }  // of a lane, at most
  // A request completed with success. True: the flow is over at this end.
  bool on_completion(std::uint64_t wr_id);
  // At a responder, of a completion with success: false: its immediate data is not this flow's.
  bool on_arrival(std::optional<std::uint32_t> imm, std::uint32_t bytes, std::int64_t now_ns);
  const Arrivals& arrivals() const { return arrivals_; }
  std::uint64_t receive_offset(std::uint64_t wr_id) const;  // of a SEND's payload in the buffer
  std::uint64_t buffer_bytes() const;                       // that its requests name at this end

  static constexpr std::uint32_t kGrhBytes = 40;  // in front of a received datagram

  static std::uint32_t slot_of(std::uint64_t wr_id) { return static_cast<std::uint32_t>(wr_id >> 44); }
  static std::size_t lane_of(std::uint64_t wr_id);
  static constexpr std::uint32_t kMaxSlots = 1u << 20;

 private:
  struct Lane {
    std::uint64_t messages = 0;  // that it carries
    std::uint64_t posted = 0, done = 0;
  };
  std::uint64_t wanted(const Lane& lane) const;  // work requests in all
  bool has_room(const Lane& lane) const;         // and something to post
  std::int64_t end_ns() const;                   // by the flow's stop, at this end
  std::uint64_t receive_slot(std::size_t lane, std::uint64_t ordinal) const;
  bool has_ring() const { return !is_source_ && !flow_.reliable() && flow_.op == Op::kSend; }
  std::uint64_t slot_bytes() const;  // of the ring
  std::uint64_t number(std::size_t index) const { return lanes_[index].posted * lanes_.size() + index; }

  Flow flow_;
  bool is_source_;
  std::uint32_t slot_;
  TransferOptions options_;
  std::vector<Lane> lanes_;
  Arrivals arrivals_;
};

}  // namespace rocelab::app
