// Runner: the whole of one process's part: connect over TCP, open the device, connect QPs, agree on the
// epoch, run the flows, report.
//
// One thread. While flows of its own are yet to start, or messages of its streams yet to be posted, it waits
// for completions with a deadline (completion channel and ppoll), so that none is late; after that it polls
// its CQ. TCP is only looked at without waiting once the flows run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verbs_app/common/rdma.h"
#include "verbs_app/common/timer.h"
#include "verbs_app/flows/alarms.h"
#include "verbs_app/flows/flow_list.h"
#include "verbs_app/flows/lifetimes.h"
#include "verbs_app/flows/mesh.h"
#include "verbs_app/flows/start_list.h"
#include "verbs_app/flows/transfer.h"

namespace rocelab::app {

struct RunOptions {
  std::string me, device;
  std::uint16_t port = 18515;
  PathOptions path;
  TransferOptions transfer;
  std::int64_t epoch_delay_ns = 0;
  int setup_timeout_s = 60;
  double leave_timeout_s = 2;  // waiting for peers after our own flows are over
  bool verify = false;
  // A timeout of ppoll has whole nanoseconds from now on, and so may end up to one late. A timer does not.
  bool exact_starts = false;
};

class Runner {
 public:
  Runner(const RunOptions& options, const std::vector<Flow>& flows, const std::vector<Host>& hosts);
  ~Runner();

  void run();                                    // throws std::runtime_error when not even the start worked
  std::int64_t epoch() const { return epoch_; }  // in CLOCK_MONOTONIC
  std::int64_t epoch_date() const { return epoch_date_; }                // in CLOCK_REALTIME
  const std::vector<Transfer>& transfers() const { return transfers_; }  // by flow id
  const std::vector<std::string>& missing() const {
    return missing_;
  }  // peers that had not finished when we left
  bool all_ok() const;

 private:
  struct Memory;
  void make_transfers(const std::vector<Flow>& flows);
  void open_device();
  void connect_qps();
  void agree_on_epoch();
  void run_flows();
  void start_due();
  std::int64_t next_ns() const {
    return std::min({starts_.next_ns(), alarms_.next_ns(), lifetimes_.next_ns()});
  }
  void live_on(const Lifetimes::Due& due);
  void wait_for_clock();
  bool completes_before(std::int64_t due);
  void ask_for_event();
  void arm(std::uint32_t slot);  // with the time at which the transfer wants the clock
  void on_alarm(Transfer& t, std::int64_t now);
  void handle(const ibv_wc* wc, int count);
  int poll();
  void look_at_peers();
  void settle(Transfer& t, bool was_over);
  void fail(Transfer& t, const std::string& why);
  void fail_others();
  void verify();
  void leave();
  std::size_t host_index(const std::string& name) const;
  std::size_t peer_of(const Transfer& t) const;

  RunOptions options_;
  std::vector<Host> hosts_;  // that take part
  std::size_t me_;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Mesh> mesh_;
  std::unique_ptr<Rdma> rdma_;
  std::map<std::uint32_t, SharedLanes> connections_;  // by the number that flows have
  std::vector<Transfer> transfers_;                   // after rdma_: QPs go before CQ and PD
  StartList starts_;
  Alarms alarms_;
  Lifetimes lifetimes_;
  std::deque<std::pair<std::uint32_t, std::string>> failing_;  // slots that fail with others, and why
  bool fails_others_ = false;
  std::size_t unfinished_ = 0;  // transfers that will end with a completion of ours
  std::int64_t epoch_ = 0, epoch_date_ = 0;
  std::int64_t last_look_ = 0;
  std::optional<Timer> timer_;  // with exact_starts
  std::vector<std::string> missing_;
};

}  // namespace rocelab::app
