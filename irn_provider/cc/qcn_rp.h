// QcnRp: QCN's reaction point: a switch's CNM says by how much to cut the rate, and bytes and time raise it.
// Source: IEEE 802.1Qau (now 802.1Q, clauses 30 to 32). The standard itself was not at hand: the law is that
// of Pan, QCN Pseudo Code (IEEE 802.1 document au-rong-qcn-serial-hai, 2007) and Alizadeh et al., Data Center
// Transport Mechanisms, Allerton 2008; parameters are named as the managed objects of clause 32 (IEEE8021-CN-
// MIB). What could not be checked: DEVIATIONS.md#qcn. The congestion point is the switch's mechanisms/qcn.h.
#pragma once

#include <span>
#include <string_view>

#include "base/schema.h"
#include "irn_provider/cc/cc_limiter.h"
#include "irn_provider/cc/cc_needs.h"
#include "irn_provider/cc/congestion_control.h"
#include "irn_provider/cc/rate_stages.h"

namespace rocelab {

struct QcnRpParams {                // for links of 10 Gb/s
  double gain = 1.0 / 128;          // rpgGd: share of the rate that one unit of quantised feedback takes
  double max_decrease = 0.5;        // rpgMinDecFac: of one CNM
  Bytes byte_counter = 150_KB;      // rpgByteReset: sent bytes of a stage
  Duration timer = 15_ms;           // rpgTimeReset: time of a stage
  std::uint32_t fast_recovery = 5;  // rpgThreshold: stages of a kind that only halve the way back
  Rate rate_ai = 5_Mbps;            // rpgAiRate: step of the target in active increase
  Rate rate_hai = 50_Mbps;          // rpgHaiRate: in hyper increase, times the number of its stages
  Rate min_rate = 10_Mbps;          // rpgMinRate
  double jitter = 0.15;             // byte_counter and timer are drawn from within this share of them
  CcLimiter limiter = CcLimiter::kConnection;
  Rate scale_from{};  // bytes and rates are those of such a link, and grow with it; 0: they do not
};

class QcnRp final : public CongestionControl {
 public:
  using Params = QcnRpParams;
  static constexpr std::string_view kName = "qcn";
  static constexpr CcNeeds kNeeds{.feedback = true};
  static std::span<const CcPresetOf<Params>> presets();
  static Schema<Params> schema();

  QcnRp(const QcnRpParams& params, const CcContext& context);

  void seed(const Rng& rng) override { stages_.seed(rng.fork("qcn")); }
  void start(Time /*now*/) override { stages_.start(); }
  void on_sent(Bytes frame, Time now) override;
  FeedbackResult on_feedback(const Packet& feedback, Time now) override;
  Rate rate(Time now) override;
  Time next_change() const override { return stages_.timer_at(); }

  Rate target() const { return stages_.target_rate(); }  // rpTargetRate, for tests

 private:
  QcnRpParams params_;
  RateStages stages_;
};

}  // namespace rocelab
