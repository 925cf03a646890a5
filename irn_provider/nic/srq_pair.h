// For tests: two Nics whose QPs on side b take from one shared receive queue.
#pragma once

#include <vector>

#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {

class SrqPair : public NicPair {
 public:
  static constexpr std::uint32_t kPsn = 0xfffff0, kMtu = 1024, kDepth = 16;

  explicit SrqPair(TransportMode mode, QpType qp_type = QpType::kRc) : SrqPair(config_of(mode), qp_type) {}
  explicit SrqPair(const NicConfig& both, QpType qp_type) : NicPair(both) {
    type = qp_type;
    attr.timeout = 14;
    attr.qkey = 0x11111111;
    if (qp_type == QpType::kUd) attr.path_mtu = config.active_mtu;
    srq = *b.nic.create_srq(b.pd, {kDepth, 2, 0});
    add_connection();
  }
  // Another QP pair; b's takes from the same SRQ.
  std::pair<Qpn, Qpn> add_connection() {
    QpInit init;
    init.type = type;
    init.pd = b.pd, init.send_cq = b.cq, init.recv_cq = b.cq, init.srq = srq;
    init.caps = {16, 0, 2, 0, 0};
    const std::pair<Qpn, Qpn> qps{a.create_qp(1024, type), *b.nic.create_qp(init)};
    bring_up(a, qps.first, qps.second, kPsn, kPsn + 0x100);
    bring_up(b, qps.second, qps.first, kPsn + 0x100, kPsn);
    if (a.qp == Qpn{}) a.qp = qps.first, b.qp = qps.second;
    return qps;
  }
  PostResult post_shared(std::size_t to, std::uint32_t length, std::uint64_t wr_id) {
    RecvWqe w;
    w.wr_id = wr_id, w.num_sge = 1;
    w.sge[0] = {b.addr(to), length, b.key};
    return b.nic.post_srq_recv(srq, w);
  }
  void to_error(Endpoint& e, Qpn qpn) {
    QpAttr wanted = *e.nic.query_qp(qpn);
    wanted.state = QpState::kErr;
    ASSERT_TRUE(e.nic.modify_qp(qpn, wanted, now()));
  }
  // wr_ids of b's CQEs, in order, and the CQEs made so far that nobody has polled.
  std::vector<std::uint64_t> received() {
    while (const auto cqe = b.nic.poll_cq(b.cq)) b.cqes.push_back(*cqe);
    std::vector<std::uint64_t> ids;
    for (const Cqe& cqe : b.cqes) ids.push_back(cqe.wr_id);
    return ids;
  }
  std::vector<AsyncEvent> events() {
    std::vector<AsyncEvent> all;
    while (const auto event = b.nic.poll_event()) all.push_back(*event);
    return all;
  }
  Srqn srq;
};

}  // namespace rocelab
