// The to_string functions of the headers: one short line each, in the words of the standards.
#include <cstdio>
#include <string>

#include "base/wire/aeth.h"
#include "base/wire/atomic_eth.h"
#include "base/wire/bth.h"
#include "base/wire/deth.h"
#include "base/wire/feth.h"
#include "base/wire/frame.h"
#include "base/wire/immdt.h"
#include "base/wire/irn.h"
#include "base/wire/opcode.h"
#include "base/wire/reth.h"
#include "base/wire/roce_packet.h"
#include "base/wire/shim.h"
#include "base/wire/xrc_eth.h"

namespace rocelab {
namespace {

std::string hex(std::uint64_t value) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}
std::string psn_text(Psn psn) {
  char text[9];
  std::snprintf(text, sizeof text, "0x%06x", psn.value());
  return text;
}

std::string opcode_text(std::uint8_t opcode) {
  const OpcodeInfo& info = opcode_info(opcode);
  return info.known() ? std::string(info.name) : "opcode " + hex(opcode);
}

std::string syndrome_text(std::uint8_t syndrome) {
  switch (aeth_type(syndrome)) {
    case AethType::kAck: {
      const auto credits = credits_of(syndrome);
      return credits ? "ACK " + std::to_string(*credits) + " credits" : "ACK";
    }
    case AethType::kRnrNak:
      return "RNR NAK " + to_string(rnr_timer(aeth_value(syndrome)));
    case AethType::kNak:
      return "NAK " + std::to_string(aeth_value(syndrome));
    case AethType::kReserved:
      break;
  }
  return "reserved syndrome " + hex(syndrome);
}

}  // namespace

std::string to_string(const Bth& bth) {
  std::string text = opcode_text(bth.opcode) + " QPN " + hex(bth.dest.value) + " PSN " + psn_text(bth.psn);
  if (bth.solicited) text += " SE";
  if (bth.ack_req) text += " AckReq";
  if (bth.fecn) text += " FECN";
  if (bth.becn) text += " BECN";
  if (bth.pad != 0) text += " pad " + std::to_string(bth.pad);
  return text;
}
std::string to_string(const Deth& deth) {
  return "DETH Q_Key " + hex(deth.qkey) + " source QPN " + hex(deth.src_qpn.value);
}
std::string to_string(const XrcEth& h) { return "XRCETH SRQ " + hex(h.srqn); }
std::string to_string(const Feth& feth) { return "FETH " + hex(feth.word); }
std::string to_string(const Reth& reth) {
  return "RETH VA " + hex(reth.va) + " R_Key " + hex(reth.rkey.value) + " length " +
         std::to_string(reth.dma_length);
}
std::string to_string(const AtomicEth& a) {
  return "AtomicETH VA " + hex(a.va) + " R_Key " + hex(a.rkey.value) + " swap/add " + hex(a.swap_or_add) +
         " compare " + hex(a.compare);
}
std::string to_string(const AtomicAckEth& a) { return "AtomicAckETH " + hex(a.original); }
std::string to_string(const Aeth& aeth) {
  return "AETH " + syndrome_text(aeth.syndrome) + " MSN " + std::to_string(aeth.msn.value);
}
std::string to_string(const ImmDt& imm) { return "ImmDt " + hex(imm.value); }
std::string to_string(const Ieth& ieth) { return "IETH R_Key " + hex(ieth.rkey.value); }
std::string to_string(const IrnSendHeader& h) {
  return "recv_WQE_SN " + std::to_string(h.recv_wqe_sn) + " offset " + std::to_string(h.offset);
}
std::string to_string(const IrnWqeSn& h) { return "WQE_SN " + std::to_string(h.sn); }
std::string to_string(const IrnSack& h) { return "SACK " + psn_text(h.psn); }
std::string to_string(const IrnBlocks& h) {
  std::string text = "for " + psn_text(h.trigger);
  for (const IrnBlocks::Block& block : h.blocks)
    if (block.first != block.end) text += ", has " + psn_text(block.first) + " to " + psn_text(block.end);
  return text;
}

std::string to_string(const RoceHeaders& r) {
  const OpcodeInfo& info = opcode_info(r.opcode);
  std::string text = opcode_text(r.opcode) + " QPN " + hex(r.dest.value) + " PSN " + psn_text(r.psn);
  if (r.solicited) text += " SE";
  if (r.ack_req) text += " AckReq";
  if (r.fecn) text += " FECN";
  if (r.becn) text += " BECN";
  const auto add = [&](Header h, const auto& header) {
    if (info.has(h)) text += ", " + to_string(header);
  };
  add(Header::kDeth, Deth{r.qkey, r.src_qpn});
  add(Header::kXrcEth, XrcEth{r.src_qpn.value});
  add(Header::kFeth, Feth{r.imm});
  add(Header::kReth, Reth{r.va, r.rkey, r.dma_length});
  add(Header::kAtomicEth, AtomicEth{r.va, r.rkey, r.swap_or_add, r.compare});
  add(Header::kAeth, Aeth{r.syndrome, r.msn});
  add(Header::kAtomicAckEth, AtomicAckEth{r.swap_or_add});
  add(Header::kIrnSend, IrnSendHeader{r.wqe_sn, r.offset});
  add(Header::kIrnWqeSn, IrnWqeSn{r.wqe_sn});
  add(Header::kIrnSack, IrnSack{r.sack});
  add(Header::kIrnBlocks, irn_blocks_of(r));
  add(Header::kImmDt, ImmDt{r.imm});
  add(Header::kIeth, Ieth{RKey{r.imm}});
  return text;
}

std::string to_string(const MacAddress& mac) {
  char text[18];
  std::snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
                mac[5]);
  return text;
}
std::string to_string(const EthernetHeader& h) {
  return to_string(h.src) + " > " + to_string(h.dst) + " EtherType " + hex(h.ether_type);
}
std::string to_string(const VlanTag& tag) {
  return "VLAN " + std::to_string(tag.vid) + " PCP " + std::to_string(tag.pcp) + (tag.dei ? " DEI" : "");
}
std::string to_string(const VlanHeader& h) { return to_string(h.tag) + " EtherType " + hex(h.ether_type); }

std::string to_string(const Ipv4Address& a) {
  return std::to_string(a[0]) + "." + std::to_string(a[1]) + "." + std::to_string(a[2]) + "." +
         std::to_string(a[3]);
}
std::string to_string(const Ipv4Header& h) {
  return "IPv4 " + to_string(h.src) + " > " + to_string(h.dst) + " DSCP " + std::to_string(h.dscp) + " ECN " +
         std::to_string(static_cast<unsigned>(h.ecn)) + " length " + std::to_string(h.total_length);
}

std::string to_string(const Ipv6Address& a) {
  if (is_ipv4_mapped(a)) return "::ffff:" + to_string(Ipv4Address{a[12], a[13], a[14], a[15]});
  // RFC 5952: the first longest run of at least two zero groups becomes "::".
  std::size_t best = 8, best_length = 1;
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t run = 0;
    while (i + run < 8 && a[2 * (i + run)] == 0 && a[2 * (i + run) + 1] == 0) ++run;
    if (run > best_length) {
      best = i;
      best_length = run;
    }
  }
  std::string text;
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == best) {
      text += "::";
      i += best_length - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ":";
    char group[5];
    std::snprintf(group, sizeof group, "%x", a[2 * i] << 8 | a[2 * i + 1]);
    text += group;
  }
  return text;
}
std::string to_string(const Ipv6Header& h) {
  return "IPv6 " + to_string(h.src) + " > " + to_string(h.dst) + " DSCP " + std::to_string(h.dscp) + " ECN " +
         std::to_string(static_cast<unsigned>(h.ecn)) + " payload " + std::to_string(h.payload_length);
}
std::string to_string(const UdpHeader& h) {
  return "UDP " + std::to_string(h.src_port) + " > " + std::to_string(h.dst_port) + " length " +
         std::to_string(h.length);
}
std::string to_string(const ShimHeader& h) {
  return "shim part " + std::to_string(h.id) + " info " + hex(h.info) + " value " +
         std::to_string(4 * h.value_words) + " B";
}

std::string to_string(FrameError error) {
  static constexpr const char* kNames[] = {"none",
                                           "too short",
                                           "not IP",
                                           "bad IP checksum",
                                           "fragment",
                                           "not RoCEv2",
                                           "length mismatch",
                                           "shim",
                                           "unknown opcode",
                                           "bad transport version",
                                           "bad pad",
                                           "bad payload",
                                           "bad ICRC",
                                           "group address and QPN differ",
                                           "bad control frame"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(FrameError::kControl) + 1);
  return kNames[static_cast<std::size_t>(error)];
}

}  // namespace rocelab
