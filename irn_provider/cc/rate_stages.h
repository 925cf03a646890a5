// RateStages: how QCN's reaction point and its descendants (DCQCN, P4QCN) raise a rate that feedback has cut:
// so many bytes sent, and so much time, make a stage, and each stage halves the way from the rate R_C back to
// the target R_T. A kind of stages that has come more than `fast_recovery` times since the cut raises the
// target first: active increase by one kind, hyper increase by both. Sources: Alizadeh et al., Data Center
// Transport Mechanisms, Allerton 2008; Zhu et al., SIGCOMM 2015, figure 7; Geng et al., equations 3 and 4.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/rng.h"
#include "base/units.h"

namespace rocelab {

struct RateStagesLaw {
  Bytes byte_counter;               // of a stage; 0: bytes make none
  Duration timer;                   // of a stage; 0: time makes none
  std::uint32_t fast_recovery = 5;  // stages of a kind that leave the target as it is
  Rate ai, hai;                     // steps of the target
  bool growing_hai = false;         // the n-th stage of hyper increase takes n steps
  bool shortens = false;   // the first stage divides a target above ten times the rate by 8 in place of it
  double later_share = 1;  // of byte_counter and timer, beyond fast recovery
  double jitter = 0;       // both are drawn from within this share of them, for each stage
};

class RateStages {
 public:
  RateStages(const RateStagesLaw& law, Rate line) : law_(law), line_(static_cast<double>(line.bps())) {
    start();
  }
  void seed(const Rng& rng) { rng_ = rng; }  // for jitter

  void start() {  // at line rate, not limited
    current_ = target_ = line_;
    timer_at_ = Time::never();
    since_ = {};
    bytes_ = timers_ = 0;
  }
  // bit/s; they keep their fractions.
  double current() const { return current_; }  // R_C
  double target() const { return target_; }    // R_T
  Rate rate() const { return rounded(current_); }
  Rate target_rate() const { return rounded(target_); }
  bool limited() const { return current_ < line_ || target_ < line_; }
  bool increased() const { return timers_ + bytes_ > 0; }  // since the last cut

  // Stages begin anew. `keep_target`: R_T stays what it was, else it is the rate before the cut.
  void cut(double rate, bool keep_target, Time at) {
    if (!keep_target) target_ = current_;
    current_ = rate;
    timers_ = bytes_ = 0;
    since_ = {};
    limit_ = byte_limit();
    timer_at_ = law_.timer > Duration{} ? at + time_limit() : Time::never();
  }

  Time timer_at() const { return timer_at_; }  // next stage by time; never: none
  // Precondition: timer_at() has come.
  void on_timer() {
    ++timers_;
    timer_at_ = timer_at_ + time_limit();
    increase();
  }
  void catch_up(Time now) {
    while (timer_at_ <= now) on_timer();
  }
  // Precondition: timers up to now have been served.
  void on_sent(Bytes frame) {
    if (!limited() || law_.byte_counter == Bytes{}) return;
    since_ += frame;
    if (since_ < limit_) return;
    since_ -= limit_;
    ++bytes_;
    limit_ = byte_limit();
    increase();
  }

 private:
  static constexpr double kSettled = 1;  // bit/s from the line: R_C only halves its distance, so it is there
  static Rate rounded(double rate) { return Rate::from_bps(static_cast<std::int64_t>(rate + 0.5)); }

  double share(std::uint32_t stages) {
    const double later = stages >= law_.fast_recovery ? law_.later_share : 1;
    return law_.jitter > 0 ? later * (1 + law_.jitter * (2 * rng_.uniform() - 1)) : later;
  }
  Bytes byte_limit() {
    if (law_.later_share == 1 && law_.jitter == 0) return law_.byte_counter;
    const double bytes = static_cast<double>(law_.byte_counter.count()) * share(bytes_);
    return Bytes::from_count(std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes)));
  }
  Duration time_limit() {
    if (law_.later_share == 1 && law_.jitter == 0) return law_.timer;
    const double ps = static_cast<double>(law_.timer.ps()) * share(timers_);
    return Duration::from_ps(std::max<std::int64_t>(1, static_cast<std::int64_t>(ps)));
  }

  void increase() {
    const std::uint32_t most = std::max(timers_, bytes_);
    const std::uint32_t least = law_.byte_counter == Bytes{} ? timers_
                                : law_.timer == Duration{}   ? bytes_
                                                             : std::min(timers_, bytes_);
    if (law_.shortens && (timers_ == 1 || bytes_ == 1) && target_ > 10 * current_)
      target_ /= 8;
    else if (least > law_.fast_recovery)
      target_ += static_cast<double>(law_.hai.bps()) * (law_.growing_hai ? least - law_.fast_recovery : 1);
    else if (most > law_.fast_recovery)
      target_ += static_cast<double>(law_.ai.bps());
    target_ = std::min(target_, line_);
    current_ = (current_ + target_) / 2;
    if (target_ < line_ || line_ - current_ > kSettled) return;
    current_ = line_;
    timer_at_ = Time::never();
  }

  RateStagesLaw law_;
  double line_;
  Rng rng_{0};
  double current_ = 0, target_ = 0;
  Time timer_at_ = Time::never();
  Bytes since_;                           // sent since the last stage by bytes
  Bytes limit_;                           // of the present one
  std::uint32_t timers_ = 0, bytes_ = 0;  // stages since the cut
};

}  // namespace rocelab
