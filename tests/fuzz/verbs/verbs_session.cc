#include "tests/fuzz/verbs/verbs_session.h"

#include <fcntl.h>
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace rocelab::fuzz {

void complain(const char* what) {
  std::fprintf(stderr, "verbs session: %s\n", what);
  std::abort();
}

VerbsSession::VerbsSession(std::span<const std::uint8_t> bytes)
    : bytes_(bytes),
      destroys_(bytes.size() % 4 != 3),
      memory_(kRegion + 2 * kGuard, 0x5a),
      region_(memory_.data() + kGuard) {
  ibv_device** list = ibv_get_device_list(nullptr);
  context_ = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  if (context_ == nullptr) complain("no device");
  pd_ = ibv_alloc_pd(context_);
  other_pd_ = ibv_alloc_pd(context_);
  channel_ = ibv_create_comp_channel(context_);
  ibv_xrcd_init_attr domain{};
  domain.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  domain.fd = -1;
  domain.oflags = O_CREAT;
  xrcd_ = ibv_open_xrcd(context_, &domain);
  other_xrcd_ = ibv_open_xrcd(context_, &domain);
  if (xrcd_ == nullptr || other_xrcd_ == nullptr) complain("no XRC domain");
  fcntl(channel_->fd, F_SETFL, fcntl(channel_->fd, F_GETFL) | O_NONBLOCK);
  fcntl(context_->async_fd, F_SETFL, fcntl(context_->async_fd, F_GETFL) | O_NONBLOCK);
  constexpr int kAccess =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  mr_ = ibv_reg_mr(pd_, region_, kRegion, kAccess);
  narrow_mr_ = ibv_reg_mr(other_pd_, region_, kRegion / 2, IBV_ACCESS_REMOTE_READ);
  moving_mr_ = ibv_reg_mr(pd_, region_, kRegion, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  if (mr_ == nullptr || narrow_mr_ == nullptr || moving_mr_ == nullptr) complain("no memory region");
  ibv_td_init_attr thread{};
  td_ = ibv_alloc_td(context_, &thread);
  ibv_parent_domain_init_attr parent{};
  parent.pd = pd_, parent.td = td_;
  parent_ = ibv_alloc_parent_domain(context_, &parent);
  if (td_ == nullptr || parent_ == nullptr) complain("no parent domain");
  for (const ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) windows_.push_back(ibv_alloc_mw(pd_, type));
}

VerbsSession::~VerbsSession() {
  wait();
  take_events();
  if (destroys_) destroy_all();
  if (ibv_close_device(context_) != 0) complain("a device is not closed");
  check_guards();
}

void VerbsSession::destroy_all() {
  const auto gone = [](int error) {
    if (error != 0) complain("an object that nothing uses is not destroyed");
  };
  for (ibv_qp* qp : qps_) gone(ibv_destroy_qp(qp));
  qps_.clear();  // completions of theirs may still wait
  for (ibv_srq* srq : srqs_) gone(ibv_destroy_srq(srq));
  gone(ibv_close_xrcd(other_xrcd_));
  gone(ibv_close_xrcd(xrcd_));
  for (ibv_cq* cq : cqs_) {
    poll(cq);
    gone(ibv_destroy_cq(cq));
  }
  for (ibv_ah* ah : ahs_) gone(ibv_destroy_ah(ah));
  for (ibv_mw* window : windows_) gone(ibv_dealloc_mw(window));
  gone(ibv_dereg_mr(moving_mr_));
  gone(ibv_dereg_mr(narrow_mr_));
  gone(ibv_dereg_mr(mr_));
  gone(ibv_destroy_comp_channel(channel_));
  for (ibv_pd* parent : parents_) gone(ibv_dealloc_pd(parent));
  gone(ibv_dealloc_pd(parent_));
  gone(ibv_dealloc_td(td_));
  gone(ibv_dealloc_pd(other_pd_));
  gone(ibv_dealloc_pd(pd_));
}

std::uint8_t VerbsSession::byte() {
  if (bytes_.empty()) return 0;
  const std::uint8_t value = bytes_.front();
  bytes_ = bytes_.subspan(1);
  return value;
}

void VerbsSession::run() {
  while (!bytes_.empty()) step();
}

void VerbsSession::step() {
  const std::uint8_t what = byte() % 16;
  if (what < 2) return create();
  if (what == 2) return destroy();
  if (what < 6) return change();
  if (what < 8) return post_receive();
  if (what == 14) return wait();
  if (what == 15) return take_events();
  if (what >= 12) {
    if (ibv_cq* cq = pick(cqs_)) poll(cq);
    return;
  }
  ibv_qp* qp = pick(qps_);
  if (qp == nullptr) return;
  if (what < 10)
    post_send(qp);
  else
    build(qp);
}

void VerbsSession::took(int error) {
  ++counts_.calls;
  if (error < 0) complain("a call answered with a negative number");
  if (error != 0) ++counts_.refused;
}

void VerbsSession::note(std::uint64_t wr_id, ibv_wc_status status, ibv_wc_opcode opcode, unsigned flags,
                        std::uint32_t qpn) {
  ++counts_.completions;
  const auto of = std::ranges::find(qps_, qpn, [](const ibv_qp* qp) { return qp->qp_num; });
  if (status == IBV_WC_SUCCESS && of != qps_.end() && (*of)->qp_type == IBV_QPT_XRC_RECV) ++counts_.xrc;
  if (status != IBV_WC_SUCCESS) ++counts_.errors;
  if (status == IBV_WC_SUCCESS && opcode == IBV_WC_BIND_MW) ++counts_.binds;
  if (status == IBV_WC_SUCCESS && (flags & IBV_WC_WITH_INV) != 0) ++counts_.invalidated;
  if (posted_.erase(wr_id) == 0) complain("a completion of no request, or a second one");
}

// By either interface, whatever the CQ was created as.
void VerbsSession::poll(ibv_cq* cq) {
  check_guards();
  ibv_wc wc[4];
  if (!extended_.contains(cq)) {
    const int n = ibv_poll_cq(cq, 4, wc);
    if (n < 0 || n > 4) complain("poll_cq");
    for (int i = 0; i < n; ++i) note(wc[i].wr_id, wc[i].status, wc[i].opcode, wc[i].wc_flags, wc[i].qp_num);
    return;
  }
  ibv_cq_ex* ex = reinterpret_cast<ibv_cq_ex*>(cq);
  ibv_poll_cq_attr attr{};
  if (ibv_start_poll(ex, &attr) != 0) return;
  do {
    note(ex->wr_id, ex->status, ibv_wc_read_opcode(ex), ibv_wc_read_wc_flags(ex), ibv_wc_read_qp_num(ex));
    if (ibv_wc_read_qp_num(ex) == 0) complain("a completion of no queue pair");
    static_cast<void>(ibv_wc_read_completion_ts(ex));
  } while (ibv_next_poll(ex) == 0);
  ibv_end_poll(ex);
}

void VerbsSession::take_events() {
  ibv_async_event event{};
  while (ibv_get_async_event(context_, &event) == 0) {
    ++counts_.events;
    ibv_ack_async_event(&event);
  }
  ibv_cq* cq = nullptr;
  void* of_cq = nullptr;
  while (ibv_get_cq_event(channel_, &cq, &of_cq) == 0) {
    ++counts_.events;
    ibv_ack_cq_events(cq, 1);
  }
}

void VerbsSession::check_guards() const {
  for (std::size_t i = 0; i < kGuard; ++i)
    if (memory_[i] != 0x5a || memory_[kGuard + kRegion + i] != 0x5a)
      complain("something was written outside of the registered memory");
}

void VerbsSession::wait() {
  const timespec time{.tv_sec = 0, .tv_nsec = 1'000L * (1 + byte())};
  nanosleep(&time, nullptr);
}

}  // namespace rocelab::fuzz
