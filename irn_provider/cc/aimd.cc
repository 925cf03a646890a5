#include "irn_provider/cc/aimd.h"

#include <algorithm>
#include <limits>

namespace rocelab {
namespace {

constexpr CcPresetOf<AimdParams> kPresets[] = {{"rfc5681", "RFC 5681; begins with the BDP: Mittal, 4.3.1"},
                                               // TCP as Mittal's own baseline (2.5: New Reno with SACK,
                                               // initial window 4) sets it; 4.3.6 names no values.
                                               {"tcp",
                                                "RFC 5681; Mittal, chapter 2, baseline TCP: initial window 4",
                                                {.initial_window = 4, .slow_start = true}}};

constexpr auto kFields = fields(
    field<&AimdParams::initial_window>("initial_window", "packets; bdp: the BDP cap")
        .within(1, 1 << 20)
        .or_word("bdp"),
    field<&AimdParams::slow_start>("slow_start", "TCP's slow start, at the beginning and after a timeout"),
    field<&AimdParams::increase>("increase", "packets per window acknowledged").within(1e-9, 1000),
    field<&AimdParams::decrease>("decrease",
                                 "share of the window that a loss leaves, and with `aimd_ecn` a mark")
        .within(0, 1),
    field<&AimdParams::min_window>("min_window", "packets that it leaves at least").within(1, 1 << 20));

}  // namespace

std::span<const CcPresetOf<AimdParams>> Aimd::presets() { return kPresets; }

Schema<AimdParams> Aimd::schema() { return kFields; }

double first_window(std::uint32_t configured, std::uint32_t bdp_cap) {
  constexpr std::uint32_t kWithoutBdp = 10;  // RFC 6928
  if (configured != 0) return configured;
  return bdp_cap != 0 ? bdp_cap : kWithoutBdp;
}

double largest_window(std::uint32_t bdp_cap) {
  return bdp_cap != 0 ? bdp_cap : std::numeric_limits<double>::max();
}

void Aimd::start(Time /*now*/) {
  window_ = first_;
  threshold_ = params_.slow_start ? std::numeric_limits<double>::max() : 0;
  next_ = recover_ = std::numeric_limits<UnwrappedPsn>::min();
}

void Aimd::on_ack(const CcAck& ack, Time /*now*/) {
  next_ = ack.next;
  const auto was_out = static_cast<double>(ack.next - ack.una + ack.packets);
  if (ack.packets == 0 || ack.una < recover_ || !grows(window_, most_, was_out)) return;
  const auto packets = static_cast<double>(ack.packets);
  if (window_ < threshold_)
    window_ = std::min(window_ + packets, std::max(threshold_, window_));
  else
    window_ += params_.increase * packets / window_;
}

void Aimd::on_loss(CcLoss loss, Time /*now*/) {
  threshold_ = std::max(window_ * params_.decrease, static_cast<double>(params_.min_window));
  window_ = params_.slow_start && loss == CcLoss::kTimeout ? 1 : threshold_;
  recover_ = loss == CcLoss::kTimeout ? std::numeric_limits<UnwrappedPsn>::min() : next_;
}

}  // namespace rocelab
