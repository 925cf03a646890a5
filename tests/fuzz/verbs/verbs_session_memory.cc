// Sessions of verbs calls: memory windows, a region that is registered anew, parent domains.
#include <cerrno>

#include "tests/fuzz/verbs/verbs_session.h"

namespace rocelab::fuzz {

void VerbsSession::change_memory(std::uint8_t how) {
  if (how < 246) return bind_first();
  if (how < 250) return change_windows();
  if (how < 253) return reregister();
  change_parents();
}

// Mostly what can be bound.
ibv_mw_bind_info VerbsSession::bind_info() {
  const std::uint8_t how = byte();
  ibv_mw_bind_info info{.mr = how == 0  ? nullptr
                              : how < 4 ? narrow_mr_
                              : how < 8 ? mr_
                                        : moving_mr_,
                        .addr = reinterpret_cast<std::uintptr_t>(moving_mr_->addr),
                        .length = moving_mr_->length,
                        .mw_access_flags = byte() & 14u};
  if (how >= 128) info.addr += word() % kRegion, info.length = word() % 2'048;
  if (how == 255) info.mw_access_flags = word();
  if (how == 254) info.length = ~std::uint64_t{0} - byte();
  if (how % 16 == 9) info.mw_access_flags |= IBV_ACCESS_ZERO_BASED;
  return info;
}

// For a request; null when there is no window.
VerbsSession::Bind VerbsSession::bind_second() {
  ibv_mw* mw = pick(windows_);
  return {mw, mw != nullptr ? (mw->rkey & ~0xffu) | byte() : 0, bind_info()};
}

std::uint32_t VerbsSession::window_key() {
  const ibv_mw* mw = pick(windows_);
  return mw != nullptr ? mw->rkey : word();
}

void VerbsSession::bind_first() {
  ibv_qp* qp = pick(qps_);
  ibv_mw* mw = pick(windows_);
  if (qp == nullptr || mw == nullptr) return;
  ibv_mw_bind bind{.wr_id = next_wr_id_++, .send_flags = byte() & 3u, .bind_info = bind_info()};
  if (byte() < 4) bind.send_flags = byte();
  const std::uint32_t before = mw->rkey;
  const int error = ibv_bind_mw(qp, mw, &bind);
  took(error);
  if (error == 0) accepted({bind.wr_id});
  if (mw->rkey != (error == 0 ? ibv_inc_rkey(before) : before)) complain("a bind leaves a strange key");
}

void VerbsSession::change_windows() {
  errno = 0;
  if (windows_.size() < kObjects && byte() < 128) {
    const std::uint8_t how = byte();
    const auto type = how < 250 ? static_cast<ibv_mw_type>(1 + how % 2) : static_cast<ibv_mw_type>(how % 4);
    return keep(windows_, ibv_alloc_mw(how < 240 ? pd_ : how < 245 ? parent_ : other_pd_, type));
  }
  if (windows_.empty()) return;
  const auto at = windows_.begin() + byte() % static_cast<int>(windows_.size());
  if (ibv_dealloc_mw(*at) != 0) complain("a window is not freed");
  windows_.erase(at);
}

// Anywhere in the region, or nowhere.
void VerbsSession::reregister() {
  const std::uint8_t how = byte();
  const std::size_t from = word() % kRegion;
  void* at = how == 0 ? nullptr : region_ + from;
  const std::size_t length = how == 1 ? word() : word() % (kRegion - from + 1);
  const int access = byte() < 200 ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND : byte();
  const int flags = byte() < 240 ? 1 + how % 7 : byte();
  if (from + length > kRegion) return;  // it would be allowed, and guard bytes be written
  ibv_pd* const pd = byte() < 200 ? pd_ : other_pd_;
  const bool says = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0 || byte() < 8;
  errno = 0;
  const int result = ibv_rereg_mr(moving_mr_, flags, pd, at, length, says ? access : 0);
  ++counts_.calls;
  if (result == 0) ++counts_.reregistered;
  if (result != 0) ++counts_.refused;
  if (result != 0 && (result != IBV_REREG_MR_ERR_INPUT || errno <= 0))
    complain("a region that was not registered anew does not say why");
}

void VerbsSession::change_parents() {
  errno = 0;
  if (parents_.size() < kObjects && byte() < 160) {
    const std::uint8_t how = byte();
    ibv_parent_domain_init_attr attr{};
    attr.pd = how < 8 ? nullptr : how < 16 ? parent_ : how < 64 ? other_pd_ : pd_;
    attr.td = (how & 1) != 0 ? td_ : nullptr;
    if (how >= 250) attr.comp_mask = byte();
    return keep(parents_, ibv_alloc_parent_domain(context_, &attr));
  }
  if (parents_.empty()) return;
  if (ibv_dealloc_pd(pd_) != EBUSY || ibv_dealloc_td(td_) != EBUSY)
    complain("a domain goes before those that stand for it");
  const auto at = parents_.begin() + byte() % static_cast<int>(parents_.size());
  if (ibv_dealloc_pd(*at) != 0) complain("a parent domain is not freed");
  parents_.erase(at);
}

}  // namespace rocelab::fuzz
