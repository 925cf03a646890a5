// DcqcnRp: DCQCN's reaction point: CNPs cut the rate, silence raises it again in three stages.
// Source: Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015 ([146] of
// Mittal), 3.1 and figure 7 ("paper" below); Mittal, 4.3.1 uses its parameters, on a NIC that starts at line
// rate. Adapters and their simulators evaluate alpha and the cuts once per period (NVIDIA, DCQCN parameters
// of ConnectX-4 and later; conweave-ns3 run.py): the same law with `periodic` set. What the paper leaves
// open: DEVIATIONS.md#congestion-control.
#pragma once

#include <span>
#include <string_view>

#include "base/schema.h"
#include "irn_provider/cc/cc_needs.h"
#include "irn_provider/cc/congestion_control.h"
#include "irn_provider/cc/rate_stages.h"

namespace rocelab {

struct DcqcnParams {                // the paper's, for 40 Gb/s
  double g = 1.0 / 256;             // weight of a new observation in alpha; 3.1 and table of section 5
  Duration alpha_interval = 55_us;  // K: without a CNP for so long alpha decays
  Duration rate_timer = 55_us;      // T: time between increases, section 5
  Bytes byte_counter = 10_MB;       // B: bytes between increases, section 5; 0 = no byte counter
  std::uint32_t fast_recovery = 5;  // F: increases of either kind that only halve the way back
  Rate rate_ai = 40_Mbps;           // R_AI: step of the target in additive increase
  Rate rate_hai = 400_Mbps;         // step in hyper increase; open in the paper, ten times R_AI as in QCN
  Rate min_rate = 1_Mbps;           // open in the paper; the adapter's rpg_min_rate
  double max_decrease = 0.5;        // share of the rate that one cut may take; alpha = 1 takes half
  bool clamp_target = true;  // equation 1: every cut sets R_T = R_C; false (clamp_tgt_rate 0): only one that
                             // an increase has preceded, so that a row of CNPs leaves the way back open
  bool periodic = false;     // alpha once per alpha_interval, cuts once per decrease_interval
  Duration decrease_interval = 4_us;  // periodic only: rate_reduce_monitor_period
  Duration cnp_interval = 50_us;      // N: notification point, least time between CNPs of a flow (dcqcn_np.h)
  double loss_backoff = 0;            // Mittal, 4.3.3 (1): share of the rate that a loss takes; 0 = none
};

class DcqcnRp : public CongestionControl {
 public:
  using Params = DcqcnParams;
  static constexpr std::string_view kName = "dcqcn";
  static constexpr CcNeeds kNeeds{.marks = true, .cnps = true};
  static std::span<const CcPresetOf<Params>> presets();
  static Schema<Params> schema();

  DcqcnRp(const DcqcnParams& params, const CcContext& context);

  void start(Time now) override;
  void on_sent(Bytes frame, Time now) override;
  void on_loss(CcLoss loss, Time now) override;
  void on_cnp(Time now) override;
  Rate rate(Time now) override;
  Time next_change() const override;

  // For tests and traces.
  Rate target() const { return stages_.target_rate(); }
  double alpha() const { return alpha_; }

 private:
  void catch_up(Time now);
  void update_alpha(Time now);
  void cut(double share, Time at);

  DcqcnParams params_;
  RateStages stages_;  // R_C, R_T
  double alpha_ = 1;
  bool notified_ = false;        // a CNP has come since start()
  bool cnp_in_period_ = false;   // periodic: of alpha
  Time alpha_at_;                // alpha is as of then
  Time cut_at_ = Time::never();  // periodic: a cut that waits for the period's end
  Time cuts_again_;              // periodic: no cut before
};

}  // namespace rocelab
