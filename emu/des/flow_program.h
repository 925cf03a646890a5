// FlowProgram: what the traffic program of one host (verbs_app/flows) does, in virtual time: the same queue
// pairs, numbers, receives and requests (verbs_app/flows/transfer_script.h), posted at the same instants.
// Like a program in lock step it computes in no time, waits for completions or for its next start, and reads
// a clock of 1 ns. What it has no need of here: connections, payload, epoch (all clocks begin at 0).
// Contract: create() and then connect() of all programs, begin(); then wake(t) at deadline(), and when
// the NIC made a completion while wants_completions(). Between calls it posts nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "emu/runner/plan.h"
#include "irn_provider/nic/nic.h"
#include "verbs_app/flows/alarms.h"
#include "verbs_app/flows/lifetimes.h"
#include "verbs_app/flows/shared_lanes.h"
#include "verbs_app/flows/start_list.h"
#include "verbs_app/flows/transfer_script.h"

namespace rocelab::des {

// What a peer needs to connect a queue pair, and to write to its owner.
struct Endpoint {
  Qpn qpn;
  std::uint32_t psn = 0;
  std::uint64_t addr = 0;
  RKey rkey;
};

// The queue pairs that both ends of a flow have created. Programs that run apart tell each other over TCP.
struct FlowEndpoints {
  std::vector<Endpoint> source, sink;  // by lane
};

// One end of a flow. Times are never() until they happen.
struct TransferRecord {
  Time posted = Time::never(), placed = Time::never();
  Time cqe = Time::never();  // as the program's clock shows it
  int status = 0;            // ibv_wc_status; kGeneralError: not a completion's
  std::uint64_t bytes = 0;
  Time over = Time::never();  // since when it is
  bool is_over() const { return !over.is_never(); }
  bool timed_out = false;  // the source's is stopped by the flow's stop, the sink waits no longer
  static constexpr int kGeneralError = 21;  // IBV_WC_GENERAL_ERR
};

class FlowProgram {
 public:
  // `flows`: all of the run, by id; `own`: those that begin or end at this host. `endpoints`: of each of
  // them, of all programs. All four outlive it.
  FlowProgram(const RunPlan& plan, std::uint32_t host, const std::vector<app::Flow>& flows,
              std::span<const std::uint32_t> own, std::vector<FlowEndpoints>& endpoints, Nic& nic);

  // --- setting up
  struct Transfer {
    app::TransferScript script;
    std::uint32_t flow_index;             // in the plan
    std::uint32_t peer;                   // host
    std::uint64_t addr;                   // of its buffer, in an address space that nobody looks at
    std::vector<Endpoint> local, remote;  // by lane
    TransferRecord record;
    Ahn address{};  // UD: of the peer
  };
  void create();
  void connect();
  std::vector<Transfer>& transfers() { return transfers_; }
  const std::vector<Transfer>& transfers() const { return transfers_; }

  // --- running
  void begin();  // at time 0
  void wake(Time now);
  Time deadline() const { return deadline_; }
  bool wants_completions() const { return waits_ != Waits::kStart && waits_ != Waits::kNothing; }
  bool over() const { return waits_ == Waits::kNothing; }
  Time over_since() const { return over_since_; }
  bool any_failed() const { return any_failed_; }

 private:
  enum class Waits : std::uint8_t { kStart, kEvent, kPoll, kNothing };
  void start_due(Time now);
  std::int64_t next_ns() const {
    return std::min({starts_.next_ns(), alarms_.next_ns(), lifetimes_.next_ns()});
  }
  void arm(std::uint32_t slot);  // with the time at which the transfer wants the clock
  void stop(Transfer& transfer, Time now);
  std::size_t poll(Time now);
  void handle(const Cqe& cqe, Time now);
  void fill(Transfer& transfer, std::size_t lane, Time now);
  bool post_next(Transfer& transfer, std::size_t lane, Time now);  // false: nothing to post now
  std::uint32_t slot_of(const Transfer& t) const {
    return static_cast<std::uint32_t>(&t - transfers_.data());
  }
  app::SharedLanes* shared_by(const Transfer& transfer);  // null: it has queue pairs of its own
  std::size_t lanes_of(const Transfer& transfer);         // that it creates
  void create_lanes(Transfer& transfer, Time now);
  void create_lane(Transfer& transfer, std::size_t lane, Time now);
  void connect_lanes(Transfer& transfer, Time now);
  void connect_lane(Transfer& transfer, std::size_t lane, Time now);
  void destroy_lanes(Transfer& transfer);
  void live_on(const app::Lifetimes::Due& due, Time now);
  void post_send(Transfer& transfer, std::size_t lane, const app::WorkRequest& request, Time now);
  void post_recv(Transfer& transfer, std::size_t lane, const app::WorkRequest& request);
  void fail(Transfer& transfer, int status);
  void fail_one(Transfer& transfer, int status);

  const RunPlan& plan_;
  const std::uint32_t host_;
  std::vector<FlowEndpoints>& endpoints_;
  Nic& nic_;
  Pdn pd_;
  Cqn cq_;
  RKey key_;
  std::vector<Transfer> transfers_;
  app::StartList starts_;
  app::Alarms alarms_;
  app::Lifetimes lifetimes_;
  std::map<std::uint32_t, app::SharedLanes> connections_;  // by the number that flows have
  std::size_t unfinished_ = 0;  // transfers that will end with a completion of ours
  Waits waits_ = Waits::kPoll;
  Time now_;  // of the last wake()
  Time deadline_ = Time::never();
  Time over_since_ = Time::never();
  bool any_failed_ = false;
  std::deque<std::pair<std::uint32_t, int>> failing_;  // slots that fail with others, and their status
  bool fails_others_ = false;
};

}  // namespace rocelab::des
