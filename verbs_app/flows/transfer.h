// Transfer: one process's end of one flow, over the flow's queue pairs ("lanes"), from the first work request
// to the record of how it went.
// Which requests are posted, and when, is transfer_script.h's; here they meet libibverbs and memory.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verbs_app/common/rdma.h"
#include "verbs_app/flows/flow_list.h"
#include "verbs_app/flows/shared_lanes.h"
#include "verbs_app/flows/transfer_script.h"

namespace rocelab::app {

// What is known of a flow at this end. Times in nanoseconds of CLOCK_MONOTONIC.
struct FlowRecord {
  std::optional<std::int64_t> posted, placed, cqe;
  // Empty: not over; "ok"; "stopped": by its stop, at its source; "settled": its destination waits no longer;
  // else why it failed.
  std::string status;
  std::uint64_t bytes = 0;
  std::optional<bool> verified;
  bool over() const { return !status.empty(); }
  bool ok() const { return status == "ok"; }
  bool timed_out() const { return status == "stopped" || status == "settled"; }
  bool failed() const { return over() && !ok() && !timed_out(); }
};

// Bytes of a flow's buffer at either end. With `whole` it holds the flow; otherwise a long flow goes round in
// it.
std::uint64_t buffer_bytes(const TransferScript& script, bool whole);

class Transfer {
 public:
  // `slot` marks this transfer's work requests. `buffer` is registered memory of buffer_bytes().
  Transfer(const Flow& flow, bool is_source, std::uint32_t slot, const TransferOptions& options,
           std::byte* buffer, std::uint64_t buffer_size);

  const Flow& flow() const { return script_.flow(); }
  bool is_source() const { return script_.is_source(); }
  bool is_requester() const { return script_.is_requester(); }
  const FlowRecord& record() const { return record_; }
  const TransferScript& script() const { return script_; }
  std::vector<std::uint32_t> local_qpns() const;
  std::vector<std::uint32_t> remote_qpns() const;

  // --- setting up, in this order
  // Its queue pairs are those of `shared`; transfers of the same connection are in `all`, by slot.
  void share(SharedLanes& shared, std::vector<Transfer>& all);
  std::size_t own_lanes() const;  // queue pairs that it creates
  void create_lanes(Rdma& rdma);
  void borrow_lanes();  // of its connection, once they are there
  void destroy_lanes();
  std::string local_endpoints() const;
  std::size_t endpoint_bytes() const { return lanes_.size() * sizeof(Endpoint); }
  void connect(Rdma& rdma, const std::string& remote_endpoints);  // also posts the first receives

  // --- running; `epoch` and `now` in nanoseconds of CLOCK_MONOTONIC
  void begin(std::int64_t epoch) { epoch_ = epoch; }
  void start(std::int64_t now);  // requester
  const SharedLanes* shared() const { return shared_; }
  bool fail_shared() { return shared_->fail(); }
  void fill(std::int64_t now);  // a stream's requests that are due
  void stop();                  // its time is up; the source's queue pairs begin no other message
  void on_completion(const ibv_wc& wc, std::int64_t now);
  void fail(const std::string& why);
  void finish_passive();  // source of a READ flow: the peer has finished
  void verify();          // destination: compares the whole buffer with the pattern

  // Slot of the transfer that a completion belongs to.
  static std::uint32_t slot_of(const ibv_wc& wc) { return TransferScript::slot_of(wc.wr_id); }

 private:
  struct Lane {
    ibv_qp* qp = nullptr;
    OwnedQp owned;  // null: the queue pair is another transfer's
    OwnedAh ah;     // UD
    Endpoint local, remote;
  };
  ibv_sge sge(const WorkRequest& request) const;
  void post_send(std::size_t lane, const WorkRequest& request);
  void post_recv(std::size_t lane, const WorkRequest& request);
  bool owns_lanes() const { return shared_ == nullptr || shared_->owner() == script_.slot(); }
  bool post_next(std::size_t lane, std::int64_t now);  // false: nothing to post now
  // Send queue, or receive queue, as far as its depth allows.
  void fill_lane(std::size_t lane, std::int64_t now);
  bool completed(const ibv_wc& wc, std::int64_t now);  // true: the flow is over at this end
  void request_done(const ibv_wc& wc, std::int64_t now);
  void receive_done(const ibv_wc& wc, std::int64_t now);
  void verify_message(const ibv_wc& wc, const Part& part);

  TransferScript script_;
  const TransferOptions options_;
  std::byte* buffer_;
  std::uint64_t buffer_size_;
  std::uint32_t lkey_ = 0;
  std::vector<Lane> lanes_;
  SharedLanes* shared_ = nullptr;  // null: it has queue pairs of its own
  std::vector<Transfer>* all_ = nullptr;
  std::int64_t epoch_ = 0;
  FlowRecord record_;
};

}  // namespace rocelab::app
