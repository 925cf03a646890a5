// Fields of messages that several of this folder's files fill in or read. Private to this folder.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "irn_provider/cm/cm_types.h"

namespace rocelab::cm {

// Into the field from `at`; false: does not fit.
template <std::size_t N>
bool fill(PrivateData<N>& field, std::span<const std::uint8_t> data, std::size_t at = 0) {
  if (data.size() > N - at) return false;
  std::copy(data.begin(), data.end(), field.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

template <std::size_t N>
std::vector<std::uint8_t> all_of(const PrivateData<N>& field) {
  return {field.begin(), field.end()};
}

template <std::size_t N>
std::vector<std::uint8_t> behind_ip_header(const PrivateData<N>& field) {
  return {field.begin() + IpHeader::kSize, field.end()};
}

inline IpHeader ip_header(const ConnectParams& p) {
  return {p.local.ip_version, p.local.port, p.local.ip, p.remote.ip};
}

// As Linux computes it for RoCE: it decides the UDP source port of the connection's packets.
inline std::uint32_t flow_label(const ConnectParams& p) {
  constexpr std::uint32_t kFlowLabelMask = 0xfffff;
  return (p.local.port * 31u + p.remote.port) & kFlowLabelMask;
}

}  // namespace rocelab::cm
