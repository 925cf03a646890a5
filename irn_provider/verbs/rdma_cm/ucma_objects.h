// What the rdma_cm device keeps: open files, identifiers, events that wait. Under the lock of the
// LiveProcess.
#pragma once

#include <rdma/rdma_user_cm.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "irn_provider/cm/cm_types.h"
#include "irn_provider/verbs/libc/event_fd.h"
#include "irn_provider/verbs/rdma_cm/port_bindings.h"

namespace rocelab::verbs {

// rdma_cm_event_type of rdma/rdma_cma.h, which cannot be included beside rdma_user_cm.h.
enum UcmaEventType : std::uint32_t {
  kAddrResolved = 0,
  kAddrError = 1,
  kRouteResolved = 2,
  kConnectRequest = 4,
  kConnectResponse = 5,
  kUnreachable = 7,
  kRejected = 8,
  kEstablished = 9,
  kDisconnected = 10,
  kMulticastJoin = 12,
  kTimewaitExit = 15,
  kUser = 18,
  kInternal = 19,
};

// rdma_ucm_write_cm_event of later kernels' rdma_user_cm.h, as far as its argument goes.
inline constexpr std::uint32_t kCmdWriteCmEvent = 24;
struct WriteCmEvent {
  std::uint32_t id, reserved, event, status;
  std::uint64_t arg;
};

struct UcmaFile;

// rdma_cm_id's other half.
struct UcmaId {
  std::uint32_t number = 0;
  std::uint64_t uid = 0;  // the library's name for it
  UcmaFile* file = nullptr;
  cm::PortSpace space = cm::PortSpace::kTcp;
  std::uint8_t qp_type = 0;  // ibv_qp_type
  std::size_t nic = 0;       // of the process: its device, once it has one
  cm::Handle handle;         // in that NIC's connection manager; value 0: none
  // Of a listener at any address: in the managers of the other NICs, by number from 1.
  std::vector<cm::Handle> elsewhere;
  PortOwner port;  // when bound
  bool bound = false;
  cm::Address local, remote;
  Gid local_gid{}, remote_gid{};
  bool has_device = false;  // bound to the host's address, not to any
  bool has_remote = false, has_route = false, listening = false, connecting = false;
  std::optional<std::uint32_t> agreed;  // a connection: kEceIrn, kEceRc3, as both ends said
  Qpn remote_qpn;                       // of a connection, when known
  std::uint32_t qkey = 0;
  std::uint32_t events_reported = 0;
  // Options.
  std::uint8_t tos = 0, ack_timeout = 0;
  std::optional<bool> family_only;  // RDMA_OPTION_ID_AFONLY
};

// Of a multicast group.
struct Membership {
  std::uint32_t id = 0;   // of the identifier that joined; ends with it
  std::uint64_t uid = 0;  // the library's name for it
  Gid group{};
  std::uint32_t events_reported = 0;
};

struct UcmaEvent {
  std::uint32_t id = 0;          // whose it is: destroyed with it, counted for it
  std::uint32_t created = 0;     // of a connection request: the identifier that came with it
  std::uint32_t membership = 0;  // of a join
  rdma_ucm_event_resp response{};
};

// An open /dev/infiniband/rdma_cm: librdmacm's event channel.
struct UcmaFile {
  libc::EventFd events;  // one per entry of `ready`
  std::deque<UcmaEvent> ready;
};

// RDMA_UDP_QKEY of Linux: of datagram QPs that rdma_cm sets up.
inline constexpr std::uint32_t kUdpQkey = 0x01234567;

// Enhanced connection establishment between two of us (docs/reference/wire.md): this vendor, and what it may
// agree on.
inline constexpr std::uint32_t kEceVendor = 0x02726c;
inline constexpr std::uint32_t kEceIrn = 1;  // selective retransmission, wire version 1
inline constexpr std::uint32_t kEceRc3 = 2;  // and a receiver of RC3's, with the same levels

}  // namespace rocelab::verbs
