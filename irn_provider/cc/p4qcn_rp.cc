#include "irn_provider/cc/p4qcn_rp.h"

#include <algorithm>

#include "base/wire/controls.h"

namespace rocelab {
namespace {

// The names stand for the congestion points' values, too (mechanisms/p4qcn.h).
constexpr CcPresetOf<P4qcnRpParams> kPresets[] = {
    {"paper", "Geng et al., section 4: links of 7 Mb/s", {}},
    // Its law with the values that DCQCN's paper found for RDMA, so that the two differ in their points
    // alone.
    {"rdma",
     "ours: Zhu et al., SIGCOMM 2015, section 5, 40 Gb/s",
     {.byte_counter = 10_MB, .rate_ai = 40_Mbps, .timer = 55_us, .min_rate = 40_Mbps}}};

constexpr auto kLaw = fields(
    field<&P4qcnRpParams::beta>("beta", "a feedback packet takes `beta` / 2 of the rate").within(0.01, 1),
    field<&P4qcnRpParams::byte_counter>("byte_counter", "bytes of a cycle, which raises the rate").positive(),
    field<&P4qcnRpParams::fast_recovery>("fast_recovery",
                                         "N: cycles that only halve the way back to the target")
        .within(0, 1000),
    field<&P4qcnRpParams::rate_ai>("rate_ai", "R_AI: step of the target in each later cycle"),
    field<&P4qcnRpParams::timer>("timer", "ours: so much time makes a cycle, too").positive().or_word("off"),
    field<&P4qcnRpParams::min_rate>("min_rate", "ours: floor").positive().or_word("none"));
constexpr auto kFields =
    fields(kLaw, choice<&P4qcnRpParams::limiter>("flow", kLimiterNames,
                                                 "what has a rate: a queue pair, or all of a NIC to one host "
                                                 "together; `switch.p4qcn.flow` is the switches' part"));
constexpr auto kFieldsOfThree =
    fields(kLaw, field<&P4qcnRpParams::cnp_interval>("cnp_interval", "least time between CNPs of a flow"));

constexpr double kLeast = 1;  // bit/s: below it there is no rate

RateStagesLaw law_of(const P4qcnRpParams& p) {
  return {.byte_counter = p.byte_counter,
          .timer = p.timer,
          .fast_recovery = p.fast_recovery,
          .ai = p.rate_ai,
          .hai = p.rate_ai};
}

}  // namespace

std::span<const CcPresetOf<P4qcnRpParams>> P4qcnRp::presets() { return kPresets; }

Schema<P4qcnRpParams> P4qcnRp::schema() { return kFields; }
Schema<P4qcnRpParams> P4qcn3Rp::schema() { return kFieldsOfThree; }

P4qcnRp::P4qcnRp(const P4qcnRpParams& params, const CcContext& context)
    : params_(params), stages_(law_of(params), context.line_rate) {
  params_.min_rate = std::min(params_.min_rate, context.line_rate);
}

void P4qcnRp::on_sent(Bytes frame, Time now) {
  stages_.catch_up(now);
  stages_.on_sent(frame);
}

FeedbackResult P4qcnRp::on_feedback(const Packet& feedback, Time now) {
  if (feedback.kind != kind_of<P4qcnFbp>) return {};
  const auto fbp = control_of<P4qcnFbp>(feedback);
  if (!is_cp_address(fbp.cp)) return {};
  cut(now);
  return {true, false, stages_.rate(), fbp.depth, fbp.cp};
}

void P4qcnRp::cut(Time now) {
  stages_.catch_up(now);
  const double floor = std::max(static_cast<double>(params_.min_rate.bps()), kLeast);
  stages_.cut(std::max(stages_.current() * (1 - params_.beta / 2), floor), false, now);
}

Rate P4qcnRp::rate(Time now) {
  stages_.catch_up(now);
  return stages_.rate();
}

}  // namespace rocelab
