// Loop Breaker in the switch: which queues a message is for, and what a master does. The law of one port is
// ../loop_breaker.h.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "base/schema.h"
#include "base/wire/controls.h"
#include "ovs_patches/switch_model/actions.h"
#include "ovs_patches/switch_model/loop_breaker.h"
#include "ovs_patches/switch_model/pfc.h"

namespace rocelab {

class LoopBreakerMechanism {
 public:
  using Params = LoopBreakerParams;
  static constexpr std::string_view kName = "loop_breaker";
  static Schema<Params> schema();
  static bool is_on(const Params& params) { return params.enabled; }
  static std::optional<SchemaProblem> problem_beside(const Params& params, const SwitchConfig& config);
  static bool drops(const Params&) { return true; }
  LoopBreakerMechanism(const Params& params, SwitchActions actions, Rng rng);

  void on_pauses(PortId egress, PauseState::Change change, Time now);
  void on_dropped(PortId egress, Tc tc, Time now);
  Time next_timeout(PortId port) const {
    return ports_[port.value] ? ports_[port.value]->next_timeout() : Time::never();
  }
  void on_timeout(PortId port, Time now);

  static constexpr bool takes(PacketKind kind) { return kind == kind_of<Clcm>; }
  void on_message(PortId in, std::span<const PortId> outs, PacketRef message, Time now);
  static bool ignore(SwitchPortCounters& counters, const Packet& message);

 private:
  void send(PortId port, const Clcm& message);
  void break_loop(PortId port, PortId in, const Clcm& message, Time now);

  Params params_;
  SwitchActions actions_;
  std::vector<std::unique_ptr<LoopBreaker>> ports_;  // null: a host's port
};

}  // namespace rocelab
