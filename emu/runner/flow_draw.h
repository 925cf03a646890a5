// FlowDraw: what one workload draws its flows with: its random stream, its senders, and what its keys say of
// every flow (sizes, jitter, queue pairs, class). Flows are kept in the order in which they are added.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "emu/runner/plan.h"

namespace rocelab {

class FlowDraw {
 public:
  // Both outlive it.
  FlowDraw(const Settings& settings, const WorkloadSettings& workload, Rng rng);

  const Topology& topology() const { return settings_.topology; }
  const WorkloadSettings& workload() const { return w_; }
  std::uint32_t path_mtu() const { return settings_.nic.config.active_mtu; }
  const std::vector<std::uint32_t>& senders() const { return senders_; }  // all hosts where none are named
  Rng& rng() { return rng_; }
  Bytes size() { return size(w_.size); }  // by the workload's size keys
  Bytes size(const SizeSettings& sizes);  // by others
  Duration jitter();                      // by its jitter

  // A flow that starts `after` the workload's start; size and jitter are drawn, in this order. The flow is
  // there until the next one is added.
  Flow& add(std::uint32_t src, std::uint32_t dst, Duration after = {});
  Flow& add_plain(std::uint32_t src, std::uint32_t dst, Duration after);  // neither is drawn

  std::size_t flows() const { return flows_.size(); }
  std::vector<Flow> take();  // without flows that would begin when they are over

 private:
  const Settings& settings_;
  const WorkloadSettings& w_;
  Rng rng_;
  std::vector<std::uint32_t> senders_;
  std::vector<Flow> flows_;
};

}  // namespace rocelab
