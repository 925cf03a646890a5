#include "irn_provider/cc/dctcp.h"

#include <algorithm>
#include <limits>

#include "irn_provider/cc/aimd.h"

namespace rocelab {

Dctcp::Dctcp(const DctcpParams& params, Rate line_rate, std::uint32_t bdp_cap)
    : params_(params),
      line_(line_rate),
      first_(first_window(params.initial_window, bdp_cap)),
      most_(largest_window(bdp_cap)) {
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
