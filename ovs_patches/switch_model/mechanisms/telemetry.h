// INT in the switch: what a port says in the data frames that leave through it. Source: HPCC, SIGCOMM
// 2019, 4.1: rate, time, bytes sent and queue length "when a packet traverses a switch", at its departure;
// the format is base/wire/telemetry.h. A frame grows on the wire only: buffers count it as it was stored. An
// escaping frame is stamped, too (a switch left out would be another path to its sender, and its bytes would
// be missing); the queue that it tells of is the one that it went past.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "ovs_patches/switch_model/actions.h"

namespace rocelab {

struct TelemetryParams {
  bool enabled = false;  // by the hosts' congestion control, which asks for it
};

class TelemetryMechanism {
 public:
  using Params = TelemetryParams;
  struct Counters {
    static constexpr std::array kNames = {"int_bytes", "int_added_bytes"};
    std::uint64_t bytes = 0;  // of INT in the frames with payload that left by a port
    std::uint64_t added = 0;  // of these, by this port: the frames have grown behind tx_bytes
  };
  static constexpr std::string_view kName = "telemetry";
  static bool is_on(const Params& params) { return params.enabled; }
  static std::string problem_in(const Params& params, const SwitchConfig& config,
                                std::span<const PortConfig> ports);
  TelemetryMechanism(const Params&, SwitchActions actions, Rng)
      : actions_(actions), sent_(actions.ports()), counters_(actions.ports()) {}

  void on_transmit(PortId egress, Packet& packet, Time now);
  const Counters& counters(PortId port) const { return counters_[port.value]; }

 private:
  SwitchActions actions_;
  std::vector<Bytes> sent_;  // wire bytes, by port
  std::vector<Counters> counters_;
};

}  // namespace rocelab
