#include "irn_provider/transport/rto.h"

#include <algorithm>

namespace rocelab {

Rto::Rto(const RtoParams& params) : params_(params) { params_.low = std::min(params_.low, params_.high); }

void Rto::restart(Time now) {
  start_ = now;
  extended_ = false;
  deadline_ = params_.enabled ? now + params_.low : Time::never();
}

RtoExpiry Rto::on_timeout(Time now, std::int64_t in_flight) {
  if (!running() || now < deadline_) return RtoExpiry::kNone;
  if (!extended_) {
    if (in_flight <= static_cast<std::int64_t>(params_.low_packets)) {
      restart(now);
      return RtoExpiry::kLow;
    }
    extended_ = true;
    deadline_ = start_ + params_.high;
    if (now < deadline_) return RtoExpiry::kNone;
  }
  restart(now);
  return RtoExpiry::kHigh;
}

}  // namespace rocelab
