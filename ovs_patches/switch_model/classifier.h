// Classifier: which traffic class a frame belongs to, by the DSCP of its IP header or the PCP of its VLAN
// tag. The edge that parses bytes calls it and sets Packet::tc; the switch itself reads only Packet::tc. A
// frame without the field that the map needs is class 0.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {

class Classifier {
 public:
  explicit Classifier(const SwitchConfig& config)
      : by_(config.classify), dscp_to_tc_(config.dscp_to_tc), pcp_to_tc_(config.pcp_to_tc) {}

  Tc classify(std::optional<std::uint8_t> dscp, std::optional<std::uint8_t> pcp) const {
    if (by_ == Classify::kDscp) return Tc{dscp ? dscp_to_tc_[*dscp & 63] : std::uint8_t{0}};
    return Tc{pcp ? pcp_to_tc_[*pcp & 7] : std::uint8_t{0}};
  }

 private:
  Classify by_;
  std::array<std::uint8_t, 64> dscp_to_tc_;
  std::array<std::uint8_t, 8> pcp_to_tc_;
};

}  // namespace rocelab
