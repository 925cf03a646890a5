// IrnResponder: what a packet would be refused for.
#include <span>

#include "base/wire/aeth.h"
#include "irn_provider/transport/irn_responder.h"
#include "irn_provider/transport/receive_wqe.h"

namespace rocelab {

IrnResponder::Verdict IrnResponder::check(const Packet& packet, const OpcodeInfo& info,
                                          UnwrappedPsn psn) const {
  // Everything before it is here: a message is not interrupted by another, nor begins in its middle (IBTA
  // 9.7.4.1.3).
  if (psn == receiver_->expected() && info.starts_message() != (psn == message_start_))
    return Verdict::kInvalidRequest;
  if (info.operation == Operation::kReadRequest) return check_read(packet, psn);
  if (info.is_atomic()) return check_atomic(packet, psn);
  const std::uint32_t length = packet.payload_length;
  const bool empty_allowed = info.position == Position::kOnly;
  if (length > mtu() || (!info.ends_message() && length != mtu()) || (length == 0 && !empty_allowed))
    return Verdict::kInvalidRequest;
  if (info.is_send()) return check_send(packet, info, psn);
  return info.is_write() ? check_write(packet, info, psn) : Verdict::kInvalidRequest;
}

// A message takes at least one PSN, so that the WQE numbers of packets run ahead no faster than their PSNs.
bool IrnResponder::within_reach(std::int64_t sn, UnwrappedPsn psn) const {
  const auto ahead = sn - static_cast<std::int64_t>(receive_queue_.head());
  return ahead >= 0 && ahead <= psn - receiver_->expected();
}

IrnResponder::Verdict IrnResponder::check_receive_wqe(std::int64_t sn, UnwrappedPsn psn) const {
  if (!within_reach(sn, psn)) return Verdict::kInvalidRequest;
  return receive_queue_.fetch(static_cast<std::uint64_t>(sn)) ? Verdict::kAccept : Verdict::kRnr;
}

IrnResponder::Verdict IrnResponder::check_send(const Packet& packet, const OpcodeInfo& info,
                                               UnwrappedPsn psn) const {
  if (info.starts_message() != (packet.roce.offset == 0)) return Verdict::kInvalidRequest;
  const std::int64_t sn = receive_sn(packet);
  if (const Verdict v = check_receive_wqe(sn, psn); v != Verdict::kAccept) return v;
  const RecvWqe& wqe = receive_queue_.at(static_cast<std::uint64_t>(sn));
  const std::span<const Sge> list(wqe.sge.data(), wqe.num_sge);
  const std::uint64_t end = std::uint64_t{packet.roce.offset} * mtu() + packet.payload_length;
  if (end > total_length(list)) return Verdict::kTooLong;
  const MemoryView view = qp_.view(receive_queue_.pd());
  return list_is_valid(view, list, kAccessLocalWrite) ? Verdict::kAccept : Verdict::kLocalProtection;
}

IrnResponder::Verdict IrnResponder::check_write(const Packet& packet, const OpcodeInfo& info,
                                                UnwrappedPsn psn) const {
  const RoceHeaders& h = packet.roce;
  const bool whole =
      h.dma_length == packet.payload_length;  // RETH names what is left of the message (base/wire/irn.h)
  if (whole != info.ends_message() || h.dma_length < packet.payload_length || h.dma_length > kMaxMessageBytes)
    return Verdict::kInvalidRequest;
  if (const auto refusal = refuse_write(qp_, qp_.init.pd, h))
    return *refusal == kNakRemoteAccess ? Verdict::kRemoteAccess : Verdict::kInvalidRequest;
  if (!info.has_imm()) return Verdict::kAccept;
  const std::int64_t sn = receive_sn(packet);
  // Of an SRQ its WQE is dequeued when all of the message is here (Mittal, 4.4.4).
  if (receive_queue_.is_shared() && psn != receiver_->expected())
    return within_reach(sn, psn) ? Verdict::kAccept : Verdict::kInvalidRequest;
  return check_receive_wqe(sn, psn);
}

IrnResponder::Verdict IrnResponder::check_read(const Packet& packet, UnwrappedPsn psn) const {
  const RoceHeaders& h = packet.roce;
  if (h.dma_length > kMaxMessageBytes || !read_slot_free(packet, psn)) return Verdict::kInvalidRequest;
  if ((qp_.attr.access_flags & kAccessRemoteRead) == 0) return Verdict::kInvalidRequest;
  const bool allowed =
      h.dma_length == 0 || qp_.find_remote(h.rkey, qp_.init.pd, h.va, h.dma_length, kAccessRemoteRead);
  return allowed ? Verdict::kAccept : Verdict::kRemoteAccess;
}

// A message takes at least one PSN: numbers run ahead no faster than PSNs.
bool IrnResponder::read_slot_free(const Packet& packet, UnwrappedPsn psn) const {
  const std::int64_t sn = read_sn(packet);
  return packet.payload_length == 0 && reads_.fits(sn) &&
         sn - reads_.next_sn() <= psn - receiver_->expected();
}

// Executed later, when everything before it has arrived (Mittal, 4.4.3); refused now if it never could be.
IrnResponder::Verdict IrnResponder::check_atomic(const Packet& packet, UnwrappedPsn psn) const {
  const RoceHeaders& h = packet.roce;
  if (!read_slot_free(packet, psn) || (qp_.attr.access_flags & kAccessRemoteAtomic) == 0)
    return Verdict::kInvalidRequest;
  const auto addr = qp_.find_remote(h.rkey, qp_.init.pd, h.va, kAtomicBytes, kAccessRemoteAtomic);
  if (!addr) return Verdict::kRemoteAccess;
  return h.va % kAtomicBytes == 0 && *addr % kAtomicBytes == 0 ? Verdict::kAccept : Verdict::kInvalidRequest;
}

}  // namespace rocelab
