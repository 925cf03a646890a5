/* Threads that wait for a completion event are cancelled, as libiscsi ends its own, and threads that send,
   which must not end in the midst of that; then an event comes. One RC queue pair, connected with itself.
   Exit status 0: each thread ended, and the event was there. */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK(what) \
  if (!(what)) fprintf(stderr, "line %d: %s\n", __LINE__, #what), exit(1)

enum { kThreads = 20, kPort = 1, kGid = 1 };

static char buffer[64];

static void* wait_for_an_event(void* channel) {
  struct ibv_cq* cq;
  void* context;
  ibv_get_cq_event(channel, &cq, &context);
  return NULL;
}

struct Sender {
  struct ibv_qp* qp;
  struct ibv_cq* cq;
};
/* Empty RDMA WRITEs, one after the other. No call in here is a cancellation point but the last. */
static void* send_for_ever(void* sender) {
  struct Sender* s = sender;
  for (;;) {
    struct ibv_send_wr write = {.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED}, *bad;
    struct ibv_wc wc;
    CHECK(ibv_post_send(s->qp, &write, &bad) == 0);
    while (ibv_poll_cq(s->cq, 1, &wc) == 0) continue;
    CHECK(wc.status == IBV_WC_SUCCESS);
    pthread_testcancel();
  }
}

/* On the stack of a thread that has ended: what it left there is no more. */
static void* overwrite_the_stack(void* unused) {
  volatile char all[32768];
  for (unsigned i = 0; i < sizeof all; ++i) all[i] = 0;
  return unused;
}

static void connect_with_itself(struct ibv_context* device, struct ibv_qp* qp) {
  union ibv_gid gid;
  CHECK(ibv_query_gid(device, kPort, kGid, &gid) == 0);
  struct ibv_qp_attr init = {
      .qp_state = IBV_QPS_INIT, .port_num = kPort, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
  CHECK(ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
  struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = qp->qp_num};
  rtr.ah_attr.is_global = 1, rtr.ah_attr.port_num = kPort;
  rtr.ah_attr.grh.dgid = gid, rtr.ah_attr.grh.sgid_index = kGid, rtr.ah_attr.grh.hop_limit = 64;
  CHECK(ibv_modify_qp(qp, &rtr,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
  struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7};
  CHECK(ibv_modify_qp(qp, &rts,
                      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                          IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

int main(void) {
  struct ibv_device** devices = ibv_get_device_list(NULL);
  CHECK(devices != NULL && devices[0] != NULL);
  struct ibv_context* device = ibv_open_device(devices[0]);
  CHECK(device != NULL);
  struct ibv_comp_channel* channel = ibv_create_comp_channel(device);
  struct ibv_cq* cq = ibv_create_cq(device, 16, NULL, channel, 0);
  struct ibv_pd* pd = ibv_alloc_pd(device);
  struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
  CHECK(channel != NULL && cq != NULL && mr != NULL);
  struct ibv_qp_init_attr wanted = {
      .send_cq = cq,
      .recv_cq = cq,
      .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
      .qp_type = IBV_QPT_RC};
  struct ibv_qp* qp = ibv_create_qp(pd, &wanted);
  CHECK(qp != NULL);
  connect_with_itself(device, qp);
  struct Sender sender = {qp, cq};
  for (int i = 0; i < kThreads; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, send_for_ever, &sender) == 0);
    usleep(2000);
    CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, NULL) == 0);
  }
  CHECK(ibv_req_notify_cq(cq, 0) == 0);

  for (int i = 0; i < kThreads; ++i) {
    pthread_t thread;
    void* result = NULL;
    CHECK(pthread_create(&thread, NULL, wait_for_an_event, channel) == 0);
    usleep(1000 * i); /* sleeps by now, or not yet */
    CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
    CHECK(result == PTHREAD_CANCELED);
    CHECK(pthread_create(&thread, NULL, overwrite_the_stack, NULL) == 0 && pthread_join(thread, NULL) == 0);
  }

  struct ibv_sge half = {.addr = (uintptr_t)buffer, .length = 32, .lkey = mr->lkey};
  struct ibv_recv_wr receive = {.sg_list = &half, .num_sge = 1}, *bad_receive;
  struct ibv_send_wr send = {.sg_list = &half, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad_send;
  CHECK(ibv_post_recv(qp, &receive, &bad_receive) == 0 && ibv_post_send(qp, &send, &bad_send) == 0);
  wait_for_an_event(channel);
  struct ibv_wc wc;
  CHECK(ibv_poll_cq(cq, 1, &wc) == 1 && wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV);
  puts("all cancelled");
  return 0;
}
