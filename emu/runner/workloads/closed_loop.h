// Closed loop: each sender keeps connections to each receiver, over each of which it sends one flow after the
// other: the next one when the last is acknowledged and a think time is over. Sources: the generators of
// RoCC's and Escape's simulators (github.com/danushkam/rocc, UDPReliableApp).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "emu/runner/workload_type.h"

namespace rocelab {

struct ClosedLoopParams {
  std::uint32_t flows = 0;        // of a connection
  std::uint32_t connections = 1;  // of a pair
  Duration think{};
  bool constant_think = false;
};

class ClosedLoop final : public Workload {
 public:
  using Params = ClosedLoopParams;
  static constexpr std::string_view kName = "closed-loop";
  static constexpr WorkloadKeys kKeys{.receivers = true, .persistent = true};
  static constexpr std::array<std::string_view, 1> kRequired{"flows"};
  static Schema<Params> schema();

  void read(ConfigSection& section, WorkloadSettings& w, const WorkloadContext& context) override;
  void check(ConfigSection& section, const WorkloadSettings& w, const Topology& topology) const override;
  void draw(FlowDraw& draw) const override;

  Params params;

 private:
  void draw_connection(FlowDraw& draw, std::uint32_t src, std::uint32_t dst, std::uint32_t number) const;
};

}  // namespace rocelab
