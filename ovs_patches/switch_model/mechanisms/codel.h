// CoDel in the switch (Nichols, Jacobson, 2012), by queue or, as FQ-CoDel in Mittal's 5.3.3, by flow: frames
// that waited too long are dropped at their departure. With `order = "fair"` and per = "flow" it is the
// chapter's comparator, ns-2's sfqCoDel with a quantum of 0: RFC 8290's new and old lists are another
// algorithm. The law: base/codel.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/codel.h"
#include "base/rng.h"
#include "base/schema.h"
#include "ovs_patches/switch_model/actions.h"

namespace rocelab {

struct CodelSwitchParams {
  bool enabled = false;
  bool per_flow = false;
  Duration target = 5_ms, interval = 100_ms;
};

class CodelMechanism {
 public:
  using Params = CodelSwitchParams;
  struct Counters {
    static constexpr std::array kNames = {"codel_drops"};
    std::uint64_t drops = 0;
  };
  static constexpr std::string_view kName = "codel";
  static Schema<Params> schema();
  static bool is_on(const Params& params) { return params.enabled; }
  static std::optional<SchemaProblem> problem_beside(const Params& params, const SwitchConfig& config);

  CodelMechanism(const Params& params, SwitchActions actions, Rng rng);

  void on_enqueue(PortId out, PortId in, Packet& packet, Time now);
  void on_dequeue(PortId out, PortId in, const Packet& packet, Time now);
  bool discards(PortId out, const Packet& packet, Time now);
  const Counters& counters(PortId port) const { return counters_[port.value]; }

 private:
  struct State {
    CodelLaw law;
    std::uint64_t frames = 0;  // that wait
  };
  std::uint64_t flow_key(const Packet& packet) const;
  State& state_of(PortId out, const Packet& packet);

  Params params_;
  SwitchActions actions_;
  // By port and class, by flow; looked up, never walked.
  std::vector<std::unordered_map<std::uint64_t, State>> states_;
  std::vector<Counters> counters_;
};

}  // namespace rocelab
