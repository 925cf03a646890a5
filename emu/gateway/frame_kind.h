// What a gateway does with a frame of the device: RoCE goes into the run; ARP, ping, TCP go around it, as for
// every host; what says that it is RoCE but cannot be read goes nowhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "irn_provider/transport/nic_config.h"

namespace rocelab {

enum class ForeignFrame : std::uint8_t { kRoce, kManagement, kBroken };

struct ForeignFrameView {
  ForeignFrame kind = ForeignFrame::kManagement;
  std::uint8_t tc = 0;  // of a RoCE frame, as a NIC with this configuration sorts it
};

// `frame`: from the destination address on, any bytes.
ForeignFrameView look_at_foreign(std::span<const std::byte> frame, const NicConfig& nic);

}  // namespace rocelab
