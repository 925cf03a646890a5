// What the connection manager takes and gives: settings, parameters of connections, events. Plain values.
// Codes of time are IBTA's: 4.096 us * 2^code.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "base/wire/cm/cm_mad.h"
#include "base/wire/cm/ip_cm.h"
#include "irn_provider/cm/cm_counters.h"

namespace rocelab::cm {

// One end of a connection, one resolution or one listener, as the consumer names it. Never 0, not reused.
using Handle = Id<struct CmHandleTag, std::uint32_t>;

Duration time_of(std::uint8_t code);  // code <= 31

struct CmConfig {
  std::uint64_t ca_guid = 0;
  // Communication IDs are first_id .. first_id + 2^id_bits - 1: processes that share a port have disjoint
  // ones.
  CommId first_id = 0;
  unsigned id_bits = 27;
  std::uint8_t max_mtu = 5;  // code; larger ones are rejected
  // As Linux rdma_cm has them.
  std::uint8_t response_timeout = 20;  // of the peer's CM, and ours: 4.3 s
  std::uint8_t max_retries = 15;
  std::uint8_t service_timeout = 24;  // told in an MRA: 69 s for the program to answer
  std::uint8_t packet_lifetime = 18;  // 1.07 s
  std::uint8_t ack_delay = 15;        // told in a REP
  std::uint8_t ack_timeout = 19;      // local ACK timeout that a REQ asks for: 2.1 s
};

struct Address {  // of an IP CM endpoint; IPv4 in the last 4 bytes
  std::uint8_t ip_version = 4;
  std::array<std::uint8_t, 16> ip{};
  std::uint16_t port = 0;
  friend bool operator==(const Address&, const Address&) = default;
};

// The addresses that a listener of the IP CM service takes requests for.
struct Destination {
  std::optional<std::uint8_t> ip_version;          // null: both
  std::optional<std::array<std::uint8_t, 16>> ip;  // null: any
  bool takes(std::uint8_t version, const std::array<std::uint8_t, 16>& address) const {
    return ip_version.value_or(version) == version && ip.value_or(address) == address;
  }
};

// Enhanced connection establishment (IBTA Vol 1 release 1.4, fields of chapter 12's messages): what both
// ends' vendors may agree on.
struct Ece {
  std::uint32_t vendor_id = 0;  // 24 bits; 0: nothing
  std::uint32_t options = 0;
  friend bool operator==(const Ece&, const Ece&) = default;
};

struct ConnectParams {
  Service service = Service::kRc;
  Gid local_gid{}, remote_gid{};
  Address local, remote;
  PortSpace space = PortSpace::kTcp;
  Qpn qpn;
  std::uint8_t mtu = 3;  // code
  std::uint8_t traffic_class = 0;
  std::uint8_t responder_resources = 0, initiator_depth = 0;
  std::uint8_t retry_count = 7, rnr_retry_count = 7;
  std::uint8_t ack_timeout = 0;  // 0: the configured one
  bool flow_control = false, srq = false;
  Ece ece;
  std::span<const std::uint8_t> private_data;  // at most kConnectPrivateBytes
};
inline constexpr std::size_t kConnectPrivateBytes = Req::kPrivateBytes - IpHeader::kSize;
inline constexpr std::size_t kResolvePrivateBytes = SidrReq::kPrivateBytes - IpHeader::kSize;

struct AcceptParams {
  Qpn qpn;
  std::uint8_t responder_resources = 0, initiator_depth = 0;
  std::uint8_t rnr_retry_count = 7;
  bool flow_control = false, srq = false;
  std::uint32_t qkey = 0;  // datagrams
  Ece ece;
  std::span<const std::uint8_t> private_data;  // at most Rep::kPrivateBytes, datagrams SidrRep::kPrivateBytes
};

enum class EventKind : std::uint8_t {
  kRequest,       // listener: REQ or SIDR_REQ; `handle` is a new endpoint
  kReply,         // active side: REP; the consumer calls establish() or reject()
  kEstablished,   // passive side: RTU
  kRejected,      // REJ, or SIDR_REP that refuses: `reason`
  kUnreachable,   // no answer
  kDisconnected,  // DREQ (answer by disconnect() or destroy()), DREP, or neither came
  kTimewaitExit,  // the QP may be used again
  kResolved,      // SIDR_REP
};

struct Event {
  EventKind kind{};
  Handle handle, listener;
  std::uint16_t reason = 0;  // RejReason or SidrStatus
  // Of the peer's REQ or REP; resources and depth as they are for this end.
  Qpn qpn;
  std::uint32_t qkey = 0;
  std::uint8_t responder_resources = 0, initiator_depth = 0, retry_count = 0, rnr_retry_count = 0;
  bool flow_control = false, srq = false;
  Ece ece;
  std::vector<std::uint8_t> private_data;  // the message's whole field: a MAD does not say how much is used
};

// For the program's QP: what the two ends agreed on.
struct QpSettings {
  Gid local_gid{}, remote_gid{};
  std::uint32_t flow_label = 0;
  std::uint8_t traffic_class = 0, hop_limit = 64, mtu = 0, ack_timeout = 0;
  Qpn remote_qpn;
  // The starting PSN of a message is where its sender's receive queue begins: what the other end is to send
  // first (Linux drivers/infiniband/core/cm.c: rq_psn of whoever sends it, sq_psn of whoever gets it).
  std::uint32_t send_psn = 0, receive_psn = 0;
  std::uint8_t responder_resources = 0, initiator_depth = 0, retry_count = 0, rnr_retry_count = 0;
};

struct OutgoingMad {
  Gid local_gid{}, remote_gid{};
  std::array<std::byte, kMadBytes> bytes{};
  bool dispensable = false;  // answers a stranger or a duplicate: whoever needs it asks again
};

}  // namespace rocelab::cm
