// Work requests and completions, from libibverbs' words to the NIC's and back. Values in, values out; no
// state.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "irn_provider/transport/verbs_types.h"

namespace rocelab::verbs {

// 0, or the errno with which a post call refuses `wr`. Inline data: `out` names the caller's buffers still;
// see copy_inline.
// Of a UD request, where it goes is the caller's to fill in: an address handle is an object of objects.h.
int to_wqe(const ibv_send_wr& wr, const QpInit& qp, SendWqe& out);
int to_wqe(const ibv_recv_wr& wr, std::uint32_t max_sge, RecvWqe& out);

// Gathers the buffers of an inline request into `to` and makes that its only one. `to` has room for the QP's
// max_inline.
void copy_inline(SendWqe& wqe, std::byte* to);

// ibv_wc::sl of a datagram says what carried it, as mlx5 does, and UCX looks there for the GRH (IBTA annex
// A17.4.5.1 asks for the flag and gives it no place): bit 3 a UDP header, below it IPv6 or IPv4.
inline constexpr std::uint8_t kRoceV2Ipv6 = 8 | 1, kRoceV2Ipv4 = 8 | 2;
void to_wc(const Cqe& cqe, ibv_wc& wc);

// 0, or the errno with which a bind of `mw` to what `info` says, with the low byte of `key`, is refused.
int to_bind(const ibv_mw* mw, std::uint32_t key, const ibv_mw_bind_info& info, SendWqe& out);

int to_errno(PostResult result);  // 0 for kOk
const char* reason_of(PostResult result);

// Path MTU code to bytes; 0: no such code.
std::uint32_t mtu_bytes(ibv_mtu mtu);
ibv_mtu mtu_code(std::uint32_t bytes);  // the largest that fits

}  // namespace rocelab::verbs
