// Loopback: two connected RC QPs of one process on the one device, for probing what the verbs surface does.
// Packets go out to the switch and come back.
#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <cstring>
#include <string>
#include <vector>

namespace rocelab::probe {

struct LoopbackOptions {
  int cq_entries = 256;
  ibv_qp_cap cap{
      .max_send_wr = 32, .max_recv_wr = 32, .max_send_sge = 4, .max_recv_sge = 4, .max_inline_data = 64};
  bool sq_sig_all = false;
};

ibv_context* open_device();

// The attributes that take a QP to each state, as a program would fill them in; `gid` and `qpn` are the
// peer's.
ibv_qp_attr init_attr();
ibv_qp_attr rtr_attr(const ibv_gid& gid, std::uint32_t qpn);
ibv_qp_attr rts_attr();
// A UD QP, from RESET to RTS.
void ready_for_datagrams(ibv_qp* qp, std::uint32_t qkey);
inline constexpr int kInitMask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
inline constexpr int kRtrMask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
inline constexpr int kRtsMask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

class Loopback {
 public:
  explicit Loopback(const LoopbackOptions& options = {});
  ~Loopback();
  Loopback(const Loopback&) = delete;
  Loopback& operator=(const Loopback&) = delete;

  void connect();                                   // both QPs to RTS
  void connect_to(ibv_qp* qp, std::uint32_t peer);  // one, to a QP of this host
  ibv_sge sge(std::size_t offset, std::size_t length) const;
  // 0 or the errno.
  int send(ibv_wr_opcode opcode, const std::vector<ibv_sge>& from, std::size_t remote_offset = 0,
           unsigned flags = IBV_SEND_SIGNALED);
  int receive(const std::vector<ibv_sge>& into, std::uint64_t wr_id = 0);
  ibv_wc wait(ibv_cq* cq);  // polls until a completion comes

  ibv_context* context;
  ibv_pd* pd;
  ibv_comp_channel* channel;
  ibv_cq *send_cq, *recv_cq;  // of both QPs; recv_cq has the channel
  ibv_qp *a, *b;              // a sends, b receives
  std::vector<unsigned char> memory;
  ibv_mr* mr;
};

}  // namespace rocelab::probe
