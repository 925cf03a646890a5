// Streams: every sender has a stream to every receiver, whose messages are posted by the clock, whether or
// not earlier ones are complete.
#pragma once

#include <array>
#include <string_view>

#include "emu/runner/workload_type.h"

namespace rocelab {

class Streams final : public Workload {
 public:
  using Params = StreamSettings;
  static constexpr std::string_view kName = "stream";
  static constexpr WorkloadKeys kKeys{.receivers = true, .size = false};
  static constexpr std::array<std::string_view, 3> kRequired = {"rate", "message_size", "stop"};
  static Schema<Params> schema();

  void read(ConfigSection& section, WorkloadSettings& w, const WorkloadContext& context) override;
  void check(ConfigSection& section, const WorkloadSettings& w, const Topology& topology) const override;
  void draw(FlowDraw& draw) const override;
  std::optional<WorkloadRate> rate(const WorkloadSettings& w, const Topology& topology,
                                   std::uint32_t path_mtu) const override;
  void offer(const WorkloadSettings& w, std::uint32_t path_mtu, OfferedTraffic& traffic) const override;

  Params params;
};

// Messages of a stream that are due within `length` of its begin.
std::int64_t stream_messages(const StreamSettings& stream, Bytes message, Duration length);

}  // namespace rocelab
