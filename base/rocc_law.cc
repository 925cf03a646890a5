#include "base/rocc_law.h"

#include <algorithm>
#include <limits>

namespace rocelab {
namespace {

constexpr std::int64_t kOne = std::int64_t{1} << RoccValues::kFractionBits;

std::int64_t fixed(double x) { return static_cast<std::int64_t>(x * static_cast<double>(kOne) + 0.5); }
std::int64_t fixed(Rate rate, Rate unit) {
  return static_cast<std::int64_t>(static_cast<__int128>(rate.bps()) * kOne / unit.bps());
}

}  // namespace

RoccParams rocc_params_for(Rate link) {
  RoccParams p;
  if (link <= 10_Gbps) {
    p.q_ref = 75_KB;
    p.q_mid = 150_KB;
    p.q_max = 210_KB;
  } else if (link > 40_Gbps) {
    p.q_ref = 300_KB;
    p.q_mid = 600_KB;
    p.q_max = 660_KB;
    p.alpha = 0.45;
    p.beta = 2.25;
  }
  p.f_max = link;
  return p;
}

RoccValues rocc_values(const RoccParams& p) {
  return {p.q_ref / p.delta_q,       p.q_mid / p.delta_q, p.q_max / p.delta_q, fixed(p.f_min, p.delta_f),
          fixed(p.f_max, p.delta_f), fixed(p.alpha),      fixed(p.beta)};
}

std::int64_t rocc_first(const RoccParams& p) { return fixed(p.f_first.value_or(p.f_max), p.delta_f); }

bool RoccValues::fit_cnp() const {
  const auto length = [](std::int64_t q) { return q >= 0 && q <= std::numeric_limits<std::uint32_t>::max(); };
  const auto gain = [](std::int64_t g) { return g >= 0 && g < std::int64_t{1} << kGainBits; };
  return f_min >= kOne && f_min <= f_max && f_min % kOne == 0 && f_max % kOne == 0 && length(f_max / kOne) &&
         length(q_ref) && length(q_mid) && length(q_max) && gain(alpha) && gain(beta);
}

std::int64_t RoccLaw::ratio() const {
  std::int64_t level = 2;
  while (f_ < values_.f_max / level && level < 64) level *= 2;
  return level / 2;
}

void RoccLaw::update(std::int64_t q_cur) {
  const RoccValues& v = values_;
  if (q_cur >= v.q_max && f_ > v.f_max / 8) {
    f_ = v.f_min;
  } else if (q_cur - q_old_ >= v.q_mid && f_ > v.f_max / 8) {
    f_ /= 2;
  } else {
    // The gains are divided with their products, so that no bit of alpha~ / 32 is lost. A queue of 2^63 B
    // times a gain would not fit 64 bits.
    const __int128 step =
        static_cast<__int128>(v.alpha) * (q_cur - v.q_ref) + static_cast<__int128>(v.beta) * (q_cur - q_old_);
    f_ = static_cast<std::int64_t>(std::clamp<__int128>(f_ - step / ratio(), v.f_min, v.f_max));
  }
  f_ = std::clamp(f_, v.f_min, v.f_max);
  q_old_ = q_cur;
}

}  // namespace rocelab
