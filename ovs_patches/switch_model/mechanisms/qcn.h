// QCN in the switch: every queue with data is a congestion point (../qcn_cp.h), whose CNMs go back to the
// source of the sampled frame by the way that it came. On where a label runs QCN (irn_provider/cc/qcn_rp.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "base/schema.h"
#include "ovs_patches/switch_model/actions.h"
#include "ovs_patches/switch_model/qcn_cp.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {

struct QcnParams {  // preset "802.1Q": for links of 10 Gb/s
  bool enabled = false;
  Bytes q_eq = 26_KB;
  std::uint32_t w = 2;
  Bytes sample_base = 150_KB;
  std::uint32_t jitter_percent = 15;
  Rate scale_from{};  // 0: lengths do not grow with the link
};

class QcnMechanism {
 public:
  using Params = QcnParams;
  struct Counters {  // of an egress port
    static constexpr std::array kNames = {"qcn_feedback"};
    std::uint64_t feedback = 0;  // CNMs that its congestion points made
  };
  static constexpr std::string_view kName = "qcn";
  static Schema<Params> schema();
  static void follow(Params& params, std::string_view congestion_control, std::string_view preset);
  static bool is_on(const Params& params) { return params.enabled; }
  static std::string problem_in(const Params& params, const SwitchConfig& config,
                                std::span<const PortConfig> ports);

  QcnMechanism(const Params& params, SwitchActions actions, Rng rng);
  void on_enqueue(PortId out, PortId in, const Packet& packet, Time now);
  const Counters& counters(PortId port) const { return ports_[port.value].counters; }

  static QcnPoint point(const Params& params, const PortConfig& link);  // of the queues of a port

 private:
  struct Port {
    std::array<std::unique_ptr<QcnCp>, kTrafficClasses> points;  // from a queue's first data frame on
    Counters counters;
  };
  QcnCp& point_of(PortId out, Tc tc);

  Params params_;
  SwitchActions actions_;
  Rng rng_;
  std::vector<Port> ports_;
};

}  // namespace rocelab
