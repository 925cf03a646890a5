#include "irn_provider/cc/rocc_rp.h"

#include <algorithm>

#include "base/wire/controls.h"

namespace rocelab {
namespace {

// The names stand for the congestion points' values, which the runner has (emu/runner/rocc_reader.cc); the
// reaction points of all three are alike.
constexpr RoccRpParams kTwoPeriods{.recovery_timer = {}};
constexpr CcPresetOf<RoccRpParams> kPresets[] = {
    {"paper", "Menikkumbura, 3.5, system parameters", kTwoPeriods},
    {"authors",
     "github.com/danushkam/rocc, simulator: the paper's with the timer of fast recovery that it leaves open, "
     "and a "
     "fair rate that begins below F_min",
     {.recovery_timer = 55_us}},  // SELF_RISE_INTERVAL
    {"dpdk-testbed", "Menikkumbura, 3.5.2", kTwoPeriods},
    {"p4-testbed", "Menikkumbura, 3.5.3", kTwoPeriods}};

// Values of RoccForm.
constexpr std::string_view kForms[] = {"switch", "host-registry", "host"};
static_assert(std::size(kForms) == kRoccForms);

constexpr auto kFields = fields(
    choice<&RoccRpParams::form>(
        "rate_computation", kForms,
        "who computes the fair rate (3.3.6 of the paper): `switch`; `host`: CNPs say all values, and the "
        "flow's host computes; `host-registry`: CNPs say the queue and F, the host looks up the rest, for "
        "links of at most four rates. docs/papers/rocc.md says what it changes"),
    field<&RoccRpParams::reaction_delay>("reaction_delay", "from a CNP's arrival until it takes effect"),
    field<&RoccRpParams::recovery_timer>(
        "recovery_timer",
        "a flow that is told nothing doubles its rate so often, until line rate; 2T: two `period`")
        .positive()
        .or_word("2T"));

}  // namespace

std::span<const CcPresetOf<RoccRpParams>> RoccRp::presets() { return kPresets; }

Schema<RoccRpParams> RoccRp::schema() { return kFields; }

void RoccRp::start(Time /*now*/) {
  r_cur_ = r_max_;
  cp_ = 0;
  timer_at_ = Time::never();
  pending_ = {};
  host_.clear();
}

// Lines 1 to 7.
void RoccRp::process_cnp(std::uint32_t cp, std::uint32_t rate, Time at) {
  const Rate received = params_.delta_f * static_cast<std::int64_t>(rate);
  if (received > r_cur_ && cp != cp_) return;
  r_cur_ = received;
  cp_ = cp;
  timer_at_ = at + params_.recovery_timer;
}

// Lines 8 to 13. A rate above R_max holds nothing back, so that the limiter's queue is empty. What was
// computed for it goes with it.
void RoccRp::timer_expired() {
  if (r_cur_ > r_max_) {
    r_cur_ = r_max_;
    cp_ = 0;
    timer_at_ = Time::never();
    host_.clear();
    return;
  }
  r_cur_ = r_cur_ * 2;
  timer_at_ = timer_at_ + params_.recovery_timer;
}

void RoccRp::catch_up(Time now) {
  for (;;) {
    const Time cnp = pending_.empty() ? Time::never() : pending_.front().at;
    if (std::min(cnp, timer_at_) > now) return;
    if (cnp <= timer_at_) {
      const Pending next = pending_.take_front();
      process_cnp(next.cp, next.rate, next.at);
    } else {
      timer_expired();
    }
  }
}

// Null: nothing that a law of this network could work with.
const RoccValues* RoccRp::values_of(const SwitchRate& feedback) const {
  if (feedback.report.form == RoccForm::kQueue) return params_.registry.find(feedback.rate);
  const RoccValues& values = feedback.report.values;
  const std::int64_t f = RoccValues::whole(feedback.rate);
  const std::int64_t most = params_.max_feedback.bps() / params_.delta_f.bps();
  const bool sound = values.fit_cnp() && values.f_min <= f && f <= values.f_max &&
                     values.f_max >> RoccValues::kFractionBits <= most;
  return sound ? &values : nullptr;
}

std::optional<Rate> RoccRp::on_switch_rate(const SwitchRate& feedback, Time now) {
  catch_up(now);
  const bool sound =
      is_cp_address(feedback.cp) && feedback.report.form == params_.form && feedback.rate > 0 &&
      static_cast<std::int64_t>(feedback.rate) <= params_.max_feedback.bps() / params_.delta_f.bps();
  if (!sound) return std::nullopt;
  std::uint32_t rate = feedback.rate;
  if (params_.form != RoccForm::kRate) {
    const RoccValues* values = values_of(feedback);
    if (values == nullptr) return std::nullopt;
    const RoccHost::Computed computed =
        host_.on_report(feedback.cp, feedback.rate, feedback.report, *values, now);
    rate = computed.rate;
    if (!computed.news) return params_.delta_f * static_cast<std::int64_t>(rate);
  }
  pending_.push_back({now + params_.reaction_delay, feedback.cp, rate});
  catch_up(now);
  return params_.delta_f * static_cast<std::int64_t>(rate);
}

FeedbackResult RoccRp::on_feedback(const Packet& feedback, Time now) {
  if (feedback.kind != kind_of<RoccFeedback>) return {};
  const auto cnp = control_of<RoccFeedback>(feedback);
  const RoccReport report = cnp.report();
  const std::optional<Rate> rate = on_switch_rate({cnp.cp, cnp.rate, report}, now);
  if (!rate) return {};
  return {true, report.form != RoccForm::kRate, *rate, report.q_cur, cnp.cp};
}

Rate RoccRp::rate(Time now) {
  if (!pending_.empty() || !timer_at_.is_never()) catch_up(now);
  return std::min(r_cur_, r_max_);
}

Time RoccRp::next_change() const {
  return pending_.empty() ? timer_at_ : std::min(pending_.front().at, timer_at_);
}

}  // namespace rocelab
