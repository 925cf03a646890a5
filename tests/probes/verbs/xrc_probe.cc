// XRC: domains, their SRQs, queue pairs of either end, and handles that are opened by number.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

ibv_xrcd* open_domain(ibv_context* context, int fd, int oflags) {
  ibv_xrcd_init_attr attr{};
  attr.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  attr.fd = fd;
  attr.oflags = oflags;
  errno = 0;
  return ibv_open_xrcd(context, &attr);
}

// An initiator and a target of one process beside the plain pair of a loopback.
struct XrcLoopback : Loopback {
  XrcLoopback() {
    xrcd = open_domain(context, -1, O_CREAT);
    srq = create_srq(IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
                     IBV_SRQ_INIT_ATTR_CQ);
    EXPECT_EQ(ibv_get_srq_num(srq, &number), 0);
    initiator = create_qp(IBV_QPT_XRC_SEND, IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
    target = create_qp(IBV_QPT_XRC_RECV, IBV_QP_INIT_ATTR_XRCD);
  }
  ~XrcLoopback() {
    EXPECT_EQ(ibv_close_xrcd(xrcd), EBUSY);
    EXPECT_EQ(ibv_destroy_qp(initiator), 0);
    if (target != nullptr) {
      EXPECT_EQ(ibv_destroy_qp(target), 0);
    }
    EXPECT_EQ(ibv_destroy_srq(srq), 0);
    EXPECT_EQ(ibv_close_xrcd(xrcd), 0);
  }
  ibv_srq* create_srq(unsigned mask) {
    ibv_srq_init_attr_ex init{};
    init.attr = {.max_wr = 8, .max_sge = 2, .srq_limit = 99};  // which creating does not heed
    init.comp_mask = mask;
    init.srq_type = IBV_SRQT_XRC;
    init.pd = pd, init.xrcd = xrcd, init.cq = recv_cq;
    errno = 0;
    return ibv_create_srq_ex(context, &init);
  }
  ibv_qp* create_qp(ibv_qp_type type, unsigned mask) {
    ibv_qp_init_attr_ex init{};
    init.qp_type = type;
    init.comp_mask = mask;
    init.pd = pd, init.xrcd = xrcd;
    init.send_cq = type == IBV_QPT_XRC_SEND ? send_cq : nullptr;
    init.cap = {
        .max_send_wr = 8, .max_recv_wr = 0, .max_send_sge = 2, .max_recv_sge = 0, .max_inline_data = 64};
    init.send_ops_flags = std::uint64_t{IBV_QP_EX_WITH_SEND} | IBV_QP_EX_WITH_SEND_WITH_IMM;
    errno = 0;
    return ibv_create_qp_ex(context, &init);
  }
  ibv_qp* open(std::uint32_t qpn, ibv_xrcd* domain, ibv_qp_type type = IBV_QPT_XRC_RECV) {
    ibv_qp_open_attr attr{};
    attr.comp_mask =
        IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_CONTEXT | IBV_QP_OPEN_ATTR_TYPE;
    attr.qp_num = qpn, attr.xrcd = domain, attr.qp_type = type, attr.qp_context = this;
    errno = 0;
    return ibv_open_qp(context, &attr);
  }
  void connect_xrc() {
    ibv_gid gid{};
    ASSERT_EQ(ibv_query_gid(context, 1, 1, &gid), 0);
    for (ibv_qp* qp : {initiator, target}) {
      const bool sends = qp == initiator;
      ibv_qp_attr init = init_attr(), rtr = rtr_attr(gid, sends ? target->qp_num : initiator->qp_num),
                  rts = rts_attr();
      ASSERT_EQ(ibv_modify_qp(qp, &init, kInitMask), 0);
      ASSERT_EQ(
          ibv_modify_qp(qp, &rtr,
                        sends ? kRtrMask & ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) : kRtrMask),
          0);
      ASSERT_EQ(ibv_modify_qp(qp, &rts, sends ? kRtsMask : IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN), 0);
    }
  }
  void post_shared(std::uint64_t wr_id, std::size_t at) {
    ibv_sge one = sge(at, 256);
    ibv_recv_wr wr{}, *bad = nullptr;
    wr.wr_id = wr_id, wr.sg_list = &one, wr.num_sge = 1;
    ASSERT_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
  }
  int post(std::uint32_t srqn, const char* text, ibv_qp* qp) {
    ibv_sge one{.addr = reinterpret_cast<std::uintptr_t>(text),
                .length = static_cast<std::uint32_t>(std::strlen(text)),
                .lkey = 0};
    ibv_send_wr wr{}, *bad = nullptr;
    wr.sg_list = &one, wr.num_sge = 1, wr.opcode = IBV_WR_SEND;
    wr.send_flags = unsigned{IBV_SEND_SIGNALED} | IBV_SEND_INLINE;
    wr.qp_type.xrc.remote_srqn = srqn;
    return ibv_post_send(qp, &wr, &bad);
  }
  ibv_xrcd* xrcd;
  ibv_srq* srq;
  std::uint32_t number = 0;
  ibv_qp *initiator, *target;
};

TEST(XrcProbe, MessagesReachTheSrqThatTheyNameAndCompleteOnItsCq) {
  XrcLoopback l;
  ibv_device_attr device{};
  ASSERT_EQ(ibv_query_device(l.context, &device), 0);
  EXPECT_NE(device.device_cap_flags & IBV_DEVICE_XRC, 0u);
  l.connect_xrc();
  l.post_shared(5, 0);
  l.post_shared(6, 1024);
  ASSERT_EQ(l.post(l.number, "posted", l.initiator), 0);
  EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_SUCCESS);
  const ibv_wc first = l.wait(l.recv_cq);
  EXPECT_EQ(first.status, IBV_WC_SUCCESS);
  EXPECT_EQ(first.wr_id, 5u);
  EXPECT_EQ(first.qp_num, l.target->qp_num);
  EXPECT_EQ(std::memcmp(l.memory.data(), "posted", 6), 0);
  ibv_qp_ex* qp = ibv_qp_to_qp_ex(l.initiator);
  ASSERT_NE(qp, nullptr);
  ibv_wr_start(qp);
  qp->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send_imm(qp, 0x01020304);
  ibv_wr_set_xrc_srqn(qp, l.number);
  ibv_wr_set_inline_data(qp, const_cast<char*>("built"), 5);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_SUCCESS);
  const ibv_wc second = l.wait(l.recv_cq);
  EXPECT_EQ(second.wr_id, 6u);
  EXPECT_EQ(second.imm_data, 0x01020304u);
  EXPECT_EQ(std::memcmp(l.memory.data() + 1024, "built", 5), 0);
}

TEST(XrcProbe, AWrongSrqNumberEndsTheConnectionAndTheTargetIsTold) {
  XrcLoopback l;
  l.connect_xrc();
  ibv_qp* other = l.open(l.target->qp_num, l.xrcd);
  ASSERT_NE(other, nullptr);
  ASSERT_EQ(l.post(l.number + 1, "lost", l.initiator), 0);
  EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_REM_ACCESS_ERR);
  for (const ibv_qp* told : {l.target, other}) {  // every handle is
    pollfd p{.fd = l.context->async_fd, .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&p, 1, 1000), 1);
    ibv_async_event event{};
    ASSERT_EQ(ibv_get_async_event(l.context, &event), 0);
    ibv_ack_async_event(&event);
    EXPECT_EQ(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
    EXPECT_EQ(event.element.qp, told);
  }
  EXPECT_EQ(ibv_destroy_qp(other), 0);
}

TEST(XrcProbe, AnOpenedTargetLivesUntilItsLastHandleGoes) {
  XrcLoopback l;
  l.connect_xrc();
  const std::uint32_t qpn = l.target->qp_num;
  ibv_xrcd* elsewhere = open_domain(l.context, -1, O_CREAT);
  EXPECT_EQ(l.open(qpn, elsewhere), nullptr) << "of another domain";
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(l.open(l.initiator->qp_num, l.xrcd), nullptr) << "only targets are shared";
  EXPECT_EQ(l.open(qpn, l.xrcd, IBV_QPT_RC), nullptr);
  EXPECT_EQ(ibv_close_xrcd(elsewhere), 0);
  ibv_qp* opened = l.open(qpn, l.xrcd);
  ASSERT_NE(opened, nullptr);
  EXPECT_EQ(opened->qp_num, qpn);
  EXPECT_EQ(opened->qp_context, &l);
  EXPECT_EQ(opened->state, IBV_QPS_RTS);
  EXPECT_EQ(ibv_destroy_qp(l.target), 0);
  l.target = opened;
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(opened, &attr, IBV_QP_AV, &init), 0);
  EXPECT_EQ(attr.dest_qp_num, l.initiator->qp_num);
  EXPECT_EQ(attr.ah_attr.is_global, 1) << "what the first handle set";
  l.post_shared(1, 0);
  ASSERT_EQ(l.post(l.number, "still there", l.initiator), 0);
  EXPECT_EQ(l.wait(l.recv_cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_destroy_qp(opened), 0);
  l.target = nullptr;
  EXPECT_EQ(l.open(qpn, l.xrcd), nullptr) << "it is gone";
}

TEST(XrcProbe, EachEndRefusesWhatIsTheOthers) {
  XrcLoopback l;
  l.connect_xrc();
  EXPECT_EQ(l.post(l.number, "", l.target), EINVAL);
  ibv_recv_wr wr{}, *bad = nullptr;
  EXPECT_EQ(ibv_post_recv(l.target, &wr, &bad), EINVAL);
  EXPECT_EQ(ibv_post_recv(l.initiator, &wr, &bad), EINVAL);
  EXPECT_EQ(l.create_qp(IBV_QPT_XRC_RECV, IBV_QP_INIT_ATTR_PD), nullptr) << "a target without a domain";
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(l.create_srq(IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD), nullptr);
  EXPECT_EQ(errno, EINVAL) << "no CQ";
  ibv_qp_init_attr plain{};
  plain.qp_type = IBV_QPT_RC, plain.send_cq = l.send_cq, plain.recv_cq = l.recv_cq, plain.srq = l.srq;
  EXPECT_EQ(ibv_create_qp(l.pd, &plain), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST(XrcProbe, ADomainOfAFileIsOneForAllThatOpenIt) {
  Loopback l;
  const int fd = memfd_create("domain", 0);  // a file with an inode of its own and no name
  ASSERT_GE(fd, 0);
  EXPECT_EQ(open_domain(l.context, fd, 0), nullptr);
  EXPECT_EQ(errno, EAGAIN) << "there is none yet";
  ibv_xrcd* first = open_domain(l.context, fd, O_CREAT | O_EXCL);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(open_domain(l.context, fd, O_CREAT | O_EXCL), nullptr);
  EXPECT_EQ(errno, EINVAL);
  ibv_xrcd* second = open_domain(l.context, fd, 0);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(open_domain(l.context, 1000, O_CREAT), nullptr);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(ibv_close_xrcd(first), 0);
  EXPECT_EQ(ibv_close_xrcd(second), 0);
  EXPECT_EQ(open_domain(l.context, fd, 0), nullptr) << "it went with its last handle";
  ibv_xrcd_init_attr incomplete{};
  incomplete.comp_mask = IBV_XRCD_INIT_ATTR_FD;
  EXPECT_EQ(ibv_open_xrcd(l.context, &incomplete), nullptr);
  EXPECT_EQ(errno, EINVAL);
  close(fd);
}

}  // namespace
}  // namespace rocelab::probe
