// Incast: M senders answer one receiver at once; once, every period, or at random times.
#pragma once

#include <array>
#include <string_view>

#include "emu/runner/workload_type.h"

namespace rocelab {

struct IncastParams {
  std::uint32_t fan_in = 0;  // M; zero: all senders
  Bytes total{};             // > 0: striped over the senders, in place of a size for each
  std::uint32_t repeats = 1;
  Duration period{};  // from one request to the next
  // > 0, in place of both: mean of exponential gaps; requests begin within duration.
  Duration every{}, duration{};
};

class Incast final : public Workload {
 public:
  using Params = IncastParams;
  static constexpr std::string_view kName = "incast";
  static constexpr WorkloadKeys kKeys{.size = false};  // or total
  static constexpr std::array<std::string_view, 1> kRequired = {"receiver"};
  static constexpr std::array<KeyText, 1> kOwnKeys = {
      {{"receiver", "required", "a name, `random`, `random-each`",
        "drawn from the seed; drawn for each request"}}};
  static Schema<Params> schema();

  void read(ConfigSection& section, WorkloadSettings& w, const WorkloadContext& context) override;
  void check(ConfigSection&, const WorkloadSettings&, const Topology&) const override {}
  void draw(FlowDraw& draw) const override;
  std::optional<WorkloadRate> rate(const WorkloadSettings& w, const Topology& topology,
                                   std::uint32_t path_mtu) const override;
  void offer(const WorkloadSettings& w, std::uint32_t path_mtu, OfferedTraffic& traffic) const override;
  double expected_flows(const WorkloadSettings& w, const Topology& topology,
                        std::uint32_t path_mtu) const override;
  Bytes largest_flow(const WorkloadSettings& w) const override;

  Params params;

 private:
  static std::size_t fewest_senders(const WorkloadSettings& w, const Topology& topology);
  std::size_t read_receiver(ConfigSection& section, const WorkloadSettings& w, const Topology& topology);
  void check_requests(ConfigSection& section, std::size_t fan_in) const;
  std::vector<Duration> request_starts(const Rng& rng) const;
  void draw_request(FlowDraw& draw, std::vector<std::uint32_t>& senders, std::uint32_t receiver,
                    std::uint32_t request, Duration start) const;

  std::uint32_t receiver_ = Topology::kNoNode;  // kNoNode: drawn from the seed
  bool each_ = false;                           // a receiver that is drawn is drawn for each request
};

}  // namespace rocelab
