// Endpoint: the state of one communication: a connection's end, a resolution or a listener. Private to this
// folder; connection_manager.h says what it is part of.
#pragma once

#include <cstdint>

#include "irn_provider/cm/cm_types.h"

namespace rocelab::cm {

// IBTA Vol 1, figures 145 and 146 (12.9.7), with the names of Linux ib_cm. MRA makes no states of its own: it
// moves a deadline.
enum class State : std::uint8_t {
  kIdle,
  kListen,
  kReqSent,
  kReqReceived,
  kRepSent,
  kRepReceived,
  kEstablished,
  kDreqSent,
  kDreqReceived,
  kTimewait,
  kSidrReqSent,
  kSidrReqReceived,
  kSidrAnswered,
};

struct Endpoint {
  Handle handle;
  State state = State::kIdle;
  bool orphan = false;  // the consumer has destroyed it; goes when it has nothing left to do
  bool active = false;  // sent the REQ
  bool was_connected = false;
  CommId local_id = 0, remote_id = 0;
  std::uint64_t transaction = 0;
  Gid local_gid{}, remote_gid{};
  Address local, remote;
  std::uint64_t remote_ca_guid = 0;
  Qpn local_qpn;
  QpSettings qp;
  std::uint8_t max_retries = 0;

  // The message that awaits its answer, or was the last answer and may be asked for again.
  CmMad last;
  Time deadline = Time::never();
  Duration wait;  // between two sendings
  unsigned retries_left = 0;

  // Listener.
  std::uint64_t service_id = 0;
  Destination destination;
  unsigned backlog = 0;  // requests that it may still take
  Handle listener;       // of a request that the consumer has not seen: whose backlog it uses
};

}  // namespace rocelab::cm
