// The RDMA IP CM service: connections by IP address and port. IBTA Vol 1, annex A11: service IDs (A11.2.2)
// and the header in front of the private data of REQ and SIDR_REQ (A11.2.3).
//
// Service ID: 0x0000 0000 01 | IP protocol | port. Linux's port spaces RDMA_PS_TCP and RDMA_PS_UDP are
// protocols 6 and 17.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +-------+-------+-------+-------+-------------------------------+
// | major | minor |  IPv  | resvd |          source port          |   0
// +-------+-------+-------+-------+-------------------------------+
// |             source address (16 bytes; IPv4: last 4)           |   4
// |          destination address (16 bytes; IPv4: last 4)         |  20
// +---------------------------------------------------------------+
#pragma once

#include <optional>

#include "base/wire/cm/cm_field.h"

namespace rocelab::cm {

enum class PortSpace : std::uint8_t { kTcp = 6, kUdp = 17 };

inline constexpr std::uint64_t kIpServicePrefix = 0x0000000001000000;

constexpr std::uint64_t service_id(PortSpace space, std::uint16_t port) {
  return kIpServicePrefix | std::uint64_t{static_cast<std::uint8_t>(space)} << 16 | port;
}
constexpr bool is_ip_service(std::uint64_t id) { return (id & ~std::uint64_t{0xffffff}) == kIpServicePrefix; }
constexpr std::uint8_t protocol_of(std::uint64_t id) { return static_cast<std::uint8_t>(id >> 16); }
constexpr std::uint16_t port_of(std::uint64_t id) { return static_cast<std::uint16_t>(id); }

struct IpHeader {
  static constexpr std::size_t kSize = 36;
  std::uint8_t ip_version = 4;  // 4 or 6
  std::uint16_t source_port = 0;
  std::array<std::uint8_t, 16> source{}, destination{};
  friend bool operator==(const IpHeader&, const IpHeader&) = default;

  // Null: too short, another version of the service, or neither IPv4 nor IPv6.
  static std::optional<IpHeader> parse(std::span<const std::uint8_t> private_data);
  void write(std::span<std::uint8_t> private_data) const;
};

}  // namespace rocelab::cm
