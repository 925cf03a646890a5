// Sessions of verbs calls: work requests, posted and built.
#include <algorithm>

#include "tests/fuzz/verbs/verbs_session.h"

namespace rocelab::fuzz {
namespace {

constexpr ibv_wr_opcode kOpcodes[] = {
    IBV_WR_SEND,      IBV_WR_SEND_WITH_IMM,      IBV_WR_RDMA_WRITE,           IBV_WR_RDMA_WRITE_WITH_IMM,
    IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND};
constexpr ibv_wr_opcode kRare[] = {IBV_WR_SEND_WITH_INV, IBV_WR_LOCAL_INV, IBV_WR_BIND_MW, IBV_WR_TSO};

}  // namespace

// Of the region; sometimes beyond it, or by a key that is another's.
ibv_sge VerbsSession::piece() {
  const std::uint8_t how = byte();
  const auto base = reinterpret_cast<std::uintptr_t>(region_);
  ibv_sge sge{.addr = base + word() % (kRegion - 600), .length = word() % 600, .lkey = mr_->lkey};
  if (how == 0) sge.addr = base + kRegion - 1;
  if (how == 1) sge.lkey = narrow_mr_->lkey;
  if (how == 2) sge.length = 0xffffffff;
  return sge;
}

std::uint64_t VerbsSession::remote() {
  const std::uint8_t how = byte();
  const std::uint64_t at = reinterpret_cast<std::uintptr_t>(region_) + word() % (kRegion - 4'096);
  if (how == 0) return at + kRegion;
  return how < 200 ? at & ~std::uint64_t{7} : at;
}

void VerbsSession::accepted(const std::vector<std::uint64_t>& ids) { posted_.insert(ids.begin(), ids.end()); }

// A chain of requests. The first that is refused is handed back, those before it are posted.
void VerbsSession::post_send(ibv_qp* qp) {
  std::vector<ibv_send_wr> chain(1 + byte() % 3u);
  std::vector<std::vector<ibv_sge>> lists(chain.size());
  for (std::size_t i = 0; i < chain.size(); ++i) {
    ibv_send_wr& wr = chain[i];
    wr.wr_id = next_wr_id_++;
    wr.opcode = kOpcodes[byte() % std::size(kOpcodes)];
    if (byte() < 8) wr.opcode = kRare[byte() % std::size(kRare)];
    wr.send_flags = byte() & 15u;
    if (byte() < 128) wr.send_flags &= ~unsigned{IBV_SEND_INLINE};
    for (int n = byte() % 4; n > 0; --n) lists[i].push_back(piece());
    // Inline data is read by the processor: only what is there may be named.
    if ((wr.send_flags & IBV_SEND_INLINE) != 0)
      lists[i].assign(1, {mr_->lkey, 0, 0}),
          lists[i][0] = {reinterpret_cast<std::uintptr_t>(region_), byte(), 0};
    wr.sg_list = lists[i].data();
    wr.num_sge = static_cast<int>(lists[i].size());
    const std::uint8_t whose = byte();
    const std::uint32_t rkey = whose < 250 ? mr_->rkey : whose < 252 ? narrow_mr_->rkey : window_key();
    if (wr.opcode == IBV_WR_BIND_MW) wr.bind_mw = bind_second();
    if (wr.opcode == IBV_WR_SEND_WITH_INV || wr.opcode == IBV_WR_LOCAL_INV) wr.invalidate_rkey = window_key();
    const bool local = wr.opcode == IBV_WR_BIND_MW || wr.opcode == IBV_WR_LOCAL_INV;
    if (local && byte() >= 8) wr.num_sge = 0;
    if (qp->qp_type == IBV_QPT_UD) {
      wr.wr.ud = {
          .ah = pick(ahs_), .remote_qpn = pick(qps_)->qp_num, .remote_qkey = byte() < 250 ? 0x77u : 1u};
    } else if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      wr.wr.atomic = {.remote_addr = remote(), .compare_add = byte(), .swap = byte(), .rkey = rkey};
    } else {
      wr.wr.rdma = {.remote_addr = remote(), .rkey = rkey};
    }
    if (qp->qp_type == IBV_QPT_XRC_SEND) wr.qp_type.xrc.remote_srqn = srq_number();
    wr.next = i + 1 < chain.size() ? &chain[i + 1] : nullptr;
  }
  std::vector<std::uint64_t> all;
  all.reserve(chain.size());
  for (const ibv_send_wr& wr : chain) all.push_back(wr.wr_id);
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(qp, chain.data(), &bad);
  took(error);
  if (error != 0 && (bad < chain.data() || bad > &chain.back())) complain("no request is handed back");
  if (error != 0) all.resize(static_cast<std::size_t>(bad - chain.data()));
  for (std::size_t i = 0; i < all.size(); ++i)  // programs write down the new key of a bind that was taken
    if (chain[i].opcode == IBV_WR_BIND_MW) chain[i].bind_mw.mw->rkey = chain[i].bind_mw.rkey;
  accepted(all);
}

void VerbsSession::build(ibv_qp* qp) {
  ibv_qp_ex* ex = ibv_qp_to_qp_ex(qp);
  if (ex == nullptr) return;
  std::vector<std::uint64_t> ids;
  ibv_wr_start(ex);
  for (int n = byte() % 4; n > 0; --n) {
    ids.push_back(next_wr_id_);
    build_one(ex);
  }
  if (byte() < 16) return ibv_wr_abort(ex);
  const int error = ibv_wr_complete(ex);
  took(error);
  if (error == 0) accepted(ids);
}

void VerbsSession::build_one(ibv_qp_ex* qp) {
  qp->wr_id = next_wr_id_++;
  qp->wr_flags = byte() & 7u;
  const std::uint32_t rkey = mr_->rkey;
  const std::uint8_t what = byte();
  if (what >= 240) return build_window(qp);
  switch (what % 10) {
    case 0:
      ibv_wr_send_imm(qp, word());
      break;
    case 1:
      ibv_wr_rdma_write(qp, rkey, remote());
      break;
    case 2:
      ibv_wr_rdma_write_imm(qp, rkey, remote(), word());
      break;
    case 3:
      ibv_wr_rdma_read(qp, rkey, remote());
      break;
    case 4:
      ibv_wr_atomic_cmp_swp(qp, rkey, remote(), byte(), byte());
      break;
    case 5:
      ibv_wr_atomic_fetch_add(qp, rkey, remote(), byte());
      break;
    default:
      ibv_wr_send(qp);
      break;
  }
  if (qp->qp_base.qp_type == IBV_QPT_XRC_SEND) ibv_wr_set_xrc_srqn(qp, srq_number());
  const std::uint8_t data = byte();
  const ibv_sge one = piece();
  if (data < 16) return;  // no data
  if (data < 96) return ibv_wr_set_inline_data(qp, region_, byte());
  ibv_wr_set_sge(qp, one.lkey, one.addr, one.length);
  if (qp->qp_base.qp_type == IBV_QPT_UD) ibv_wr_set_ud_addr(qp, pick(ahs_), pick(qps_)->qp_num, 0x77);
}

void VerbsSession::build_window(ibv_qp_ex* qp) {
  const std::uint8_t what = byte();
  if (what < 64) {
    ibv_wr_send_inv(qp, window_key());
  } else if (what < 128) {
    ibv_wr_local_inv(qp, window_key());
  } else if (const auto bind = bind_second(); bind.mw != nullptr) {
    ibv_wr_bind_mw(qp, bind.mw, bind.rkey, &bind.bind_info);
    bind.mw->rkey = bind.rkey;
  }
  if (qp->qp_base.qp_type == IBV_QPT_XRC_SEND) ibv_wr_set_xrc_srqn(qp, srq_number());
}

void VerbsSession::post_receive() {
  const bool shared = byte() < 100;
  ibv_recv_wr wr{}, *bad = nullptr;
  wr.wr_id = next_wr_id_++;
  std::vector<ibv_sge> list;
  for (int n = byte() % 4; n > 0; --n) list.push_back(piece());
  wr.sg_list = list.data();
  wr.num_sge = static_cast<int>(list.size());
  ibv_srq* srq = shared ? pick(srqs_) : nullptr;
  ibv_qp* qp = pick(qps_);
  if (srq == nullptr && qp == nullptr) return;
  const int error = srq != nullptr ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad);
  took(error);
  if ((error != 0) != (bad == &wr))
    complain("a request is handed back that was taken, or the other way round");
  if (error == 0) accepted({wr.wr_id});
}

}  // namespace rocelab::fuzz
