#include "irn_provider/verbs/translate.h"

#include <arpa/inet.h>

#include <cerrno>
#include <cstring>

namespace rocelab::verbs {
namespace {

struct OpcodeRow {
  ibv_wr_opcode verbs;
  WrOpcode nic;
  bool imm, remote;
};
constexpr OpcodeRow kOpcodes[] = {
    {IBV_WR_SEND, WrOpcode::kSend, false, false},
    {IBV_WR_SEND_WITH_IMM, WrOpcode::kSendImm, true, false},
    {IBV_WR_SEND_WITH_INV, WrOpcode::kSendInvalidate, false, false},
    {IBV_WR_RDMA_WRITE, WrOpcode::kWrite, false, true},
    {IBV_WR_RDMA_WRITE_WITH_IMM, WrOpcode::kWriteImm, true, true},
    {IBV_WR_RDMA_READ, WrOpcode::kRead, false, true},
    {IBV_WR_ATOMIC_CMP_AND_SWP, WrOpcode::kCompareSwap, false, false},
    {IBV_WR_ATOMIC_FETCH_AND_ADD, WrOpcode::kFetchAdd, false, false},
    {IBV_WR_BIND_MW, WrOpcode::kBindMw, false, false},
    {IBV_WR_LOCAL_INV, WrOpcode::kLocalInvalidate, false, false},
};

const OpcodeRow* find(ibv_wr_opcode opcode) {
  for (const OpcodeRow& row : kOpcodes)
    if (row.verbs == opcode) return &row;
  return nullptr;
}

// Copies a scatter/gather list, aligned or not (libiscsi's lies in a packed struct); `total` is its length in
// bytes.
template <class Wqe>
int copy_sges(const ibv_sge* list, int count, std::uint32_t limit, Wqe& out, std::uint64_t& total) {
  if (count < 0 || static_cast<std::uint32_t>(count) > limit || count > kMaxSge) return EINVAL;
  total = 0;
  out.num_sge = static_cast<std::uint8_t>(count);
  for (int i = 0; i < count; ++i) {
    ibv_sge sge;
    std::memcpy(&sge, static_cast<const void*>(list + i), sizeof sge);
    out.sge[static_cast<std::size_t>(i)] = {.addr = sge.addr, .length = sge.length, .lkey = RKey{sge.lkey}};
    total += sge.length;
  }
  return total <= kMaxMessageBytes ? 0 : EINVAL;
}

}  // namespace

int to_wqe(const ibv_send_wr& wr, const QpInit& qp, SendWqe& out) {
  const OpcodeRow* opcode = find(wr.opcode);
  if (opcode == nullptr) return EOPNOTSUPP;
  out.wr_id = wr.wr_id;
  out.opcode = opcode->nic;
  out.signaled = qp.sq_sig_all || (wr.send_flags & IBV_SEND_SIGNALED) != 0;
  out.solicited = (wr.send_flags & IBV_SEND_SOLICITED) != 0;
  out.fence = (wr.send_flags & IBV_SEND_FENCE) != 0;
  out.inline_data = (wr.send_flags & IBV_SEND_INLINE) != 0;
  out.imm = opcode->imm ? ntohl(wr.imm_data) : 0;
  if (out.opcode == WrOpcode::kSendInvalidate || out.opcode == WrOpcode::kLocalInvalidate)
    out.imm = wr.invalidate_rkey;
  out.remote_addr = opcode->remote ? wr.wr.rdma.remote_addr : 0;
  out.rkey = RKey{opcode->remote ? wr.wr.rdma.rkey : 0};
  if (is_atomic(out.opcode)) {
    out.remote_addr = wr.wr.atomic.remote_addr;
    out.rkey = RKey{wr.wr.atomic.rkey};
    out.compare_add = wr.wr.atomic.compare_add;
    out.swap = wr.wr.atomic.swap;
  }
  std::uint64_t total = 0;
  if (const int error = copy_sges(wr.sg_list, wr.num_sge, qp.caps.max_send_sge, out, total); error != 0)
    return error;
  if (is_local(out.opcode)) {
    if (out.inline_data || out.num_sge > 0) return EINVAL;
    if (out.opcode == WrOpcode::kLocalInvalidate) return 0;
    const bool second = wr.bind_mw.mw != nullptr && wr.bind_mw.mw->type == IBV_MW_TYPE_2;
    return second ? to_bind(wr.bind_mw.mw, wr.bind_mw.rkey, wr.bind_mw.bind_info, out) : EINVAL;
  }
  if (!out.inline_data) return 0;
  return out.opcode < WrOpcode::kRead && total <= qp.caps.max_inline ? 0 : EINVAL;
}

int to_wqe(const ibv_recv_wr& wr, std::uint32_t max_sge, RecvWqe& out) {
  out.wr_id = wr.wr_id;
  std::uint64_t total = 0;
  return copy_sges(wr.sg_list, wr.num_sge, max_sge, out, total);
}

int to_bind(const ibv_mw* mw, std::uint32_t key, const ibv_mw_bind_info& info, SendWqe& out) {
  if (mw == nullptr || (info.mr == nullptr && (info.addr != 0 || info.length != 0))) return EINVAL;
  out.opcode = WrOpcode::kBindMw;
  set_binding(out, {.window = RKey{mw->rkey},
                    .key = RKey{key},
                    .region = RKey{info.mr != nullptr ? info.mr->lkey : 0},
                    .addr = info.addr,
                    .length = info.length,
                    .access = info.mw_access_flags});
  return 0;
}

void copy_inline(SendWqe& wqe, std::byte* to) {
  std::uint32_t length = 0;
  for (int i = 0; i < wqe.num_sge; ++i) {
    const Sge& part = wqe.sge[static_cast<std::size_t>(i)];
    if (part.length > 0) std::memcpy(to + length, reinterpret_cast<const void*>(part.addr), part.length);
    length += part.length;
  }
  wqe.num_sge = length > 0 ? 1 : 0;
  wqe.sge[0] = {.addr = reinterpret_cast<std::uintptr_t>(to), .length = length, .lkey = RKey{}};
}

void to_wc(const Cqe& cqe, ibv_wc& wc) {
  static constexpr ibv_wc_opcode kWcOpcodes[] = {
      IBV_WC_SEND,      IBV_WC_RDMA_WRITE, IBV_WC_RDMA_READ, IBV_WC_RECV,     IBV_WC_RECV_RDMA_WITH_IMM,
      IBV_WC_COMP_SWAP, IBV_WC_FETCH_ADD,  IBV_WC_BIND_MW,   IBV_WC_LOCAL_INV};
  wc = {};
  wc.wr_id = cqe.wr_id;
  wc.status = static_cast<ibv_wc_status>(cqe.status);  // same numbers
  wc.opcode = kWcOpcodes[static_cast<std::size_t>(cqe.opcode)];
  wc.byte_len = cqe.byte_len;
  wc.imm_data = htonl(cqe.imm);
  if (cqe.has_invalidated) wc.invalidated_rkey = cqe.imm;  // the same field
  wc.qp_num = cqe.qpn.value;
  wc.src_qp = cqe.src_qpn.value;
  wc.wc_flags = (cqe.has_imm ? unsigned{IBV_WC_WITH_IMM} : 0) | (cqe.has_grh ? unsigned{IBV_WC_GRH} : 0) |
                (cqe.has_invalidated ? unsigned{IBV_WC_WITH_INV} : 0);
  if (cqe.has_grh) wc.sl = cqe.grh_is_ipv6 ? kRoceV2Ipv6 : kRoceV2Ipv4;
}

int to_errno(PostResult result) {
  switch (result) {
    case PostResult::kOk:
      return 0;
    case PostResult::kQueueFull:
      return ENOMEM;
    case PostResult::kBadOpcode:
      return EOPNOTSUPP;
    case PostResult::kBadState:
    case PostResult::kBadSge:
    case PostResult::kBadLength:
    case PostResult::kBadHandle:
      return EINVAL;
  }
  return EINVAL;
}

const char* reason_of(PostResult result) {
  switch (result) {
    case PostResult::kOk:
      return "it is not refused";
    case PostResult::kQueueFull:
      return "the queue is full: as many requests as it was created for are under way, or not polled yet";
    case PostResult::kBadState:
      return "the queue pair's state: sends need RTS, receives INIT or later and no SRQ";
    case PostResult::kBadSge:
      return "more SGEs than the queue was created for";
    case PostResult::kBadLength:
      return "the message's length: at most 2 GiB, 8 bytes for atomics, max_inline_data inline, the path MTU "
             "by UD";
    case PostResult::kBadOpcode:
      return "a queue pair of this type, or with max_rd_atomic 0, does not do this operation";
    case PostResult::kBadHandle:
      return "the queue pair or the address handle does not exist, or is of another protection domain";
  }
  return "";
}

std::uint32_t mtu_bytes(ibv_mtu mtu) {
  return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128u << static_cast<unsigned>(mtu) : 0;
}

ibv_mtu mtu_code(std::uint32_t bytes) {
  int code = IBV_MTU_4096;
  while (code > IBV_MTU_256 && mtu_bytes(static_cast<ibv_mtu>(code)) > bytes) --code;
  return static_cast<ibv_mtu>(code);
}

}  // namespace rocelab::verbs
