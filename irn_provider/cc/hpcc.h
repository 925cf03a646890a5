// Hpcc: a window from what the switches of the path say of their ports.
// Source: Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019, algorithm 1, line by line (its
// numbers stand in hpcc.cc), equations 1 to 4 and 5.1 for the parameters; the first record of a path only
// sets L, as in the authors' published simulation (alibaba-edu/High-Precision-Congestion-Control). What the
// paper leaves open: DEVIATIONS.md#congestion-control. INT: base/wire/telemetry.h.
#pragma once

#include <span>
#include <string_view>

#include "base/schema.h"
#include "base/wire/telemetry.h"
#include "irn_provider/cc/cc_needs.h"
#include "irn_provider/cc/congestion_control.h"

namespace rocelab {

struct HpccParams {
  double eta = 0.95;            // eta: the utilisation that is aimed at; 3.3, 5.1
  std::uint32_t max_stage = 5;  // maxStage: additive increases before a multiplicative one; 5.1
  Bytes w_ai{};                 // W_AI, bytes; 0: W_init (1 - eta) / flows, 3.3
  std::uint32_t flows = 100;    // N: flows expected on a link; gives 5.1's 80 B at 100 Gb/s and 13 us
  Duration base_rtt{};          // T: 3.2, "the base RTT of the network"; 0: complete() fills it in
  Rate min_rate = 100_Mbps;     // as in the published simulation
};

class Hpcc final : public CongestionControl {
 public:
  using Params = HpccParams;
  static constexpr std::string_view kName = "hpcc";
  static constexpr CcNeeds kNeeds{.packet_acks = true, .telemetry = true};
  static std::span<const CcPresetOf<Params>> presets();
  static Schema<Params> schema();

  Hpcc(const HpccParams& params, const CcContext& context);  // windows count packets of the path MTU
  static void complete(Params& params, const CcNetwork& network) {
    if (params.base_rtt == Duration{}) params.base_rtt = network.base_rtt;
  }

  void start(Time now) override;
  void on_sent(Bytes frame, Time now) override;
  void on_ack(const CcAck& ack, Time now) override;
  Rate rate(Time /*now*/) override { return rate_; }
  // W in packets, rounded up: the rate W / T holds W itself.
  std::int64_t window() const override;

  // For tests and traces.
  double window_bytes() const { return w_; }
  double utilisation() const { return u_; }  // U

 private:
  bool same_path(const Telemetry& telemetry) const;
  void measure_inflight(const Telemetry& telemetry);
  void compute_wind(bool update_wc);

  HpccParams params_;
  Rate line_;
  double t_;               // T, s
  double w_init_;          // B_NIC x T, bytes
  double w_ai_;            // W_AI
  double frame_;           // wire bytes of a packet, the largest seen
  double w_ = 0, wc_ = 0;  // W, W^c
  double u_ = 0;           // U
  std::uint32_t inc_stage_ = 0;
  UnwrappedPsn last_update_ = 0;  // lastUpdateSeq
  Telemetry l_;                   // L: of the last acknowledgement; no hops: none yet
  Rate rate_;                     // R
};

}  // namespace rocelab
