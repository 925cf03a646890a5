// SentKind: the purpose of a frame on a link, by which NICs and switches count their frames (the report's
// control traffic). The BTH's opcode tells it, since a switch sees no more: a NAK of RoCE, an ACK with
// another syndrome, is an ACK; IRN's NACKs are operations of their own. Link-local frames, which only
// switches make, are told by their kind.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/packet.h"
#include "base/wire/controls.h"
#include "base/wire/opcode.h"

namespace rocelab {

// One name per line: the formatter would fill lines.
// clang-format off
#define ROCELAB_SENT_KINDS(X)                                                          \
  X(data) /* with all its headers and shims */                                         \
  X(request) /* READs and atomics */                                                   \
  X(ack)                                                                               \
  X(nack) /* of IRN: NACK, READ_NACK */                                                \
  X(cnp) /* between NICs */                                                            \
  X(feedback) /* of switches to a flow's source: RoCC's CNPs, P4QCN's FBPs, CNMs */    \
  X(escape_token)                                                                      \
  X(escape_announcement)                                                               \
  X(clcm) /* Loop Breaker's messages */                                                \
  X(bfc_pause) /* BFC's pauses of queues */                                            \
  X(pfc)                                                                               \
  X(other) /* link-local frames without a name here */
// clang-format on

enum class SentKind : std::uint8_t {
#define X(name) k_##name,
  ROCELAB_SENT_KINDS(X)
#undef X
};
#define X(name) +1
inline constexpr std::size_t kSentKinds = 0 ROCELAB_SENT_KINDS(X);
#undef X

namespace internal {
constexpr std::array<SentKind, 256> sent_kinds() {
  std::array<SentKind, 256> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const OpcodeInfo& info = opcode_info(static_cast<std::uint8_t>(i));
    SentKind& kind = kinds[i];
    if (!info.known())
      kind = SentKind::k_data;  // of another protocol
    else if (info.role == Role::kNotification)
      kind = SentKind::k_cnp;
    else if (info.has_payload)
      kind = SentKind::k_data;
    else if (info.is_request())
      kind = SentKind::k_request;
    else if (info.operation == Operation::kNack || info.operation == Operation::kReadNack)
      kind = SentKind::k_nack;
    else
      kind = SentKind::k_ack;
  }
  kinds[kNoOpcode] = SentKind::k_feedback;
  return kinds;
}
inline constexpr std::array<SentKind, 256> kSentKindOf = sent_kinds();
}  // namespace internal

// Of a frame that is routed.
inline SentKind sent_kind(const Packet& packet) { return internal::kSentKindOf[packet.roce.opcode]; }

// Of a frame that ends at the next node, or is made anew there.
constexpr SentKind link_local_kind(PacketKind kind) {
  return kind == kind_of<PfcFrame>                 ? SentKind::k_pfc
         : kind == kind_of<EscapeToken>            ? SentKind::k_escape_token
         : kind == PacketKind::kEscapeAnnouncement ? SentKind::k_escape_announcement
         : kind == kind_of<Clcm>                   ? SentKind::k_clcm
         : kind == kind_of<BfcPause>               ? SentKind::k_bfc_pause
                                                   : SentKind::k_other;
}

// Frames of one kind that a node has sent; on the wire each takes 24 bytes more.
struct SentFrames {
  std::uint64_t frames = 0, bytes = 0;
  void add(std::uint64_t length) { ++frames, bytes += length; }
};
using SentByKind = std::array<SentFrames, kSentKinds>;

}  // namespace rocelab
