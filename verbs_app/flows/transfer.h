// Transfer: one process's end of one flow, over the flow's queue pairs ("lanes"), from the first work request
// to the record of how it went.
//
// The *requester* posts to its send queues: the source of a SEND or WRITE flow, the destination of a READ
// flow. It keeps up to `depth` messages posted per lane; every few of them, and the last, are signaled. The
// last WRITE of a lane carries the flow id as immediate data: that is how the destination learns of the end
// without another packet. The *responder* posts receives (SEND: one per message, in place; WRITE: one per
// lane for the immediate) or nothing (READ).
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verbs_app/common/rdma.h"
#include "verbs_app/flows/flow_list.h"

namespace rocelab::app {

struct TransferOptions {
  int depth = 64;        // messages in a lane's send queue
  int recv_depth = 256;  // receives posted ahead per lane, SEND flows
};

// What is known of a flow at this end. Times in nanoseconds of CLOCK_MONOTONIC.
struct FlowRecord {
  std::optional<std::int64_t> posted, placed, cqe;
  std::string status;  // empty: not over; "ok"; else why it failed
  std::uint64_t bytes = 0;
  std::optional<bool> verified;
  bool over() const { return !status.empty(); }
  bool ok() const { return status == "ok"; }
};

// Bytes of a flow's buffer at either end. With `whole` it holds the flow; otherwise a long flow goes round in
// it.
std::uint64_t buffer_bytes(const Flow& flow, bool whole);

class Transfer {
 public:
  // `slot` marks this transfer's work requests. `buffer` is registered memory of buffer_bytes().
  Transfer(const Flow& flow, bool is_source, std::uint32_t slot, const TransferOptions& options,
           std::byte* buffer, std::uint64_t buffer_size);

  const Flow& flow() const { return flow_; }
  bool is_source() const { return is_source_; }
  bool is_requester() const { return is_source_ != (flow_.op == Op::kRead); }
  const FlowRecord& record() const { return record_; }
  std::vector<std::uint32_t> local_qpns() const;
  std::vector<std::uint32_t> remote_qpns() const;

  // --- setting up, in this order
  static int cq_entries(const Flow& flow, const TransferOptions& options);  // that the lanes may fill
  void create_lanes(Rdma& rdma);
  std::string local_endpoints() const;
  void connect(Rdma& rdma, const std::string& remote_endpoints);  // also posts the first receives

  // --- running
  void start(std::int64_t now);  // requester
  void on_completion(const ibv_wc& wc, std::int64_t now);
  void fail(const std::string& why);
  void finish_passive();  // source of a READ flow: the peer has finished
  void verify();          // destination: compares the whole buffer with the pattern

  // Slot of the transfer that a completion belongs to.
  static std::uint32_t slot_of(const ibv_wc& wc) { return static_cast<std::uint32_t>(wc.wr_id >> 44); }
  static constexpr std::uint32_t kMaxSlots = 1u << 20;

 private:
  struct Lane {
    OwnedQp qp;
    Endpoint local, remote;
    std::uint64_t messages = 0;  // that it carries
    std::uint64_t posted = 0, done = 0;
  };
  std::uint64_t wr_id(std::size_t lane, std::uint64_t ordinal) const;
  std::uint64_t offset(std::size_t lane, std::uint64_t ordinal) const;  // in the flow
  std::uint32_t length(std::uint64_t offset) const;
  ibv_sge sge(std::uint64_t offset) const;
  void post_send(std::size_t lane);
  void post_recv(std::size_t lane);
  void fill(std::size_t lane);  // send queue, or receive queue, as far as its depth allows
  std::uint64_t receives(const Lane& lane) const;
  void request_done(std::size_t lane, std::uint64_t ordinal, std::int64_t now);
  void receive_done(std::size_t lane, const ibv_wc& wc, std::int64_t now);
  bool all_lanes_done() const;

  Flow flow_;
  bool is_source_;
  std::uint32_t slot_;
  TransferOptions options_;
  std::byte* buffer_;
  std::uint64_t buffer_size_;
  std::uint32_t lkey_ = 0;
  std::vector<Lane> lanes_;
  FlowRecord record_;
};

}  // namespace rocelab::app
