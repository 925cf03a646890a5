#include "irn_provider/cc/qcn_rp.h"

#include <algorithm>

#include "base/wire/controls.h"

namespace rocelab {
namespace {

// The names stand for the congestion points' values, too (mechanisms/qcn.h).
constexpr CcPresetOf<QcnRpParams> kPresets[] = {
    {"802.1Q", "IEEE 802.1Q, managed objects, for 10 Gb/s", {}},
    {"scaled", "ours: the same, with bytes and rates that grow with the link", {.scale_from = 10_Gbps}}};

constexpr auto kFields = fields(
    field<&QcnRpParams::gain>("gain", "rpgGd: share of the rate that one unit of quantised feedback takes")
        .within(1e-6, 1),
    field<&QcnRpParams::max_decrease>("max_decrease", "rpgMinDecFac: share of the rate that one CNM may take")
        .within(1e-6, 1),
    field<&QcnRpParams::byte_counter>("byte_counter", "rpgByteReset: sent bytes of a stage; 0B: none")
        .at_least(0_B),
    field<&QcnRpParams::timer>("timer", "rpgTimeReset: time of a stage").positive(),
    field<&QcnRpParams::fast_recovery>("fast_recovery",
                                       "rpgThreshold: stages that only halve the way back to the target")
        .within(0, 1000),
    field<&QcnRpParams::rate_ai>("rate_ai", "rpgAiRate: step of the target in active increase"),
    field<&QcnRpParams::rate_hai>("rate_hai",
                                  "rpgHaiRate: step in hyper increase, times the number of its stages"),
    field<&QcnRpParams::min_rate>("min_rate", "rpgMinRate: floor").positive(),
    field<&QcnRpParams::jitter>("jitter", "share of `byte_counter` and `timer` by which each stage differs")
        .within(0, 0.99),
    choice<&QcnRpParams::limiter>(
        "flow", kLimiterNames,
        "what has a limiter: a queue pair, or all of a NIC to one host together (rpppMaxRps)"),
    field<&QcnRpParams::scale_from>("scale_from",
                                    "bytes and rates are those of such a link, and grow with the NIC's")
        .positive()
        .or_word("off"));

QcnRpParams scaled(QcnRpParams p, Rate line) {
  if (p.scale_from == Rate{}) return p;
  const double times = static_cast<double>(line.bps()) / static_cast<double>(p.scale_from.bps());
  const auto grow = [&](Rate& rate) {
    rate = Rate::from_bps(static_cast<std::int64_t>(static_cast<double>(rate.bps()) * times));
  };
  grow(p.rate_ai), grow(p.rate_hai), grow(p.min_rate);
  p.byte_counter =
      Bytes::from_count(static_cast<std::int64_t>(static_cast<double>(p.byte_counter.count()) * times));
  return p;
}

RateStagesLaw law_of(const QcnRpParams& p) {
  return {.byte_counter = p.byte_counter,
          .timer = p.timer,
          .fast_recovery = p.fast_recovery,
          .ai = p.rate_ai,
          .hai = p.rate_hai,
          .growing_hai = true,
          .shortens = true,
          .later_share = 0.5,
          .jitter = p.jitter};
}

}  // namespace

std::span<const CcPresetOf<QcnRpParams>> QcnRp::presets() { return kPresets; }

Schema<QcnRpParams> QcnRp::schema() { return kFields; }

QcnRp::QcnRp(const QcnRpParams& params, const CcContext& context)
    : params_(scaled(params, context.line_rate)), stages_(law_of(params_), context.line_rate) {
  params_.min_rate = std::min(params_.min_rate, context.line_rate);
}

void QcnRp::on_sent(Bytes frame, Time now) {
  stages_.catch_up(now);
  stages_.on_sent(frame);
}

// Of CNMs in a row only the first moves the target: the way back is to where the rate was.
FeedbackResult QcnRp::on_feedback(const Packet& feedback, Time now) {
  if (feedback.kind != kind_of<Cnm>) return {};
  const auto cnm = control_of<Cnm>(feedback);
  if (!is_cp_address(cnm.cp) || cnm.feedback == 0) return {};
  stages_.catch_up(now);
  const double share = std::min(params_.gain * cnm.feedback, params_.max_decrease);
  const double least = static_cast<double>(params_.min_rate.bps());
  const bool in_a_row = stages_.limited() && !stages_.increased();
  stages_.cut(std::max(stages_.current() * (1 - share), least), in_a_row, now);
  const int queue = std::max(0, cnm.q_offset * Cnm::kUnit);
  return {true, false, stages_.rate(), static_cast<std::uint32_t>(queue), cnm.cp};
}

Rate QcnRp::rate(Time now) {
  stages_.catch_up(now);
  return stages_.rate();
}

}  // namespace rocelab
