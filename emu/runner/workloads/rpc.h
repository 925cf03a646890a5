// Rpc: clients send requests, and servers answer each with a response. Open loop: each client's requests come
// at random, whether or not earlier ones are answered, or wait where their server has `outstanding` of the
// client's. Closed loop: a client has `outstanding` RPCs, each followed by the next one after a think time.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "emu/runner/workload_type.h"

namespace rocelab {

struct RpcParams {
  double load = 0;             // open loop: share of each client's link
  Duration every{};            // in place of it: mean time between requests of a client
  Duration duration{};         // open loop: requests come within it
  std::uint32_t requests = 0;  // closed loop: one after the other; zero: open loop
  std::uint32_t outstanding = 0;
  Duration think{};
  bool constant_think = false;
  Duration service_time{};
};

class Rpc final : public Workload {
 public:
  using Params = RpcParams;
  static constexpr std::string_view kName = "rpc";
  static constexpr WorkloadKeys kKeys{.receivers = true, .persistent = true};
  static constexpr std::array<KeyText, 1> kOwnKeys = {
      {{"response_size", "as the request", "at most 1000 GB",
        "payload of a response; or `response_size_min` and `response_size_max`, or `response_cdf` with "
        "`response_cdf_form`, as of `size`"}}};
  static Schema<Params> schema();

  void read(ConfigSection& section, WorkloadSettings& w, const WorkloadContext& context) override;
  void check(ConfigSection& section, const WorkloadSettings& w, const Topology& topology) const override;
  void draw(FlowDraw& draw) const override;
  std::optional<WorkloadRate> rate(const WorkloadSettings& w, const Topology& topology,
                                   std::uint32_t path_mtu) const override;
  void offer(const WorkloadSettings& w, std::uint32_t path_mtu, OfferedTraffic& traffic) const override;
  double expected_flows(const WorkloadSettings& w, const Topology& topology,
                        std::uint32_t path_mtu) const override;
  std::optional<RpcFacts> rpc(const WorkloadSettings& w) const override;
  Bytes largest_flow(const WorkloadSettings& w) const override;

  Params params;

 private:
  bool open() const { return params.requests == 0; }
  // Mean bytes on the wire of requests and of responses.
  struct WireBytes {
    double request = 0, response = 0;
  };
  WireBytes wire_bytes(const WorkloadSettings& w, std::uint32_t path_mtu) const;
  // Requests of a client per picosecond; open loop.
  double request_rate(const WorkloadSettings& w, const Topology& topology, std::uint32_t client,
                      std::uint32_t path_mtu) const;
  std::uint32_t add(FlowDraw& draw, std::uint32_t client, std::uint32_t server, Duration due,
                    const std::vector<FlowEnd>& before, std::uint32_t place) const;
  void draw_open(FlowDraw& draw, std::uint32_t client) const;
  void draw_closed(FlowDraw& draw, std::uint32_t client) const;

  SizeSettings response_;  // largest 0: as the request
};

}  // namespace rocelab
