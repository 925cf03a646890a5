#include "ovs_patches/switch_model/rocc_cp.h"

#include <algorithm>

namespace rocelab {
namespace {

constexpr std::int64_t kOne = std::int64_t{1} << RoccCp::kFractionBits;

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

RoccCp::RoccCp(const RoccParams& params)
    : params_(params),
      q_ref_(params.q_ref / params.delta_q),
      q_mid_(params.q_mid / params.delta_q),
      q_max_(params.q_max / params.delta_q),
      f_min_(fixed(params.f_min, params.delta_f)),
      f_max_(fixed(params.f_max, params.delta_f)),
      alpha_(fixed(params.alpha)),
      beta_(fixed(params.beta)),
      f_(f_max_) {}

std::int64_t RoccCp::ratio() const {
  std::int64_t level = 2;
  while (f_ < f_max_ / level && level < 64) level *= 2;
  return level / 2;
}

std::uint32_t RoccCp::update(Bytes queue) {
  const std::int64_t q_cur = queue / params_.delta_q;
  if (q_cur >= q_max_ && f_ > f_max_ / 8) {
    f_ = f_min_;
  } else if (q_cur - q_old_ >= q_mid_ && f_ > f_max_ / 8) {
    f_ /= 2;
  } else {
    // The gains are divided with their products, so that no bit of alpha~ / 32 is lost. A queue of 2^63 B
    // times a gain would not fit 64 bits.
    const __int128 step =
        static_cast<__int128>(alpha_) * (q_cur - q_ref_) + static_cast<__int128>(beta_) * (q_cur - q_old_);
    f_ = static_cast<Fixed>(std::clamp<__int128>(f_ - step / ratio(), f_min_, f_max_));
  }
  f_ = std::clamp(f_, f_min_, f_max_);
  q_old_ = q_cur;
  return units();
}

}  // namespace rocelab
