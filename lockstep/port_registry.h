// PortRegistry: what the processes of one host share of the RDMA IP CM service: which of them takes datagrams
// to QP1 at all, and which has bound a port of a port space. An entry is valid as long as the process that
// made it has its VF: one that dies has released its ports.
#pragma once

#include <cstdint>
#include <optional>

#include "lockstep/host_share.h"

namespace rocelab::lockstep {

class PortRegistry {
 public:
  // `vf`: of the host, which this process owns.
  PortRegistry(HostShare host, std::uint32_t vf);

  // This process takes datagrams to QP1 from now on, until its VF is given back.
  void open();
  std::uint32_t self() const { return slot_.vf; }  // within the host
  std::uint32_t open_vfs() const;                  // bit per VF of the host

  // `space` < kServiceSpaces.
  bool claim(std::uint32_t space, std::uint16_t port);  // false: another process has it
  void release(std::uint32_t space, std::uint16_t port);
  std::optional<std::uint32_t> owner(std::uint32_t space, std::uint16_t port) const;  // VF within the host

 private:
  std::atomic<std::uint64_t>& entry(std::uint32_t space, std::uint16_t port) const;
  const VfSlot* holder(std::uint64_t entry) const;  // null: nobody

  HostShare host_;
  VfSlot& slot_;
};

}  // namespace rocelab::lockstep
