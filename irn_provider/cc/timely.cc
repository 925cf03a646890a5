#include "irn_provider/cc/timely.h"

#include <algorithm>

namespace rocelab {
namespace {

double ps(Duration d) { return static_cast<double>(d.ps()); }
double bps(Rate r) { return static_cast<double>(r.bps()); }

constexpr CcPresetOf<TimelyParams> kPresets[] = {
    {"paper", "Mittal, 3.5; weight and minRTT: timely.h"},
    {"paper-64KB",
     "Mittal, figure 3.13: the T_low that 64 KB segments need",
     {.segment = 64_KB, .t_low = 300_us}},
    {"per-packet",
     "the authors' published code: values for per-packet pacing, delta 10 Mb/s per 10 Gb/s at 40 Gb/s",
     {.segment = 0_B, .t_low = 0_us, .t_high = 1_ms, .delta = 40_Mbps}},
    {"patched",
     "patched TIMELY: Zhu et al., CoNEXT 2016, 4.3",
     {.beta = 0.008, .alpha = 0.875, .hai_factor = 1, .patched = true}},
    {"conweave-ns3",
     "conweave-ns3 rdma-hw.cc and run.py, 100 Gb/s",
     {.segment = 0_B,
      .delta = 40_Mbps,         // RATE_AI
      .alpha = 0.875,           // TimelyAlpha
      .min_rate = 100_Mbps}}};  // MIN_RATE

constexpr auto kFields = fields(
    field<&TimelyParams::segment>("segment", "burst, RTT sample and READ request; 0B: a packet")
        .at_most(1_MB),
    field<&TimelyParams::t_low>("t_low", "T_low: below, rates only rise"),
    field<&TimelyParams::t_high>("t_high", "T_high: above, rates only fall").positive(),
    field<&TimelyParams::delta>("delta", "additive increment"),
    field<&TimelyParams::beta>("beta", "multiplicative decrement factor").within(1e-9, 1),
    field<&TimelyParams::alpha>("alpha", "EWMA weight").within(1e-9, 1),
    field<&TimelyParams::min_rtt>("min_rtt", "minRTT").positive(),
    field<&TimelyParams::hai_events>("hai_events",
                                     "completions with a falling RTT that begin hyperactive increase")
        .within(1, 1'000'000),
    field<&TimelyParams::hai_factor>("hai_factor", "N: increments of one update in hyperactive increase")
        .within(1, 1'000'000),
    field<&TimelyParams::app_share>("app_share", "share of the target that must be sent for it to rise")
        .within(0, 1),
    field<&TimelyParams::max_decrease>("max_decrease", "share of the rate that one update may take")
        .within(1e-9, 1),
    field<&TimelyParams::min_rate>("min_rate", "floor"),
    field<&TimelyParams::burst_rate>("burst_rate", "of packets inside a segment: the line's, or NIC pacing")
        .or_word("line"),
    field<&TimelyParams::max_outstanding>(
        "max_outstanding", "cap on unacknowledged data; computed: what line rate sends in t_high")
        .or_word("computed"),
    field<&TimelyParams::loss_backoff>(
        "loss_backoff",
        "share of the rate that a loss takes (4.3.3 of the IRN chapter, go-back-N with explicit backoff)")
        .within(0, 0.99),
    field<&TimelyParams::rtt_noise>("rtt_noise",
                                    "error of measurement: each RTT is taken as longer, by uniform in [0, "
                                    "rtt_noise]; those of the results are without it")
        .within(0_ps, 1_s),
    field<&TimelyParams::patched>("patched",
                                  "patched TIMELY: between t_low and t_high rates settle where RTTs are near "
                                  "rtt_ref"),
    field<&TimelyParams::rtt_ref>("rtt_ref", "RTT_ref of patched TIMELY").positive().or_word("t_low"));

}  // namespace

std::span<const CcPresetOf<TimelyParams>> Timely::presets() { return kPresets; }

Schema<TimelyParams> Timely::schema() { return kFields; }

std::optional<SchemaProblem> Timely::problem_of(const TimelyParams& params) {
  if (params.t_high < params.t_low) return SchemaProblem{"t_high", "is less than t_low"};
  if (params.rtt_ref > Duration{} && !params.patched) return SchemaProblem{"rtt_ref", "needs patched = true"};
  if (params.patched && params.rtt_ref == Duration{} && params.t_low == Duration{})
    return SchemaProblem{"rtt_ref", "is needed where t_low is 0us"};
  return std::nullopt;
}

Timely::Timely(const TimelyParams& params, const CcContext& context)
    : params_(params), line_(context.line_rate) {
  const Bytes cap =
      params.max_outstanding.count() > 0 ? params.max_outstanding : bytes_in(params.t_high, line_);
  window_ = std::max<std::int64_t>(1, cap.count() / context.path_mtu);
  start(Time::zero());
}

void Timely::start(Time now) {
  rate_ = bps(line_);  // Mittal, 4.3.1: flows start at line rate
  prev_rtt_ = {};
  rtt_diff_ = 0;
  falling_ = 0;
  updated_at_ = now - params_.min_rtt;  // the first sample weighs fully
}

// 3.4, application limited behaviour.
bool Timely::application_keeps_up(const RttSample& sample) const {
  const double sent = static_cast<double>(sample.sent.count()) * 8e12;  // bit ps per s
  return sent > params_.app_share * rate_ * ps(sample.elapsed);
}

double Timely::updated(const RttSample& sample, double weight) {
  const double rtt = ps(sample.rtt), increment = bps(params_.delta) * weight;
  const bool may_rise = application_keeps_up(sample);
  if (sample.rtt < params_.t_low) return may_rise ? rate_ + increment : rate_;
  if (sample.rtt > params_.t_high)
    return rate_ * (1 - weight * params_.beta * (1 - ps(params_.t_high) / rtt));
  return params_.patched ? by_reference(sample.rtt, may_rise, weight) : by_gradient(may_rise, weight);
}

double Timely::by_gradient(bool may_rise, double weight) const {
  const double gradient = rtt_diff_ / ps(params_.min_rtt), increment = bps(params_.delta) * weight;
  if (gradient > 0) return rate_ * (1 - weight * params_.beta * gradient);
  const bool hai = falling_ >= params_.hai_events;
  return may_rise ? rate_ + (hai ? params_.hai_factor : 1) * increment : rate_;
}

// Zhu et al., 4.3: the weight of the decrease goes from 0 at a gradient of -1/4 to 1 at 1/4.
double Timely::by_reference(Duration rtt, bool may_rise, double weight) const {
  const Duration reference = params_.rtt_ref > Duration{} ? params_.rtt_ref : params_.t_low;
  const double share = std::clamp(2 * rtt_diff_ / ps(params_.min_rtt) + 0.5, 0.0, 1.0);
  const double error = ps(rtt - reference) / ps(reference);
  const double change = bps(params_.delta) * (1 - share) - rate_ * params_.beta * share * error;
  return may_rise || change < 0 ? rate_ + weight * change : rate_;
}

void Timely::on_rtt(const RttSample& measured, Time now) {
  RttSample sample = measured;
  if (params_.rtt_noise > Duration{}) {
    const auto most = static_cast<std::uint64_t>(params_.rtt_noise.ps());
    sample.rtt = sample.rtt + Duration::from_ps(static_cast<std::int64_t>(noise_.below(most + 1)));
  }
  if (prev_rtt_ == Duration{}) prev_rtt_ = sample.rtt;
  const double difference = ps(sample.rtt - prev_rtt_);
  prev_rtt_ = sample.rtt;
  falling_ = difference < 0 ? falling_ + 1 : 0;
  rtt_diff_ = (1 - params_.alpha) * rtt_diff_ + params_.alpha * difference;
  // 3.4, rate update frequency: of n completions within a minimum RTT each weighs 1/n.
  const double weight = std::min(1.0, ps(now - updated_at_) / ps(params_.min_rtt));
  updated_at_ = now;
  const double next = std::max(updated(sample, weight), rate_ * (1 - params_.max_decrease));
  rate_ = std::clamp(next, std::min(bps(params_.min_rate), bps(line_)), bps(line_));
}

void Timely::on_loss(CcLoss /*loss*/, Time /*now*/) {
  if (params_.loss_backoff <= 0) return;
  rate_ = std::max(rate_ * (1 - params_.loss_backoff), std::min(bps(params_.min_rate), bps(line_)));
}

}  // namespace rocelab
