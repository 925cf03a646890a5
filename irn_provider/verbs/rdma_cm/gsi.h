// Gsi: QP1 of one of this process's virtual functions: management datagrams in and out, by the NIC's own
// datagram service. Under the lock of the LiveProcess.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "irn_provider/cm/cm_types.h"
#include "irn_provider/live/live_process.h"
#include "irn_provider/nic/nic.h"
#include "irn_provider/verbs/rdma_cm/gsi_routes.h"
#include "irn_provider/verbs/rdma_cm/gsi_waiting.h"

namespace rocelab::verbs {

class Gsi {
 public:
  // Makes QP1 in `nic`; null: it has no room for it. `process` outlives it.
  static std::unique_ptr<Gsi> open(LiveProcess& process, std::size_t nic_number, Nic& nic, Time now);

  // To a GID that the process has not reached, or where too many wait: nowhere.
  void send(Nic& nic, const cm::OutgoingMad& mad, Time now);
  std::uint64_t dropped() const { return waiting_.dropped(); }  // too many waited

  struct Received {
    std::vector<std::byte> mad;
    Gid from{}, to{};
  };
  // What has come since the last call; also goes on sending.
  std::vector<Received> take(Nic& nic, Time now);

 private:
  static constexpr std::uint32_t kDepth = 128;  // datagrams in either direction that the QP holds
  static_assert(kDepth < GsiRoutes::kMost);
  static constexpr std::size_t kBufferBytes = kGrhBytes + cm::kMadBytes;
  using Mad = std::array<std::byte, cm::kMadBytes>;

  Gsi(LiveProcess& process, std::size_t nic_number) : process_(process), nic_number_(nic_number) {}
  bool make(Nic& nic, Time now);
  void post_receive(Nic& nic, std::uint32_t buffer, Time now);
  void post_waiting(Nic& nic, Time now);
  std::optional<Ahn> route(Nic& nic, const Gid& from, const Gid& to);

  LiveProcess& process_;
  const std::size_t nic_number_;
  Pdn pd_;
  Cqn send_cq_, recv_cq_;
  RKey key_;
  std::vector<std::byte> buffers_;  // of kBufferBytes each, for receiving
  std::vector<Mad> outgoing_;       // by slot, until sent
  std::vector<std::uint32_t> free_slots_;
  GsiWaiting waiting_;  // for a slot
  GsiRoutes routes_;
};

}  // namespace rocelab::verbs
