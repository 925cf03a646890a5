// Timely: rate control by the gradient of the RTT, one update per completed segment.
// Source: Mittal, chapter 3: algorithm 1 (3.3.3), segments and pacing (3.2.3), rates that only follow what
// the application sends, updates scaled by completions per minimum RTT, lazy rate changes, paced READ
// requests (3.4), values (3.5). Algorithm 1 leaves the EWMA weight open and 3.4 how updates are scaled: both
// are taken from the code that the paper's authors published (timely.cc, "ewma_alpha", "delta_factor"). It
// also takes at most half of the rate at once, where algorithm 1 could go below zero.
// DEVIATIONS.md#congestion-control.
//
// Patched TIMELY: Zhu, Ghobadi, Misra, Padhye, "ECN or Delay: Lessons Learnt from Analysis of DCQCN and
// TIMELY" (CoNEXT 2016), 4.3: between T_low and T_high the gradient weighs an increment against a decrease by
// the RTT's distance from a reference, so that there is one equilibrium, with equal rates.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "base/rng.h"
#include "base/schema.h"
#include "irn_provider/cc/cc_needs.h"
#include "irn_provider/cc/congestion_control.h"

namespace rocelab {

struct TimelyParams {
  Bytes segment = 16_KB;     // payload per burst and RTT sample; 3.5. At most one packet: packet by packet
  Duration t_low = 50_us;    // T_low, 3.5
  Duration t_high = 500_us;  // T_high, 3.5
  Rate delta = 10_Mbps;      // additive increment, 3.5 (10 Gb/s links)
  double beta = 0.8;         // multiplicative decrement factor, 3.5
  double alpha = 0.02;       // EWMA weight; the authors' code
  Duration min_rtt = 20_us;  // minRTT: a fixed value (3.3.2); 3.4 names 20 us
  std::uint32_t hai_events = 5;  // completions with a falling RTT that begin HAI, algorithm 1
  std::uint32_t hai_factor = 5;  // N of HAI mode, algorithm 1
  double app_share = 0.8;        // share of the target rate that must be sent for it to rise, 3.4
  double max_decrease = 0.5;     // share of the rate that one update may take; the authors' code
  Rate min_rate = 10_Mbps;       // floor, optional in the authors' code: one increment
  Rate burst_rate{};             // inside a segment: NIC pacing of 3.4, "Additional pacing"; 0 = line rate
  Bytes max_outstanding{};       // cap on outstanding data, 3.2.3; 0 = what line rate sends in T_high
  double loss_backoff = 0;       // Mittal, 4.3.3 (1): share of the rate that a loss takes; 0 = none
  Duration rtt_noise{};          // 3.5.1, figure 3.10: each RTT is taken as longer by up to so much
  bool patched = false;          // Zhu et al., 4.3
  Duration rtt_ref{};            // patched: RTT_ref; 0 = T_low
};

class Timely final : public CongestionControl {
 public:
  using Params = TimelyParams;
  static constexpr std::string_view kName = "timely";
  static constexpr CcNeeds kNeeds{.lazy_rate = true, .paces_reads = true};
  static std::span<const CcPresetOf<Params>> presets();
  static Schema<Params> schema();
  static std::optional<SchemaProblem> problem_of(const Params& params);

  Timely(const TimelyParams& params, const CcContext& context);
  static CcBurst burst(const Params& params) { return {std::max(params.segment, 1_B), params.burst_rate}; }

  void seed(const Rng& rng) override { noise_ = rng.fork("rtt-noise"); }
  void start(Time now) override;
  void on_rtt(const RttSample& measured, Time now) override;
  void on_loss(CcLoss loss, Time now) override;
  Rate rate(Time /*now*/) override { return Rate::from_bps(static_cast<std::int64_t>(rate_ + 0.5)); }
  std::int64_t window() const override { return window_; }

 private:
  // Algorithm 1: the rate after this sample, with the update's weight.
  double updated(const RttSample& sample, double weight);
  // Its parts between T_low and T_high: by the gradient alone, and patched.
  double by_gradient(bool may_rise, double weight) const;
  double by_reference(Duration rtt, bool may_rise, double weight) const;
  bool application_keeps_up(const RttSample& sample) const;

  TimelyParams params_;
  Rate line_;
  Rng noise_{0};
  std::int64_t window_;        // packets
  double rate_ = 0;            // bit/s
  Duration prev_rtt_;          // zero: no sample yet
  double rtt_diff_ = 0;        // smoothed, in picoseconds
  std::uint32_t falling_ = 0;  // completions in a row whose RTT was below the one before
  Time updated_at_;
};

}  // namespace rocelab
