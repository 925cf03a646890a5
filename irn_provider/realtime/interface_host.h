// The host that a network interface makes: its MAC, IPv4 address and MTU, and what the environment says of
// its RNIC; or the programs of one machine that use shared memory of one name: 127.0.0.1, or the address that
// the name is followed by, and a MAC made from the name. Nothing is opened or claimed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "emu/world/world.h"

namespace rocelab::direct {

// No interface has a colon in its name.
inline constexpr std::string_view kSharedMemory = "shm:";
inline constexpr std::size_t kLongestName = 24;

struct Settings {
  std::string interface;      // or kSharedMemory and a name
  std::uint32_t address = 0;  // of shared memory, host order; 0: 127.0.0.1
  TransportMode mode = TransportMode::kRoce;
  std::uint32_t window = 0;  // packets in flight per QP at most; 0: the mode's default
  bool on_interface() const { return !interface.starts_with(kSharedMemory); }
};

// What programs on the same interface, or of the same name, have in common.
std::string key_of(const Settings& settings);
// The interface is up and has a carrier; shared memory always has.
bool link_up(const Settings& settings);

// ROCELAB_INTERFACE (a name, or shm:NAME[,address=IPV4]), ROCELAB_TRANSPORT (roce or irn), ROCELAB_WINDOW
// (packets). Throws std::runtime_error
// with a line that says what is wrong.
Settings settings_from_environment();

// Throws std::runtime_error: no such interface, it is down, no Ethernet, no IPv4 address, MTU below 1 KB; or
// a name of shared memory that is empty, too long, or has other characters than letters, digits, '.', '_',
// '-'.
HostEntry host_of(const Settings& settings);

// The largest path MTU (IBTA 11.2.2) whose frames fit an interface of this MTU, as Linux chooses it; 0: none.
std::uint32_t active_mtu_of(std::uint32_t interface_mtu);

// The RNIC's parameters where no scenario gives them.
NicConfig nic_config_of(const Settings& settings, std::uint32_t active_mtu);

}  // namespace rocelab::direct
