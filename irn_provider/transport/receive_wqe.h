// What the responders of all classes do with the receive WQE whose turn it is, and how all of them check a
// WRITE. Source: IBTA Vol 1, 9.9.3 (responder errors), 9.7.4.1.5 (R_Key), 10.2.9 (a WQE of an SRQ is of the
// SRQ's protection domain).
#pragma once

#include <cstdint>
#include <optional>

#include "irn_provider/transport/qp_context.h"
#include "irn_provider/transport/receive_queue.h"

namespace rocelab {

// A request is refused by this AETH syndrome, or silently for what would draw it: under which name it counts.
// RNR NAKs have their own (out_of_buffer).
using RefusalCounter = std::uint64_t NicCounters::*;
RefusalCounter refusal_counter(std::uint8_t syndrome);
inline void count_refusal(const QpContext& qp, std::uint8_t syndrome) {
  ++(qp.counters().*refusal_counter(syndrome));
}

// A QP that answers refuses a request by this AETH syndrome: counts and reports it, and fails. IBTA 9.9.3.1.1
// and 9.9.3.1.3 (classes A and C): where the message had a receive WQE, its CQE has told the program
// (`by_cqe`); where it had none, an affiliated asynchronous error does (11.6.3). What UC and UD drop (class
// D) is reported by neither.
void refuse_for_good(QpContext& qp, std::uint8_t syndrome, bool by_cqe);

// Places `length` bytes at `offset` of receive WQE `sn`, which is here.
PlaceResult place_received(const QpContext& qp, const ReceiveQueue& queue, std::uint64_t sn,
                           std::uint64_t offset, const std::byte* bytes, std::uint32_t length);

// The oldest receive WQE is consumed by the message that `cqe` tells of; its wr_id is filled in here.
void complete_receive(QpContext& qp, ReceiveQueue& queue, Cqe cqe, Time now);

// The oldest receive WQE is consumed by a message that could not be placed (`why` is not kOk). The AETH
// syndrome for those that answer; ending the QP is the caller's.
std::uint8_t fail_receive(QpContext& qp, ReceiveQueue& queue, PlaceResult why, Time now);

// The oldest receive WQE is consumed by a SEND with invalidate of which all has arrived, and which names no
// window that this peer may invalidate (memory_windows.h). As Linux rxe: the WQE
// ends with kRemInvReqErr and the QP fails, while the message itself is acknowledged (IBTA 9.9.3, class J).
void refuse_invalidate(QpContext& qp, ReceiveQueue& queue, Time now);

// Whether the peer may WRITE what the RETH in `h` names, in a region or window of `pd`; else the AETH
// syndrome of the refusal.
std::optional<std::uint8_t> refuse_write(const QpContext& qp, Pdn pd, const RoceHeaders& h);

// Places the payload of a WRITE's packet, which has some, at `va` of what `key` names. False: it does not
// allow that, or is gone. What concerns windows stands apart, so that the path that all other packets take is
// as short as without them.
[[gnu::cold, gnu::noinline]] bool place_in_window(const QpContext& qp, RKey key, Pdn pd, std::uint64_t va,
                                                  const Packet& packet);
inline bool place_written(const QpContext& qp, RKey key, Pdn pd, std::uint64_t va, const Packet& packet) {
  const auto addr = qp.nic.regions.translate(key, pd, va, packet.payload_length, kAccessRemoteWrite);
  if (!addr) [[unlikely]]
    return place_in_window(qp, key, pd, va, packet);
  qp.nic.memory.write(*addr, packet.payload, packet.payload_length);
  return true;
}

}  // namespace rocelab
