#include "irn_provider/cc/dcqcn_rp.h"

#include <algorithm>
#include <utility>

namespace rocelab {
namespace {

constexpr CcMarking kPaperMarking{5_KB, 200_KB, 0.01};

constexpr CcPresetOf<DcqcnParams> kPresets[] = {
    {"paper", "Zhu et al., SIGCOMM 2015, section 5 (used by Mittal, 4.3.1)", {}, kPaperMarking},
    // Mittal, 4.3.1: "DCQCN as implemented in the ConnectX-4" with the parameters of SIGCOMM 2015.
    {"irn-paper",
     "Mittal, 4.3.1: the adapter's law with the values of SIGCOMM 2015",
     {.clamp_target = false, .periodic = true},
     kPaperMarking},
    {"rocc-authors",
     "github.com/danushkam/rocc, simulator: the paper's with R_AI of 4 Mb/s, marking by RED's average",
     {.rate_ai = 4_Mbps},
     {5_KB, 200_KB, 0.01, 0.2}},  // WQ
    // The switch is as the paper's.
    {"connectx",
     "NVIDIA, DCQCN parameters of ConnectX-4 and later, defaults",
     {.g = 5.0 / 1024,           // dce_tcp_g 1019
      .alpha_interval = 1_us,    // dce_tcp_rtt
      .rate_timer = 300_us,      // rpg_time_reset
      .byte_counter = 32'767_B,  // rpg_byte_reset
      .fast_recovery = 1,        // rpg_threshold
      .rate_ai = 5_Mbps,         // rpg_ai_rate
      .rate_hai = 50_Mbps,       // rpg_hai_rate
      .clamp_target = false,     // clamp_tgt_rate
      .periodic = true,
      .decrease_interval = 4_us,  // rate_reduce_monitor_period
      .cnp_interval = 4_us},      // min_time_between_cnps
     kPaperMarking},
    // The public ns-3 model as its run script sets it at 100 Gb/s.
    {"conweave-ns3",
     "conweave-ns3 run.py, 100 Gb/s",
     {.alpha_interval = 1_us,  // ALPHA_RESUME_INTERVAL
      .rate_timer = 300_us,    // RP_TIMER
      .byte_counter = 0_B,
      .fast_recovery = 1,     // FAST_RECOVERY_TIMES
      .rate_ai = 40_Mbps,     // RATE_AI: 10 Mb/s per 25 Gb/s
      .rate_hai = 100_Mbps,   // RATE_HAI: 25 Mb/s per 25 Gb/s
      .min_rate = 100_Mbps,   // MIN_RATE
      .clamp_target = false,  // CLAMP_TARGET_RATE
      .periodic = true,
      .decrease_interval = 4_us,  // RATE_DECREASE_INTERVAL; every ACK carries the mark there
      .cnp_interval = 4_us},
     {100_KB, 400_KB, 0.2}}};

// base^n by squaring: only multiplications, so that every machine gets the same digits.
double power(double base, std::int64_t n) {
  double result = 1;
  for (; n > 0; n /= 2, base *= base)
    if (n % 2 != 0) result *= base;
  return result;
}

constexpr auto kFields = fields(
    field<&DcqcnParams::g>("g", "weight of a CNP in alpha").within(1e-9, 1),
    field<&DcqcnParams::alpha_interval>("alpha_interval", "K: alpha decays after so long without a CNP")
        .positive(),
    field<&DcqcnParams::rate_timer>("rate_timer", "T: time between rate increases").positive(),
    field<&DcqcnParams::byte_counter>("byte_counter", "B: bytes between rate increases; 0B: no byte counter"),
    field<&DcqcnParams::fast_recovery>("fast_recovery",
                                       "F: increases that only halve the way back to the target")
        .within(0, 1000),
    field<&DcqcnParams::rate_ai>("rate_ai", "R_AI: step of the target in additive increase"),
    field<&DcqcnParams::rate_hai>("rate_hai", "step of the target in hyper increase"),
    field<&DcqcnParams::min_rate>("min_rate", "floor"),
    field<&DcqcnParams::max_decrease>("max_decrease", "share of the rate that one cut may take")
        .within(1e-9, 1),
    field<&DcqcnParams::clamp_target>(
        "clamp_target",
        "each CNP lowers the target to the rate; false: only one that an increase has preceded"),
    field<&DcqcnParams::periodic>("periodic",
                                  "adapters: alpha and cuts once per period instead of at each CNP"),
    field<&DcqcnParams::decrease_interval>("decrease_interval", "time between cuts, with `periodic`")
        .positive(),
    field<&DcqcnParams::cnp_interval>("cnp_interval",
                                      "N: the receiver's NIC sends at most one CNP of a flow in it"),
    field<&DcqcnParams::loss_backoff>(
        "loss_backoff",
        "share of the rate that a loss takes (4.3.3 of the IRN chapter, go-back-N with explicit backoff)")
        .within(0, 0.99));

RateStagesLaw law_of(const DcqcnParams& p) {
  return {.byte_counter = p.byte_counter,
          .timer = p.rate_timer,
          .fast_recovery = p.fast_recovery,
          .ai = p.rate_ai,
          .hai = p.rate_hai};
}

}  // namespace

std::span<const CcPresetOf<DcqcnParams>> DcqcnRp::presets() { return kPresets; }

Schema<DcqcnParams> DcqcnRp::schema() { return kFields; }

DcqcnRp::DcqcnRp(const DcqcnParams& params, const CcContext& context)
    : params_(params), stages_(law_of(params), context.line_rate) {
  start(Time::zero());
}

void DcqcnRp::start(Time now) {
  stages_.start();  // Mittal, 4.3.1: flows start at line rate
  alpha_ = 1;
  notified_ = cnp_in_period_ = false;
  alpha_at_ = cuts_again_ = now;
  cut_at_ = Time::never();
}

// Figure 7: both counters start anew with every cut.
void DcqcnRp::cut(double share, Time at) {
  const bool clamps = params_.clamp_target || stages_.increased();
  stages_.cut(std::max(stages_.current() * (1 - share), static_cast<double>(params_.min_rate.bps())), !clamps,
              at);
}

// Equation 2, once for each K that has passed; periodic: raised instead for the period that had a CNP.
void DcqcnRp::update_alpha(Time now) {
  std::int64_t periods = (now - alpha_at_) / params_.alpha_interval;
  if (periods <= 0) return;
  alpha_at_ = alpha_at_ + params_.alpha_interval * periods;
  if (cnp_in_period_) {
    alpha_ = (1 - params_.g) * alpha_ + params_.g;
    cnp_in_period_ = false;
    --periods;
  }
  alpha_ *= power(1 - params_.g, periods);
}

void DcqcnRp::catch_up(Time now) {
  while (std::min(stages_.timer_at(), cut_at_) <= now) {
    if (cut_at_ <= stages_.timer_at()) {
      const Time at = std::exchange(cut_at_, Time::never());
      update_alpha(at);
      cut(std::min(alpha_ / 2, params_.max_decrease), at);
      cuts_again_ = at + params_.decrease_interval;
    } else {
      stages_.on_timer();
    }
  }
}

void DcqcnRp::on_sent(Bytes frame, Time now) {
  if (!stages_.limited() || params_.byte_counter == 0_B) return;
  catch_up(now);
  stages_.on_sent(frame);
}

void DcqcnRp::on_cnp(Time now) {
  catch_up(now);
  if (!std::exchange(notified_, true)) {
    alpha_ = 1;  // of a new flow's first CNP, however long it has been silent
    alpha_at_ = now;
  }
  update_alpha(now);
  if (params_.periodic) {
    cnp_in_period_ = true;
    if (cut_at_.is_never()) cut_at_ = std::max(now, cuts_again_);
    catch_up(now);
    return;
  }
  cut(std::min(alpha_ / 2, params_.max_decrease), now);  // equation 1: with alpha as it was
  alpha_ = (1 - params_.g) * alpha_ + params_.g;
  alpha_at_ = now;
}

void DcqcnRp::on_loss(CcLoss /*loss*/, Time now) {
  if (params_.loss_backoff <= 0) return;
  catch_up(now);
  cut(params_.loss_backoff, now);
}

Rate DcqcnRp::rate(Time now) {
  catch_up(now);
  return stages_.rate();
}

Time DcqcnRp::next_change() const { return std::min(stages_.timer_at(), cut_at_); }

}  // namespace rocelab
