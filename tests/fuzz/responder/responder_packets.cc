// The packets of a session: nearly right, so that they get past the first check, each field wrong now and
// then.
#include <cstring>

#include "base/check.h"
#include "base/wire/aeth.h"
#include "base/wire/roce_packet.h"
#include "tests/fuzz/responder/responder_session.h"

namespace rocelab::fuzz {

void ResponderSession::deliver(Packet packet) {
  ++outcome_.packets;
  if (config_.rc3.levels > 0) packet.roce.dscp = config_.rc3.dscp[in_.u8() % 4];
  packet.roce.dest = in_.one_in(128) ? Qpn{in_.u32()} : qp_;
  packet.frame_length = 64 + packet.payload_length;
  // A block of exactly this size: a sanitizer sees the first byte read beyond it.
  const auto bytes = std::make_unique<std::byte[]>(packet.payload_length);
  std::memset(bytes.get(), 0x5a, packet.payload_length);
  packet.payload = bytes.get();
  PacketRef arriving = pool_.clone(packet);
  const bool foreign = in_.one_in(32);
  if (foreign) move_elsewhere(*arriving);
  const std::uint64_t placed = memory_.placed, seen = nic_->counters().rx_packets;
  nic_->on_packet(std::move(arriving), now_);
  RL_CHECK(!foreign || (memory_.placed == placed && nic_->counters().rx_packets == seen));
  drain(2);
  poll();
}

// As a frame, or as a packet of the virtual network; the QP's path has zeros at both ends.
void ResponderSession::move_elsewhere(Packet& packet) {
  if (in_.one_in(2)) {
    packet.src = NodeId{static_cast<std::uint16_t>(1 + in_.u8())};
    return;
  }
  FrameGids ends;
  (in_.one_in(2) ? ends.src : ends.dst)[in_.u8() % 16] = static_cast<std::uint8_t>(1 + in_.u8() % 255);
  PacketPool::put_gids(packet, ends);
}

std::uint32_t ResponderSession::payload_length(const OpcodeInfo& info) {
  if (in_.one_in(128)) return in_.u16() % 4200;
  if (!info.has_payload) return 0;
  return info.ends_message() ? 1 + in_.u8() % kMtu : kMtu;
}

// Half of the packets come in order; the others near by; few from anywhere.
UnwrappedPsn ResponderSession::near(UnwrappedPsn psn) {
  if (in_.one_in(2)) return psn;
  if (in_.one_in(128)) return in_.u32() & Psn::kMask;
  return psn - 4 + in_.u8() % 32;
}

void ResponderSession::address(RoceHeaders& headers) {
  const CheckedMemory::Region& r = region();
  headers.va = r.addr + (r.length > 0 ? in_.u16() % (2 * r.length) : 0) / 4;
  headers.rkey = in_.one_in(128) ? RKey{in_.u32()} : r.key;
  if (in_.one_in(8)) headers.rkey = windows_[in_.u8() % 2];
  if (in_.one_in(32)) headers.va = in_.u8();  // of a window that counts from 0
  if (in_.one_in(128)) headers.va = in_.u64();
}

void ResponderSession::send_request() {
  constexpr Operation kOperations[] = {
      Operation::kSendFirst,          Operation::kSendMiddle,        Operation::kSendLast,
      Operation::kSendLastImm,        Operation::kSendOnly,          Operation::kSendOnlyImm,
      Operation::kWriteFirst,         Operation::kWriteMiddle,       Operation::kWriteLast,
      Operation::kWriteLastImm,       Operation::kWriteOnly,         Operation::kWriteOnlyImm,
      Operation::kReadRequest,        Operation::kReadRequest,       Operation::kSendOnly,
      Operation::kWriteOnly,          Operation::kFetchAdd,          Operation::kCompareSwap,
      Operation::kSendLastInvalidate, Operation::kSendOnlyInvalidate};
  const auto own = config_.mode == TransportMode::kIrn ? TransportClass::kIrn : TransportClass::kRc;
  Packet p;
  RoceHeaders& h = p.roce;
  h.opcode = make_opcode(own, kOperations[in_.u8() % std::size(kOperations)]);
  const OpcodeInfo& info = opcode_info(h.opcode);
  p.payload_length = payload_length(info);
  const UnwrappedPsn psn = near(peer_.request_psn);
  h.psn = wrap(psn);
  h.ack_req = in_.one_in(2);
  h.solicited = in_.one_in(4);
  address(h);
  h.dma_length = info.ends_message() ? p.payload_length : p.payload_length + 1 + in_.u8();
  if (info.operation == Operation::kReadRequest) h.dma_length = in_.u16() % 2048;
  if (info.is_atomic() && !in_.one_in(8)) h.va &= ~std::uint64_t{7};
  h.swap_or_add = in_.u8(), h.compare = in_.u8();
  if (info.has(Header::kIeth)) h.imm = in_.one_in(8) ? in_.u32() : windows_[1].value;
  if (in_.one_in(128)) h.dma_length = in_.u32();
  // One message a packet is the usual case; then numbers run ahead as PSNs do.
  const auto ahead = static_cast<std::uint32_t>(psn - peer_.request_psn);
  const bool fetches = info.operation == Operation::kReadRequest || info.is_atomic();
  h.wqe_sn = (fetches ? peer_.read_sn : peer_.receive_sn) + (in_.one_in(4) ? ahead : 0);
  h.offset = info.starts_message() ? 0 : 1 + in_.u8() % 4;
  if (in_.one_in(128)) h.wqe_sn = in_.u32() & Psn::kMask;
  if (in_.one_in(128)) h.offset = in_.u32() & Psn::kMask;
  if (fetches && psn == peer_.request_psn) ++peer_.read_sn;
  deliver(p);
}

// ACKs, NACKs and READ responses for what the NIC asked, READ_ACKs for what it answered.
void ResponderSession::send_answer() {
  constexpr Operation kOperations[] = {Operation::kAck,
                                       Operation::kNack,
                                       Operation::kReadAck,
                                       Operation::kReadNack,
                                       Operation::kAckBlocks,
                                       Operation::kReadAckBlocks,
                                       Operation::kAck,
                                       Operation::kReadResponseFirst,
                                       Operation::kReadResponseMiddle,
                                       Operation::kReadResponseLast,
                                       Operation::kReadResponseOnly,
                                       Operation::kAtomicAck};
  const auto own = config_.mode == TransportMode::kIrn ? TransportClass::kIrn : TransportClass::kRc;
  Packet p;
  RoceHeaders& h = p.roce;
  h.opcode = make_opcode(own, kOperations[in_.u8() % std::size(kOperations)]);
  const OpcodeInfo& info = opcode_info(h.opcode);
  p.kind = info.has_payload ? PacketKind::kData : PacketKind::kAck;
  p.payload_length = payload_length(info);
  const UnwrappedPsn psn = info.role == Role::kReadAck ? peer_.read_psn
                           : info.is_read_response()   ? peer_.response_psn
                                                       : peer_.sent_psn;
  h.psn = wrap(psn - (info.is_read_response() ? 0 : in_.u8() % 8) + (in_.one_in(64) ? 20 : 0));
  h.sack = wrap(psn - 1 - in_.u8() % 4);
  if (info.has(Header::kIrnBlocks)) {
    IrnBlocks said{h.sack, {}};
    for (IrnBlocks::Block& block : said.blocks)
      block = {wrap(psn - in_.u8() % 8), wrap(psn - in_.u8() % 8 + 1)};
    put_irn_blocks(h, said);
  }
  h.syndrome = in_.one_in(8) ? in_.u8() : ack_syndrome(in_.u8());
  h.msn = Msn{in_.u8()};
  deliver(p);
}

void ResponderSession::send_noise() {
  Packet p;
  RoceHeaders& h = p.roce;
  h.opcode = in_.u8();
  h.psn = Psn(in_.u32());
  h.va = in_.u64();
  h.rkey = RKey{in_.u32()};
  h.dma_length = in_.u32();
  h.syndrome = in_.u8();
  h.msn = Msn{in_.u32() & Psn::kMask};
  h.wqe_sn = in_.u32() & Psn::kMask;
  h.offset = in_.u32() & Psn::kMask;
  h.sack = Psn(in_.u32());
  h.transport_version = in_.one_in(64) ? 1 : 0;
  p.payload_length = in_.u16() % 4200;
  deliver(p);
}

}  // namespace rocelab::fuzz
