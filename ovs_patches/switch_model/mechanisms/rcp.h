// RCP in the switch: each port has one rate for all flows that leave by it (../rcp_cp.h), and lowers the rate
// in the headers of the data that leaves there. On where a label runs RCP (irn_provider/cc/rcp.h). Every
// class counts: the rate is that of the link. A port without traffic has no timer: what its slots would have
// done is made up for when the next frame comes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "base/schema.h"
#include "ovs_patches/switch_model/actions.h"
#include "ovs_patches/switch_model/rcp_cp.h"

namespace rocelab {

struct RcpParams {  // the values of the RC3 chapter's authors
  bool enabled = false;
  double alpha = 0.4, beta = 0.4, gamma = 1;
  Duration slot = 10_ms;
  double initial = 0.05;
  Duration rtt{};  // 0: the base RTT of the network's longest path
  Rate min_rate = Rate::from_bps(128'000);
};

class RcpMechanism {
 public:
  using Params = RcpParams;
  struct Counters {  // of an egress port
    static constexpr std::array kNames = {"rcp_updates", "rcp_lowered"};
    std::uint64_t updates = 0;  // slots that ended with traffic
    std::uint64_t lowered = 0;  // headers that asked for more than the port's rate
  };
  static constexpr std::string_view kName = "rcp";
  static Schema<Params> schema();
  static void follow(Params& params, std::string_view congestion_control, std::string_view preset);
  static bool is_on(const Params& params) { return params.enabled; }
  static std::optional<SchemaProblem> problem_of_network(const Params& params, const SwitchConfig& config,
                                                         const NetworkFacts& network);

  RcpMechanism(const Params& params, SwitchActions actions, Rng rng);
  void on_enqueue(PortId out, PortId in, const Packet& packet, Time now);
  void on_transmit(PortId out, Packet& packet, Time now);
  Time next_timeout(PortId port) const { return ports_[port.value].timer; }
  void on_timeout(PortId port, Time now);
  const Counters& counters(PortId port) const { return ports_[port.value].counters; }

 private:
  struct Port {
    RcpCp cp;
    Time end;                    // of the present slot
    Time timer = Time::never();  // the same; never: nothing comes and nothing waits
    Counters counters;
  };
  Bytes waiting(PortId port) const;

  SwitchActions actions_;
  std::vector<Port> ports_;
};

}  // namespace rocelab
