// Compiled programs in a switch of slots: packets of one size; in a slot all arrivals, then one cycle per
// port. A packet is served in cycles. Then the best that an algorithm could do is a search over what it
// keeps.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ovs_patches/openqueue/compile.h"
#include "ovs_patches/switch_model/policy/instance.h"

namespace rocelab {

inline constexpr std::uint32_t kSize = 100;  // of every packet

struct Arrival {
  std::int64_t processing = 1;
  std::uint16_t port = 0;
  std::uint8_t tc = 0;
};
using Slots = std::vector<std::vector<Arrival>>;

inline std::shared_ptr<const PolicyProgram> compiled(
    const std::string& text, std::size_t ports = 1,
    const std::vector<std::pair<std::string, std::string>>& constants = {}) {
  SwitchConfig config;
  config.pfc.enabled = false;
  const CompiledPolicy policy =
      compile_policy({{{"test.oq", text}}, constants}, config, std::vector<PortConfig>(ports));
  for (const PolicyDiagnostic& diagnostic : policy.diagnostics)
    if (!diagnostic.warning) ADD_FAILURE() << to_text(diagnostic);
  return policy.program;
}

// Runs until all is served. What was sent, in order: numbers of arrivals.
struct SlottedSwitch {
  explicit SlottedSwitch(std::shared_ptr<const PolicyProgram> p)
      : program(std::move(p)), policy(*program, Rng(1)) {}
  void run(const Slots& slots, std::size_t ports = 1) {
    std::uint32_t number = 0;
    for (std::size_t slot = 0; slot < slots.size() || policy.frames() > 0; ++slot) {
      const Time now = Time::zero() + 1_us * static_cast<std::int64_t>(slot);
      if (slot < slots.size())
        for (const Arrival& arrival : slots[slot]) arrive(number++, arrival, now);
      for (std::size_t port = 0; port < ports; ++port) serve(static_cast<std::uint32_t>(port), now);
    }
  }
  void arrive(std::uint32_t number, const Arrival& arrival, Time now) {
    PolicyPacket packet;
    packet.size = kSize;
    packet.processing = arrival.processing;
    packet.out = PortId{arrival.port};
    packet.tc = Tc{arrival.tc};
    packet.dscp = static_cast<std::uint8_t>(arrival.tc << 3);
    policy.arrive(number, packet, now, outcome);
    if (outcome.refused) dropped.push_back(number);
    dropped.insert(dropped.end(), outcome.evicted.begin(), outcome.evicted.end());
  }
  void serve(std::uint32_t port, Time now) {
    std::optional<std::uint32_t> node = at_work;
    if (!runs_to_completion || !node || !policy.waits(*node)) node = policy.pick(port, 0, now);
    if (!node) return;
    at_work = node;
    const std::int64_t left = policy.packet(*node).processing - 1;
    if (left > 0) return policy.set_processing(*node, left, now);
    policy.leave(*node, 0, now, outcome);
    sent.push_back(*node);
  }
  std::shared_ptr<const PolicyProgram> program;
  PolicyInstance policy;
  PolicyOutcome outcome;
  std::vector<std::uint32_t> sent, dropped;
  bool runs_to_completion = false;  // of one port: who has begun to serve a packet ends it, if it still waits
  std::optional<std::uint32_t> at_work;
};

inline Slots random_slots(Rng& rng, std::size_t most_packets, std::int64_t most_processing,
                          std::uint16_t ports, std::size_t burst) {
  Slots slots(3 + rng.below(5));
  std::size_t packets = 0;
  for (auto& slot : slots)
    for (std::size_t n = rng.below(2) == 0 ? 0 : rng.below(burst + 1); n > 0 && packets < most_packets;
         --n, ++packets)
      slot.push_back({1 + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(most_processing))),
                      static_cast<std::uint16_t>(rng.below(ports)), 0});
  return slots;
}

}  // namespace rocelab
