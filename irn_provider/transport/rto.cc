#include "irn_provider/transport/rto.h"

#include <algorithm>

namespace rocelab {
namespace {

constexpr std::int64_t kMaxBackoff = 64;  // times RTO_high; RFC 6298, 2.5 allows a bound

}  // namespace

Rto::Rto(const RtoParams& params) : params_(params), computed_(params.high) {
  params_.low = std::min(params_.low, params_.high);
}

void Rto::restart(Time now) {
  start_ = now;
  extended_ = false;
  deadline_ = params_.enabled ? now + (params_.dynamic ? computed_ : params_.low) : Time::never();
}

void Rto::on_rtt(Duration sample) {
  if (srtt_ == Duration{}) {
    srtt_ = sample;
    rttvar_ = sample / 2;
  } else {
    const Duration error = srtt_ > sample ? srtt_ - sample : sample - srtt_;
    rttvar_ = (3 * rttvar_ + error) / 4;
    srtt_ = (7 * srtt_ + sample) / 8;
  }
  computed_ = std::max(params_.low, srtt_ + 4 * rttvar_);
}

RtoExpiry Rto::on_timeout(Time now, std::int64_t in_flight) {
  if (!running() || now < deadline_) return RtoExpiry::kNone;
  if (params_.dynamic) {
    computed_ = std::min(2 * computed_, params_.high * kMaxBackoff);
    restart(now);
    return RtoExpiry::kHigh;
  }
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
