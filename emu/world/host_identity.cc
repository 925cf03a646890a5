#include "emu/world/host_identity.h"

#include <algorithm>

namespace rocelab {
namespace {

// FNV-1a: short keys, spread over all bits, the same everywhere.
constexpr std::uint64_t kFnvOffset = 0xcbf29ce484222325, kFnvPrime = 0x100000001b3;

std::uint64_t mix(std::uint64_t hash, std::span<const std::uint8_t> bytes) {
  for (const std::uint8_t b : bytes) hash = (hash ^ b) * kFnvPrime;
  return hash;
}

std::uint64_t mix(std::uint64_t hash, std::uint32_t value) {
  const std::array<std::uint8_t, 4> bytes = {
      static_cast<std::uint8_t>(value >> 24), static_cast<std::uint8_t>(value >> 16),
      static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)};
  return mix(hash, bytes);
}

}  // namespace

Guid guid_of(const Mac& mac) {
  return {static_cast<std::uint8_t>(mac[0] ^ 2), mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};
}

std::array<std::uint8_t, 16> ipv6_of(std::uint32_t ipv4) {
  std::array<std::uint8_t, 16> address{0xfd};
  for (int i = 0; i < 4; ++i) address[12 + i] = static_cast<std::uint8_t>(ipv4 >> (24 - 8 * i));
  return address;
}

int gids_of(const HostEntry& host) { return host.ipv6 == Gid{} ? kIpv6Gid : kIpv6Gid + 1; }

Gid gid_of(const HostEntry& host, int index) {
  Gid gid{};
  if (index == kIpv6Gid) return host.ipv6;
  if (index == kLinkLocalGid) {
    gid[0] = 0xfe;
    gid[1] = 0x80;
    const Guid guid = guid_of(host.mac);
    std::copy(guid.begin(), guid.end(), gid.begin() + 8);
  } else {
    gid[10] = gid[11] = 0xff;
    for (int i = 0; i < 4; ++i) gid[12 + i] = static_cast<std::uint8_t>(host.ipv4 >> (24 - 8 * i));
  }
  return gid;
}

int index_of(const HostEntry& host, const Gid& gid) {
  for (int i = 0; i < gids_of(host); ++i)
    if (gid_of(host, i) == gid) return i;
  return -1;
}

const HostEntry* find_host(std::span<const HostEntry> hosts, const Gid& gid) {
  for (const HostEntry& host : hosts)
    if (index_of(host, gid) >= 0) return &host;
  return nullptr;
}

std::uint16_t udp_source_port(std::uint32_t flow_label, std::uint32_t local_qpn, std::uint32_t remote_qpn,
                              const Gid& local, const Gid& remote) {
  constexpr std::uint32_t kBase = 0xc000, kMask = 0x3fff;
  if (flow_label != 0) {
    const std::uint32_t low = flow_label & kMask, high = flow_label & 0xfc000;
    return static_cast<std::uint16_t>((low ^ (high >> 14)) | kBase);
  }
  std::uint64_t hash = mix(mix(kFnvOffset, local_qpn), remote_qpn);
  hash = mix(mix(hash, local), remote);
  hash ^= hash >> 42;  // fold: FNV's low bits depend on low bits only
  hash ^= hash >> 28;
  hash ^= hash >> 14;
  return static_cast<std::uint16_t>((hash & kMask) | kBase);
}

Mac mac_of(const PortEntry& port) {
  return {0x02,
          'r',
          static_cast<std::uint8_t>('l' + (port.switch_index >> 8)),
          static_cast<std::uint8_t>(port.switch_index),
          static_cast<std::uint8_t>(port.port_id >> 8),
          static_cast<std::uint8_t>(port.port_id)};
}

}  // namespace rocelab
