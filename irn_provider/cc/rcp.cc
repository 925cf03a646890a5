#include "irn_provider/cc/rcp.h"

namespace rocelab {
namespace {

constexpr auto kFields =
    fields(field<&RcpRateParams::min_rate>("min_rate", "floor of the rates that a path answers").positive());

}  // namespace

Schema<RcpRateParams> Rcp::schema() { return kFields; }

void Rcp::start(Time /*now*/) {
  answered_ = false;
  rate_ = line_;
  rtt_ = {};
  packet_ = {};
}

void Rcp::on_ack(const CcAck& ack, Time /*now*/) {
  if (!ack.path_rate) return;
  answered_ = true;
  told_ = ack.path_rate->rate();
  settle();
}

void Rcp::on_rtt(const RttSample& sample, Time /*now*/) {
  rtt_ = sample.elapsed;
  if (answered_) settle();
}

void Rcp::settle() {
  Rate least = params_.min_rate;
  if (rtt_ > Duration{}) {
    const double seconds = (rtt_ * kMostRoundTrips).seconds();
    const double bps = static_cast<double>(packet_.count()) * 8 / seconds;
    least = std::max(least, Rate::from_bps(static_cast<std::int64_t>(bps)));
  }
  rate_ = std::clamp(told_, std::min(least, line_), line_);
}

}  // namespace rocelab
