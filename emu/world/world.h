// World: the network of one run as plain data: hosts with their NICs, switches with their ports, what links
// do to frames and when they fail. The runner makes it, and every engine takes it as it is; the live engine
// copies its tables into shared memory. What the two count is in results.h.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/link_change.h"
#include "base/units.h"
#include "emu/link/fault_config.h"
#include "irn_provider/transport/nic_config.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {

inline constexpr std::uint32_t kNoPeer = 0xffffffff;
inline constexpr std::uint32_t kMaxVfsPerHost = 32;  // virtual functions: programs at a time

inline constexpr std::uint32_t kMaxNicsPerHost = 8;

// One end of the network: a host, or where hosts have several NICs one of those, "h3.1". The NICs of a host
// stand side by side in the order of their numbers.
struct HostEntry {
  char name[32] = {};
  std::uint32_t ipv4 = 0;               // host order
  std::array<std::uint8_t, 16> ipv6{};  // beside the link-local one; zeros: none
  std::array<std::uint8_t, 6> mac{};
  std::uint16_t node = 0;                 // index in the topology (hosts first)
  std::uint16_t plane = 0;                // equal for those between which there is a way
  std::uint8_t nics = 1, nic_number = 0;  // of the host; which of them
  std::uint32_t port = 0;                 // index of the switch port that it hangs on
  NicConfig nic;
  FaultConfig to_switch;  // what the link does to frames on their way to the switch
};

struct SwitchEntry {
  char name[32] = {};
  std::uint16_t node = 0;
  std::uint32_t first_port = 0, ports = 0;  // range of World::ports; PortId = index within it
  SwitchConfig config;
};

struct PortEntry {
  char interface[16] = {};  // OVS name of the port
  std::uint32_t switch_index = 0;
  std::uint32_t port_id = 0;          // within its switch
  std::uint32_t peer_host = kNoPeer;  // a host, or
  std::uint32_t peer_port = kNoPeer;  // a PortEntry of another switch
  PortConfig config;                  // rate, delay ...
  FaultConfig to_peer;                // what the link does to frames on their way from this port
};

// The link at a switch port fails or recovers, in both directions (emu/link/link_schedule.h). A link between
// switches has an entry for each of its ends.
struct LinkChangeEntry {
  std::int64_t at_ps = 0;
  std::uint32_t port = 0;  // index of a PortEntry
  std::uint32_t up = 0;
};

static_assert(std::is_trivially_copyable_v<HostEntry> && std::is_trivially_copyable_v<SwitchEntry> &&
              std::is_trivially_copyable_v<PortEntry> && std::is_trivially_copyable_v<LinkChangeEntry>);

// A world, wherever its tables lie.
struct WorldView {
  std::span<const HostEntry> hosts;
  std::span<const SwitchEntry> switches;
  std::span<const PortEntry> ports;
  std::span<const LinkChangeEntry> link_changes;
  std::uint64_t seed = 0;
};

struct World {
  std::uint64_t seed = 0;
  std::vector<HostEntry> hosts;
  std::vector<SwitchEntry> switches;
  std::vector<PortEntry> ports;               // switch by switch
  std::vector<LinkChangeEntry> link_changes;  // in the order of time
  std::string policies;                       // of the switches: packed() of switch_policies.h
  WorldView view() const { return {hosts, switches, ports, link_changes, seed}; }
};

// Of the host: "h3" of "h3.1".
std::string_view machine_name(const HostEntry& nic);
// The first NIC of the host that is called `name`, or one of whose NICs is; null: there is none.
const HostEntry* find_machine(std::span<const HostEntry> nics, std::string_view name);

// Of the ports of a switch, in their order.
std::vector<PortConfig> port_configs(std::span<const PortEntry> all, const SwitchEntry& of);

// Smallest frame's serialisation + smallest link delay, over all links: nothing that is sent arrives earlier.
// A switch with preemption hands frames over at their last bit: the delay alone.
Duration lookahead_of(const WorldView& world);

inline constexpr std::uint32_t kQpnsPerVf = 1 << 12;
inline constexpr std::uint32_t kFirstQpn = 1 << 12;  // QPNs 0 and 1 are special: the first VF starts here
constexpr std::uint32_t first_qpn_of(std::uint32_t vf) { return kFirstQpn + vf * kQpnsPerVf; }
constexpr std::uint32_t vf_of_qpn(std::uint32_t qpn) {
  return (qpn - kFirstQpn) / kQpnsPerVf;
}  // qpn >= kFirstQpn

// Of the link at one port, in the order of time: what the NIC at its other end sees.
std::vector<LinkChange> link_changes_at(std::span<const LinkChangeEntry> changes, std::uint32_t port);

}  // namespace rocelab
