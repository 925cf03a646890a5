// RedEcn: whether a frame that joins an egress queue is marked CE, by the length that it finds there (without
// itself). Source: DCQCN (Zhu et al., SIGCOMM 2015), section 3.1, on the instantaneous length: up to K_min
// never; above K_max always; between them with a probability that grows linearly to P_max at K_max. K_min =
// K_max = K is DCTCP's step. Random bits come from an injected generator, one draw per undecided frame.
#pragma once

#include "base/packet.h"
#include "base/rng.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {

class RedEcn {
 public:
  explicit RedEcn(Rng rng) : rng_(rng) {}

  static double probability(const EcnConfig& config, Bytes queue) {
    if (queue <= config.k_min) return 0;
    if (queue > config.k_max) return 1;
    return config.p_max * static_cast<double>((queue - config.k_min).count()) /
           static_cast<double>((config.k_max - config.k_min).count());
  }

  // True: the caller sets CE. Only ECN-capable frames that are not marked yet are considered (RFC 3168,
  // section 5).
  bool marks(const EcnConfig& config, Ecn ecn, Bytes queue) {
    if (!config.enabled || (ecn != Ecn::kEct0 && ecn != Ecn::kEct1)) return false;
    const double p = probability(config, queue);
    return p > 0 && (p >= 1 || rng_.bernoulli(p));
  }

 private:
  Rng rng_;
};

}  // namespace rocelab
