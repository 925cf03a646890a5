// Shared by the mechanisms that send feedback to the sources of flows: which frames draw feedback, and how it
// leaves.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/wire/controls.h"
#include "ovs_patches/switch_model/actions.h"
#include "ovs_patches/switch_model/switch_config.h"
#include "ovs_patches/switch_model/switch_flow.h"

namespace rocelab {

// Feedback concerns what a source paces, frames with payload, and goes between hosts of the run. So feedback
// never draws feedback.
inline bool draws_feedback(const Packet& packet) {
  return packet.kind == PacketKind::kData && packet.payload_length > 0 && packet.dst != kNoNode;
}

// From the congestion point of `port` by the way that the flow's frames came.
template <class Body>
void send_feedback(SwitchActions& actions, PortId port, const SwitchFlow& flow, const Body& body,
                   std::uint8_t dscp, Time now) {
  PacketRef packet = actions.make_packet();
  put_control(*packet, body);
  packet->src = flow.destination;
  packet->dst = flow.source;
  packet->roce.dscp = dscp;
  packet->tc = actions.config().class_map.of(dscp);
  actions.send_back(port, flow.in, std::move(packet), now);
}

// Of a scheme's feedback (`what`) with this DSCP; empty: none.
inline std::string problem_of_feedback(const SwitchConfig& config, std::uint8_t dscp, const char* what) {
  const Tc tc = config.class_map.of(dscp);
  if (!config.pfc.enabled || !config.classes[tc.value].lossless) return {};
  return std::string(what) + " would be of the lossless class " + std::to_string(tc.value) +
         ": give it a lossy one";
}

}  // namespace rocelab
