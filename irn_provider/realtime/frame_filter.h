// What a packet socket takes: RoCEv2 frames to this host's addresses and to QPNs of this virtual function, or
// to QP1, which all of a host's share; MAC control (pause) frames; and datagrams to multicast groups, if
// asked. A classic BPF program, run by the kernel for every frame of the interface: no frame of anybody else
// wakes the process. Only a sieve: what passes is parsed as any frame of the network.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <vector>

#include "base/wire/frame.h"

namespace rocelab::direct {

struct FilterPlan {
  std::uint32_t ipv4 = 0;  // host order
  Gid gid0{};              // an IPv6 address
  std::uint32_t first_qpn = 0, qpns = 0;
  bool groups = false;  // the NIC knows which ones have members
};

std::vector<sock_filter> frame_filter(const FilterPlan& plan);

// Of a socket that is bound so that the kernel does not answer, and reads nothing.
std::vector<sock_filter> nothing_filter();

}  // namespace rocelab::direct
