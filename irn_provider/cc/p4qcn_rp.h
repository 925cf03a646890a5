// P4qcnRp: P4QCN's reaction point: each feedback packet (FBP) of a switch cuts the rate by the same share,
// and sent bytes raise it again. Source: Geng, Yan and Zhang, P4QCN: Congestion Control Using P4-Capable
// Device in Data Center Networks, Future Internet 11(3), 2019 ("paper"), 3.1.2: equations 2 to 4, figures 5
// and 6. A timer and a floor are ours: the paper has none, and a flow beside traffic that it does not control
// starves (DEVIATIONS.md#p4qcn). The congestion point is the switch's mechanisms/p4qcn.h. P4qcn3Rp is the
// same law with three points (4.2.4): the congestion point marks the frame for which it would send an FBP,
// and the receiver's notification point (dcqcn_np.h) tells the source.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/schema.h"
#include "irn_provider/cc/cc_limiter.h"
#include "irn_provider/cc/cc_needs.h"
#include "irn_provider/cc/congestion_control.h"
#include "irn_provider/cc/rate_stages.h"

namespace rocelab {

struct P4qcnRpParams {                         // the paper's, section 4; it does not give the byte counter
  double beta = 1;                             // an FBP takes beta / 2 of the rate
  Bytes byte_counter = 150_KB;                 // of a cycle; QCN's
  std::uint32_t fast_recovery = 5;             // N: cycles that only halve the way back
  Rate rate_ai = 5_Mbps;                       // R_AI: step of the target in each later cycle
  Duration timer{};                            // ours: so much time makes a cycle, too; 0: none
  Rate min_rate{};                             // ours: floor; 0: none
  Duration cnp_interval = 50_us;               // three points: the notification point's N
  CcLimiter limiter = CcLimiter::kConnection;  // the paper's flows are pairs of hosts; three points: as here
};

class P4qcnRp final : public CongestionControl {
 public:
  using Params = P4qcnRpParams;
  static constexpr std::string_view kName = "p4qcn";
  static constexpr CcNeeds kNeeds{.feedback = true};
  static std::span<const CcPresetOf<Params>> presets();
  static Schema<Params> schema();

  P4qcnRp(const P4qcnRpParams& params, const CcContext& context);

  void start(Time /*now*/) override { stages_.start(); }
  void on_sent(Bytes frame, Time now) override;
  FeedbackResult on_feedback(const Packet& feedback, Time now) override;
  void cut(Time now);  // equation 2
  Rate rate(Time now) override;
  Time next_change() const override { return stages_.timer_at(); }

  Rate target() const { return stages_.target_rate(); }  // R_t, for tests

 private:
  P4qcnRpParams params_;
  RateStages stages_;
};

class P4qcn3Rp final : public CongestionControl {
 public:
  using Params = P4qcnRpParams;
  static constexpr std::string_view kName = "p4qcn3";
  static constexpr CcNeeds kNeeds{.marks = true, .own_marks = true, .cnps = true};
  static std::span<const CcPresetOf<Params>> presets() { return P4qcnRp::presets(); }
  static Schema<Params> schema();

  P4qcn3Rp(const P4qcnRpParams& params, const CcContext& context) : law_(params, context) {}

  void start(Time now) override { law_.start(now); }
  void on_sent(Bytes frame, Time now) override { law_.on_sent(frame, now); }
  void on_cnp(Time now) override { law_.cut(now); }
  Rate rate(Time now) override { return law_.rate(now); }
  Time next_change() const override { return law_.next_change(); }

 private:
  P4qcnRp law_;
};

}  // namespace rocelab
