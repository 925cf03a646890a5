/* Two ends of a reliable connection on plain libibverbs, for programs that run on a kernel's device and on
 * ours alike. */
#pragma once

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PORT = 18600, MTU = 1024, FIRST_PSN = 0xfffff8 };
#define ACCESS                                                                                            \
  (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC | \
   IBV_ACCESS_MW_BIND)

struct address { /* what a peer has to know */
  uint32_t qpn, rkey, seed, unused;
  uint64_t memory;
  union ibv_gid gid;
};

struct side {
  int fd; /* to the peer's program */
  struct ibv_context* context;
  struct ibv_pd* pd;
  struct ibv_cq* cq;
  struct ibv_mr* mr;
  struct ibv_qp* qp;
  void* memory;  /* registered, of the same form at both ends */
  uint32_t seed; /* told to the peer */
  uint8_t gid_index;
  struct address peer;
};

static void must(int right, const char* what) {
  if (right) return;
  printf("wrong: %s\n", what);
  exit(1);
}

/* --- between the programs */

static void tell(struct side* s, const void* data, size_t size) {
  must(send(s->fd, data, size, 0) == (ssize_t)size, "the peer's program is gone");
}
static void hear(struct side* s, void* data, size_t size) {
  must(recv(s->fd, data, size, MSG_WAITALL) == (ssize_t)size, "the peer's program is gone");
}
static void meet(struct side* s) {
  char byte = 0;
  tell(s, &byte, 1);
  hear(s, &byte, 1);
}

static int meeting_place(const char* server) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(PORT)};
  int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  if (server != NULL) {
    inet_pton(AF_INET, server, &at.sin_addr);
    must(connect(fd, (struct sockaddr*)&at, sizeof at) == 0, "Couldn't connect");
    return fd;
  }
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  must(bind(fd, (struct sockaddr*)&at, sizeof at) == 0 && listen(fd, 1) == 0, "the port is in use");
  int peer = accept(fd, NULL, NULL);
  close(fd);
  return peer;
}

/* --- the connection */

static void open_device(struct side* s, const char* name, size_t memory, int completions) {
  struct ibv_device** list = ibv_get_device_list(NULL);
  for (struct ibv_device** d = list; *d != NULL; ++d)
    if (strcmp(ibv_get_device_name(*d), name) == 0) s->context = ibv_open_device(*d);
  must(s->context != NULL, "no such device");
  s->memory = aligned_alloc(4096, (memory + 4095) / 4096 * 4096);
  s->pd = ibv_alloc_pd(s->context);
  s->cq = ibv_create_cq(s->context, completions, NULL, NULL, 0);
  s->mr = ibv_reg_mr(s->pd, s->memory, memory, ACCESS);
  must(s->pd && s->cq && s->mr, "objects");
}

static void to_ready(struct side* s) {
  struct ibv_qp_attr a = {
      .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = ACCESS & ~IBV_ACCESS_MW_BIND};
  must(ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
       "INIT");
  struct address mine = {
      .qpn = s->qp->qp_num, .rkey = s->mr->rkey, .seed = s->seed, .memory = (uintptr_t)s->memory};
  ibv_query_gid(s->context, 1, s->gid_index, &mine.gid);
  tell(s, &mine, sizeof mine);
  hear(s, &s->peer, sizeof s->peer);
  a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
                           .path_mtu = IBV_MTU_1024,
                           .dest_qp_num = s->peer.qpn,
                           .rq_psn = FIRST_PSN,
                           .max_dest_rd_atomic = 4,
                           .min_rnr_timer = 12};
  a.ah_attr = (struct ibv_ah_attr){.is_global = 1,
                                   .port_num = 1,
                                   .grh = {.dgid = s->peer.gid, .sgid_index = s->gid_index, .hop_limit = 64}};
  must(ibv_modify_qp(s->qp, &a,
                     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
       "RTR");
  a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                           .timeout = 15,
                           .retry_cnt = 7,
                           .rnr_retry = 7,
                           .sq_psn = FIRST_PSN,
                           .max_rd_atomic = 4};
  must(ibv_modify_qp(s->qp, &a,
                     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                         IBV_QP_MAX_QP_RD_ATOMIC) == 0,
       "RTS");
}

static void connect_pair(struct side* s, uint32_t requests, uint32_t inline_bytes) {
  struct ibv_qp_init_attr init = {.send_cq = s->cq,
                                  .recv_cq = s->cq,
                                  .qp_type = IBV_QPT_RC,
                                  .sq_sig_all = 1,
                                  .cap = {.max_send_wr = requests,
                                          .max_recv_wr = requests,
                                          .max_send_sge = 1,
                                          .max_recv_sge = 1,
                                          .max_inline_data = inline_bytes}};
  s->qp = ibv_create_qp(s->pd, &init);
  must(s->qp != NULL, "a queue pair");
  to_ready(s);
  meet(s);
}

static struct ibv_wc completion(struct side* s) {
  struct ibv_wc wc;
  int n = 0;
  while (n == 0) n = ibv_poll_cq(s->cq, 1, &wc);
  must(n == 1, "ibv_poll_cq");
  return wc;
}

/* --- requests */

static uint64_t there(struct side* s, const void* mine) {
  return s->peer.memory + (uint64_t)((const char*)mine - (const char*)s->memory);
}
static void post(struct side* s, struct ibv_send_wr* wr, void* data, int size) {
  struct ibv_sge sge = {.addr = (uintptr_t)data, .length = (uint32_t)size, .lkey = s->mr->lkey};
  struct ibv_send_wr* bad;
  if (size > 0) wr->sg_list = &sge, wr->num_sge = 1;
  must(ibv_post_send(s->qp, wr, &bad) == 0, "ibv_post_send");
}
static void post_receive(struct side* s, uint64_t id, void* data, uint32_t size) {
  struct ibv_sge sge = {.addr = (uintptr_t)data, .length = size, .lkey = s->mr->lkey};
  struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;
  must(ibv_post_recv(s->qp, &wr, &bad) == 0, "ibv_post_recv");
}
