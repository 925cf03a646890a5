// What the device and its port say about themselves, to verbs (context.cc) and in sysfs (device_tree.h)
// alike: what the NIC does or the scenario says. There is no vendor: the id is the one that Linux rxe shows.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "base/units.h"
#include "emu/world/world.h"

namespace rocelab::verbs {

inline constexpr std::uint32_t kNoVendor = 0xffffff;

void fill_attr(const HostEntry& host, ibv_device_attr& a);
ibv_port_attr port_attr(const HostEntry& host, bool up);

// A link's rate in IBTA's codes (PortInfo, 14.2.5.6): lanes times speed per lane. `speed` is one that
// programs of any year know (SDR 1, DDR 2, QDR 4, FDR10 8, FDR 16, EDR 32, HDR 64), and so is `width` (1X,
// 4X, 8X, 12X): the fastest pair that the link reaches, with the fewest lanes. `speed_ex` is what
// ibv_port_attr has room for since rdma-core 57: the speed per lane where it takes NDR (128) or XDR (256) at
// that width.
struct LinkCode {
  std::uint8_t width = 1, speed = 1;
  std::uint32_t speed_ex = 1;
};
LinkCode link_code(Rate rate);

int lanes_of(std::uint8_t width);  // 0: no such code
struct SpeedName {
  const char* name;
  std::int64_t mbps;  // of one lane, in Mb/s
};
SpeedName speed_name(std::uint32_t code);

}  // namespace rocelab::verbs
