#include "emu/world/switch_frames.h"

#include "base/check.h"
#include "emu/world/host_identity.h"

namespace rocelab {
namespace {

class LinkAddresses final : public ControlAddresses {
 public:
  LinkAddresses(const WorldView& run, const PortEntry& port, bool inbound)
      : run_(run), port_(port), inbound_(inbound) {}

  MacAddress sender() const override {
    if (!inbound_) return mac_of(port_);
    if (port_.peer_port != kNoPeer) return mac_of(run_.ports[port_.peer_port]);
    RL_CHECK(port_.peer_host < run_.hosts.size());
    return run_.hosts[port_.peer_host].mac;
  }
  // Congestion points are numbered as the run's ports are (emu/runner/plan.cc).
  MacAddress point(std::uint32_t address) const override {
    const std::uint32_t index = address - kCpNetwork - 1;
    RL_CHECK(index < run_.ports.size() && run_.ports[index].config.cp_address == address);
    return mac_of(run_.ports[index]);
  }
  MacAddress mac(NodeId host) const override { return entry(host).mac; }
  std::uint32_t ipv4(NodeId host) const override { return entry(host).ipv4; }
  Gid gid(NodeId host, bool ipv6) const override {
    return gid_of(entry(host), ipv6 ? kLinkLocalGid : kIpv4Gid);
  }

 private:
  const HostEntry& entry(NodeId host) const {
    RL_CHECK(host.value < run_.hosts.size());
    return run_.hosts[host.value];
  }
  const WorldView& run_;
  const PortEntry& port_;
  bool inbound_;
};

}  // namespace

std::span<const std::byte> write_frame_of(const WorldView& run, std::uint32_t port, bool inbound,
                                          const Packet& packet, std::span<std::byte> out) {
  return write_control(packet, LinkAddresses(run, run.ports[port], inbound), out);
}

}  // namespace rocelab
