// Poisson: flows arrive at random, so that they offer a share of the senders' links.
#pragma once

#include <string_view>

#include "emu/runner/workload_type.h"

namespace rocelab {

struct PoissonParams {
  double load = 0;       // share of each sender's link, headers included
  bool network = false;  // one process of all senders together, each flow's pair drawn; else one of each
  Duration every{};      // in place of a load: mean time between flows of the whole network
  Duration duration = Duration::infinite();  // flows start within it
  std::uint64_t flows = 0;                   // at most so many, the earliest ones; zero: no limit
  bool counts_acks = false;                  // the load is of data and acknowledgements
};

class Poisson final : public Workload {
 public:
  using Params = PoissonParams;
  static constexpr std::string_view kName = "poisson";
  static constexpr WorkloadKeys kKeys{.receivers = true, .jitter = false};
  static Schema<Params> schema();

  void read(ConfigSection& section, WorkloadSettings& w, const WorkloadContext& context) override;
  void check(ConfigSection& section, const WorkloadSettings& w, const Topology& topology) const override;
  void draw(FlowDraw& draw) const override;
  std::optional<WorkloadRate> rate(const WorkloadSettings& w, const Topology& topology,
                                   std::uint32_t path_mtu) const override;
  void offer(const WorkloadSettings& w, std::uint32_t path_mtu, OfferedTraffic& traffic) const override;
  double expected_flows(const WorkloadSettings& w, const Topology& topology,
                        std::uint32_t path_mtu) const override;

  Params params;

 private:
  // Means of a flow's bytes on the wire, of both directions, that its load counts.
  struct FlowBytes {
    double data = 0, acks = 0;
    double all() const { return data + acks; }
  };
  FlowBytes flow_bytes(const WorkloadSettings& w, std::uint32_t path_mtu) const;
  double expected_rate(const WorkloadSettings& w, const Topology& topology, std::uint32_t path_mtu) const;

  std::uint32_t ack_interval_ = 0;  // packets of an acknowledgement; 0: none are counted
  Bytes ack_bytes_;                 // of one, on the wire
};

}  // namespace rocelab
