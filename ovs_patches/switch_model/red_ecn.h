// RedEcn: whether a frame that joins an egress queue is marked CE, by the length that it finds there (without
// itself). Source: DCQCN (Zhu et al., SIGCOMM 2015), section 3.1, on the instantaneous length: up to K_min
// never; above K_max always; between them with a probability that grows linearly to P_max at K_max. K_min =
// K_max = K is DCTCP's step. Random bits come from an injected generator, one draw per undecided frame.
//
// With EcnConfig::average, RED (Floyd and Jacobson, 1993, figure 2): thresholds hold against an average of
// the lengths that frames find, and the frames since the last mark make the next one likelier, so that marks
// come evenly. As in the simulator of RoCC's authors (github.com/danushkam/rocc, SwitchEtherQueue, markRED),
// a queue longer than K_max marks whatever its average, and an idle time is no sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/packet.h"
#include "base/rng.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {

class RedEcn {
 public:
  explicit RedEcn(Rng rng) : rng_(rng) {}

  static double probability(const EcnConfig& config, double queue) {
    const auto k_min = static_cast<double>(config.k_min.count());
    const auto k_max = static_cast<double>(config.k_max.count());
    if (queue <= k_min) return 0;
    if (queue > k_max) return 1;
    return config.p_max * (queue - k_min) / (k_max - k_min);
  }

  // True: the caller sets CE. Only ECN-capable frames that are not marked yet are considered (RFC 3168,
  // section 5). `number`: of the queue, so that each has its average.
  bool marks(const EcnConfig& config, Ecn ecn, Bytes queue, std::size_t number) {
    if (!config.enabled || (ecn != Ecn::kEct0 && ecn != Ecn::kEct1)) return false;
    if (config.average < 1) [[unlikely]]
      return marks_by_average(config, static_cast<double>(queue.count()), number);
    const double p = probability(config, static_cast<double>(queue.count()));
    return p > 0 && (p >= 1 || rng_.bernoulli(p));
  }

 private:
  struct Average {
    double length = 0;           // bytes
    std::int64_t unmarked = -1;  // frames since the last mark, or since the average came above K_min
  };

  bool marks_by_average(const EcnConfig& config, double queue, std::size_t number) {
    if (number >= averages_.size()) averages_.resize(number + 1);
    Average& average = averages_[number];
    average.length += config.average * (queue - average.length);
    const double p = probability(config, average.length);
    average.unmarked = p > 0 ? average.unmarked + 1 : -1;
    const double left = 1 - static_cast<double>(average.unmarked) * p;
    const bool full = p >= 1 || queue > static_cast<double>(config.k_max.count());
    if (!full && (p <= 0 || (left > p && !rng_.bernoulli(p / left)))) return false;
    average.unmarked = 0;
    return true;
  }

  Rng rng_;
  std::vector<Average> averages_;  // by number of the queue, as far as there has been one
};

}  // namespace rocelab
