#include "irn_provider/cc/dctcp.h"

#include <algorithm>
#include <limits>

#include "irn_provider/cc/aimd.h"

namespace rocelab {
namespace {

constexpr CcPresetOf<DctcpParams> kPresets[] = {
    // K = 65 packets of 1,500 bytes at 10 Gb/s.
    {"paper",
     "Alizadeh et al., SIGCOMM 2010, 3.4 and 4.1 (K for 10 Gb/s); Mittal, 3.5.1",
     {},
     {97'500_B, 97'500_B, 1}},
    // 3.4: K > C x RTT / 7; 40 Gb/s and the 24 us of the default fat-tree are 17.1 KB.
    {"irn-fat-tree", "SIGCOMM 2010, 3.4: K > C RTT / 7 for 40 Gb/s and 24 us", {}, {18_KB, 18_KB, 1}}};

constexpr auto kFields =
    fields(field<&DctcpParams::initial_window>("initial_window", "packets; bdp: the BDP cap")
               .within(1, 1 << 20)
               .or_word("bdp"),
           field<&DctcpParams::g>("g", "weight of a window's share of marks in alpha").within(1e-9, 1),
           field<&DctcpParams::increase>("increase", "packets per window acknowledged").within(1e-9, 1000),
           field<&DctcpParams::min_window>("min_window", "packets that a loss or marks leave at least")
               .within(1, 1 << 20));

}  // namespace

std::span<const CcPresetOf<DctcpParams>> Dctcp::presets() { return kPresets; }

Schema<DctcpParams> Dctcp::schema() { return kFields; }

Dctcp::Dctcp(const DctcpParams& params, const CcContext& context)
    : params_(params),
      line_(context.line_rate),
      first_(first_window(params.initial_window, context.bdp_cap)),
      most_(largest_window(context.bdp_cap)) {
  start(Time::zero());
}

void Dctcp::start(Time /*now*/) {
  window_ = first_;
  alpha_ = 1;
  answers_ = marked_ = 0;
  window_end_ = next_ = recover_ = std::numeric_limits<UnwrappedPsn>::min();
}

void Dctcp::shrink(double share) {
  window_ = std::max(window_ * (1 - share), static_cast<double>(params_.min_window));
}

void Dctcp::on_ack(const CcAck& ack, Time /*now*/) {
  if (window_end_ == std::numeric_limits<UnwrappedPsn>::min()) window_end_ = ack.next;
  next_ = ack.next;
  ++answers_;
  if (ack.marked) ++marked_;
  const auto was_out = static_cast<double>(ack.next - ack.una + ack.packets);
  if (ack.packets > 0 && !ack.marked && ack.una >= recover_ && grows(window_, most_, was_out))
    window_ += params_.increase * static_cast<double>(ack.packets) / window_;
  if (ack.una < window_end_) return;
  // Equation 1 with F of the window that ends here, equation 2 if it had a mark.
  alpha_ =
      (1 - params_.g) * alpha_ + params_.g * static_cast<double>(marked_) / static_cast<double>(answers_);
  if (marked_ > 0) shrink(alpha_ / 2);
  answers_ = marked_ = 0;
  window_end_ = ack.next;
}

void Dctcp::on_loss(CcLoss loss, Time /*now*/) {
  shrink(0.5);
  recover_ = loss == CcLoss::kTimeout ? std::numeric_limits<UnwrappedPsn>::min() : next_;
}

}  // namespace rocelab
