// What verbs programs and NIC exchange: work requests, completions, attributes. Plain values in the words of
// the verbs manual pages, without including infiniband/verbs.h; irn_provider/verbs translates.
#pragma once

#include <array>
#include <cstdint>

#include "base/ids.h"
#include "base/units.h"

namespace rocelab {

inline constexpr int kMaxSge = 16;
inline constexpr std::uint32_t kMaxMessageBytes = 1u << 31;  // IBTA 9.7.1

struct Sge {
  std::uint64_t addr = 0;
  std::uint32_t length = 0;
  RKey lkey;
};

struct MrBounds {
  std::uint64_t addr = 0;    // where the program has the memory
  std::uint64_t iova = 0;    // what keys and packets call its first byte
  std::uint64_t length = 0;  // bytes
};

using Ahn = Id<struct AhnTag, std::uint32_t>;      // address handle number
using Srqn = Id<struct SrqnTag, std::uint32_t>;    // shared receive queue number, 24 bits
using Xrcdn = Id<struct XrcdnTag, std::uint32_t>;  // XRC domain number

enum class WrOpcode : std::uint8_t {
  kSend,
  kSendImm,
  kSendInvalidate,
  kWrite,
  kWriteImm,
  kRead,
  kCompareSwap,
  kFetchAdd,
  kBindMw,
  kLocalInvalidate
};
constexpr bool is_atomic(WrOpcode o) { return o == WrOpcode::kCompareSwap || o == WrOpcode::kFetchAdd; }
// They bring data from the peer.
constexpr bool fetches(WrOpcode o) { return o >= WrOpcode::kRead && o <= WrOpcode::kFetchAdd; }
// They are executed here when their turn comes, and send nothing.
constexpr bool is_local(WrOpcode o) { return o >= WrOpcode::kBindMw; }
inline constexpr std::uint32_t kAtomicBytes = 8;  // what an atomic operation works on and gives back

struct SendWqe {
  std::uint64_t wr_id = 0;
  WrOpcode opcode = WrOpcode::kSend;
  bool signaled = true, solicited = false, fence = false, inline_data = false;
  std::uint32_t imm = 0;          // host order; with invalidate: the R_Key, the peer's or (local) one's own
  std::uint64_t remote_addr = 0;  // WRITE, READ, atomics
  RKey rkey;
  std::uint64_t compare_add = 0, swap = 0;  // atomics, as ibv_send_wr.wr.atomic
  Ahn ah{};                                 // UD: where to; also remote_qpn and remote_qkey
  Qpn remote_qpn{};
  std::uint32_t remote_qkey = 0;  // upper bit set: the QP's own Q_Key is sent (IBTA 10.2.5)
  Srqn remote_srqn{};             // XRC: the peer's SRQ
  std::uint8_t num_sge = 0;
  std::array<Sge, kMaxSge> sge;  // inline data: one entry that points at a copy owned by the caller until the
                                 // CQE (verbs layer keeps it)
};

// Memory windows (IBTA 10.6.7.2). Type 1 is of whoever has its R_Key in its protection domain; type 2 (2B)
// only of the QP that bound it, and its owner chooses the R_Key's low byte.
enum class MwType : std::uint8_t { k1 = 1, k2 = 2 };  // ibv_mw_type, same numbers

// What a bind says.
struct MwBinding {
  RKey window;                         // as it is named so far; its low byte does not matter
  RKey key;                            // how it will be: only its low byte is taken
  RKey region;                         // L_Key
  std::uint64_t addr = 0, length = 0;  // length 0 unbinds type 1
  std::uint32_t access = 0;            // kAccess*
  friend bool operator==(const MwBinding&, const MwBinding&) = default;
};
// A bind has neither data nor a peer: it travels in the fields of an atomic.
inline void set_binding(SendWqe& wqe, const MwBinding& b) {
  wqe.rkey = b.window, wqe.imm = b.key.value;
  wqe.remote_addr = b.addr, wqe.compare_add = b.length;
  wqe.swap = std::uint64_t{b.access} << 32 | b.region.value;
}
inline MwBinding binding_of(const SendWqe& wqe) {
  return {wqe.rkey,        RKey{wqe.imm},   RKey{static_cast<std::uint32_t>(wqe.swap)},
          wqe.remote_addr, wqe.compare_add, static_cast<std::uint32_t>(wqe.swap >> 32)};
}

struct RecvWqe {
  std::uint64_t wr_id = 0;
  std::uint8_t num_sge = 0;
  std::array<Sge, kMaxSge> sge;
};

enum class WcStatus : std::uint8_t {  // ibv_wc_status, same numbers
  kSuccess = 0,
  kLocLenErr = 1,
  kLocQpOpErr = 2,
  kLocProtErr = 4,
  kWrFlushErr = 5,
  kMwBindErr = 6,
  kBadRespErr = 7,
  kLocAccessErr = 8,
  kRemInvReqErr = 9,
  kRemAccessErr = 10,
  kRemOpErr = 11,
  kRetryExcErr = 12,
  kRnrRetryExcErr = 13,
  kFatalErr = 19,
};

enum class WcOpcode : std::uint8_t {
  kSend,
  kWrite,
  kRead,
  kRecv,
  kRecvWriteImm,
  kCompareSwap,
  kFetchAdd,
  kBindMw,
  kLocalInvalidate
};

struct Cqe {
  std::uint64_t wr_id = 0;
  WcStatus status = WcStatus::kSuccess;
  WcOpcode opcode = WcOpcode::kSend;
  bool has_imm = false;
  bool has_invalidated = false;  // by the message: the R_Key in imm
  bool solicited = false;        // the message asked for an event (or it is an error)
  std::uint32_t imm = 0;
  std::uint32_t byte_len = 0;
  Qpn qpn;
  bool has_grh = false;      // UD: the buffer begins with kGrhBytes of it, counted in byte_len
  bool grh_is_ipv6 = false;  // it is an IPv6 header; else 20 bytes and an IPv4 one (IBTA annex A17.4.5.2)
  Qpn src_qpn{};             // UD
  Time time;                 // experiment time at which it was made
};

inline constexpr std::uint32_t kGrhBytes = 40;  // global route header, IBTA 8.3

// XRC (IBTA Vol 1, annex A14) has a type for each end: initiators only send, targets only receive.
enum class QpType : std::uint8_t { kRc, kUc, kUd, kXrcIni, kXrcTgt };

enum class QpState : std::uint8_t {
  kReset,
  kInit,
  kRtr,
  kRts,
  kSqd,
  kSqe,
  kErr
};  // ibv_qp_state, same order

// IBTA 11.5.1 access rights (ibv_access_flags bits).
inline constexpr std::uint32_t kAccessLocalWrite = 1, kAccessRemoteWrite = 2, kAccessRemoteRead = 4,
                               kAccessRemoteAtomic = 8, kAccessMwBind = 16, kAccessZeroBased = 32;

// Where a QP's packets go: the address vector, resolved to what frames need.
struct PathAddress {
  std::array<std::uint8_t, 6> dst_mac{};
  std::array<std::uint8_t, 16> src_gid{}, dst_gid{};  // IPv4-mapped (::ffff:a.b.c.d) or IPv6
  std::uint16_t udp_src_port = 0xc000;
  std::uint8_t traffic_class = 0;  // IPv6/IPv4 TOS byte that the program set; 0 = the NIC's class for RoCE
  std::uint8_t hop_limit = 64;
  std::uint8_t src_gid_index = 0;
  NodeId dst_node;  // for virtual time's route tables
  friend bool operator==(const PathAddress&, const PathAddress&) = default;
  bool is_ipv4() const {
    for (int i = 0; i < 10; ++i)
      if (dst_gid[i] != 0) return false;
    return dst_gid[10] == 0xff && dst_gid[11] == 0xff;
  }
};

struct QpCaps {
  std::uint32_t max_send_wr = 0, max_recv_wr = 0, max_send_sge = 0, max_recv_sge = 0, max_inline = 0;
};

struct SrqAttr {
  std::uint32_t max_wr = 0, max_sge = 0;
  std::uint32_t limit = 0;  // an event when fewer wait; 0: not armed
};

struct QpInit {
  Pdn pd;                // XRC target: 0, its SRQs have theirs
  Cqn send_cq, recv_cq;  // XRC initiator: no recv_cq; target: neither, its SRQs have theirs
  Srqn srq{};            // 0: receive WQEs are posted to the QP
  Xrcdn xrcd{};          // XRC target: the domain of the SRQs that its peer may name
  QpCaps caps;
  bool sq_sig_all = false;
  QpType type = QpType::kRc;
  bool gsi = false;  // QP1, the general services interface: a UD QP; one of a NIC at most
};

// The attributes that modify_qp may set; the verbs layer checks the mask and the transition table.
struct QpAttr {
  QpState state = QpState::kReset;
  std::uint32_t path_mtu = 1024;  // bytes
  Qpn dest_qpn;
  std::uint32_t rq_psn = 0, sq_psn = 0;
  std::uint32_t access_flags = 0;
  std::uint32_t qkey = 0;                     // UD
  PathAddress path;                           // not UD
  std::uint8_t timeout = 14;                  // IBTA local ACK timeout: 4.096 us * 2^timeout, 0 = none
  std::uint8_t retry_cnt = 7, rnr_retry = 7;  // rnr_retry 7 = for ever
  std::uint8_t min_rnr_timer = 12;            // code of IBTA table 45
  std::uint8_t max_rd_atomic = 1, max_dest_rd_atomic = 1;
  bool notify_drained = false;  // RTS to SQD: an event when what has begun is complete
  // RC of a NIC in IRN mode: the peer does not speak IRN; go-back-N as in RoCE mode. Counts from RTR to
  // RESET.
  bool plain_roce = false;
  bool without_rc3 = false;  // the same of a peer that speaks IRN, and has no receiver of RC3's
};

// Where a QP stands, beside its attributes.
struct QpProgress {
  bool sq_draining = false;  // SQD: something that has begun is not complete
  std::uint32_t sq_psn = 0;  // next one to be sent for the first time
  std::uint32_t rq_psn = 0;  // next one expected
};

enum class PostResult : std::uint8_t {
  kOk,
  kQueueFull,
  kBadState,
  kBadSge,
  kBadLength,
  kBadOpcode,
  kBadHandle
};

}  // namespace rocelab
