#include "ovs_patches/switch_model/shared_buffer.h"

namespace rocelab {

SharedBuffer::SharedBuffer(const SwitchConfig& config, std::span<const PortConfig> ports)
    : ingress_(ports.size() * kTrafficClasses),
      lossy_held_(ports.size()),
      egress_limit_(config.egress_limit),
      input_buffer_(config.input_buffer),
      pool_(config.shared_pool),
      alpha_lossless_(config.alpha_lossless),
      alpha_lossy_(config.alpha_lossy),
      lossy_in_pool_(config.shared_pool > 0_B && config.alpha_lossy > 0) {
  for (std::size_t port = 0; port < ports.size(); ++port) {
    const PfcThresholds limits = thresholds_for(config, ports[port]);
    for (int tc = 0; tc < kTrafficClasses; ++tc) ingress_[port * kTrafficClasses + tc].limits = limits;
  }
}

}  // namespace rocelab
