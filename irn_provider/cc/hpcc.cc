#include "irn_provider/cc/hpcc.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rocelab {
namespace {

constexpr Duration kNoRtt = 10_us;  // T of a NIC that nobody has told one
double bytes_per_second(Rate rate) { return static_cast<double>(rate.bps()) / 8; }

constexpr CcPresetOf<HpccParams> kPresets[] = {
    {"paper", "Li et al., SIGCOMM 2019, 5.1: eta 95 %, maxStage 5, W_AI for 100 flows"}};

constexpr auto kFields = fields(
    field<&HpccParams::eta>("eta", "utilisation that is aimed at").within(0.01, 1),
    field<&HpccParams::max_stage>("max_stage", "maxStage: additive steps before a multiplicative one")
        .within(0, 1000),
    field<&HpccParams::w_ai>("w_ai", "W_AI: additive step; computed: W_init (1 - `eta`) / `flows`")
        .or_word("computed"),
    field<&HpccParams::flows>("flows", "N: flows that a link is expected to have").within(1, 1'000'000),
    field<&HpccParams::base_rtt>("base_rtt", "T; computed: of a full frame and its ACK on the longest path")
        .positive()
        .or_word("computed"),
    field<&HpccParams::min_rate>("min_rate", "floor"));

}  // namespace

std::span<const CcPresetOf<HpccParams>> Hpcc::presets() { return kPresets; }

Schema<HpccParams> Hpcc::schema() { return kFields; }

Hpcc::Hpcc(const HpccParams& params, const CcContext& context)
    : params_(params),
      line_(context.line_rate),
      t_((params.base_rtt > 0_ps ? params.base_rtt : kNoRtt).seconds()),
      w_init_(bytes_per_second(line_) * t_),
      w_ai_(params.w_ai > 0_B ? static_cast<double>(params.w_ai.count())
                              : w_init_ * (1 - params.eta) / params.flows),
      frame_(static_cast<double>(context.path_mtu)) {
  start(Time::zero());
}

void Hpcc::start(Time /*now*/) {
  w_ = wc_ = w_init_;
  u_ = 0;
  inc_stage_ = 0;
  last_update_ = std::numeric_limits<UnwrappedPsn>::min();
  l_ = {};
  rate_ = line_;
}

void Hpcc::on_sent(Bytes frame, Time /*now*/) {
  frame_ = std::max(frame_, static_cast<double>(wire_bytes(frame).count()));
}

// Another path, or none before: what the ports said is not to be compared.
bool Hpcc::same_path(const Telemetry& telemetry) const {
  return l_.hops == telemetry.hops && l_.path == telemetry.path;
}

// Lines 1 to 10. The hop with the largest u' gives the weight of this measurement in U.
void Hpcc::measure_inflight(const Telemetry& telemetry) {
  double u = 0, tau = 0;
  for (std::size_t i = 0; i < telemetry.hops; ++i) {
    const TelemetryHop now = telemetry.hop(i), before = l_.hop(i);
    const double elapsed = now.since(before).seconds();
    if (elapsed <= 0) continue;  // one packet acknowledged twice
    const double b = bytes_per_second(now.rate());
    const double tx_rate = static_cast<double>(now.sent_since(before).count()) / elapsed;
    const Bytes queue = std::min(now.queue_length(), before.queue_length());
    const double inflight = static_cast<double>(queue.count()) / (b * t_) + tx_rate / b;  // u'
    if (inflight > u || tau == 0) u = inflight, tau = elapsed;  // an idle path is measured, too
  }
  tau = std::min(tau, t_);
  u_ = (1 - tau / t_) * u_ + tau / t_ * u;
}

// Lines 11 to 20.
void Hpcc::compute_wind(bool update_wc) {
  const bool decrease = u_ >= params_.eta || inc_stage_ >= params_.max_stage;
  w_ = decrease ? wc_ / (u_ / params_.eta) + w_ai_ : wc_ + w_ai_;
  const double least = bytes_per_second(params_.min_rate) * t_;
  w_ = std::clamp(w_, std::min(least, w_init_), w_init_);
  if (!update_wc) return;
  inc_stage_ = decrease ? 0 : inc_stage_ + 1;
  wc_ = w_;
}

// Lines 21 to 27.
void Hpcc::on_ack(const CcAck& ack, Time /*now*/) {
  if (ack.telemetry == nullptr || ack.telemetry->hops == 0) return;
  if (!same_path(*ack.telemetry)) {
    l_ = *ack.telemetry;
    last_update_ = ack.next;
    return;
  }
  const bool update_wc = ack.una > last_update_;
  measure_inflight(*ack.telemetry);
  compute_wind(update_wc);
  if (update_wc) last_update_ = ack.next;
  rate_ = std::min(line_, Rate::from_bps(static_cast<std::int64_t>(w_ / t_ * 8)));
  l_ = *ack.telemetry;
}

std::int64_t Hpcc::window() const {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(w_ / frame_)));
}

}  // namespace rocelab
