/* "serve ADDRESS" receives a message at a time: it polls until the message is there, then computes for a
   while, and calls nothing of the library. Another thread of it waits for an asynchronous event. "call
   ADDRESS" sends the messages, one RC queue pair to the other without a timeout, and prints how long it took
   at most until one was acknowledged. */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CHECK(what) \
  if (!(what)) fprintf(stderr, "line %d: %s\n", __LINE__, #what), exit(1)

enum { kMessages = 10, kTcpPort = 18519, kPort = 1, kGid = 1 };

struct Address {
  uint32_t qpn;
  union ibv_gid gid;
};

static char buffer[64];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static void* wait_for_an_event(void* context) {
  struct ibv_async_event event;
  ibv_get_async_event(context, &event);
  return NULL;
}

static int meet(int serves, const char* address) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(kTcpPort)};
  const int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(inet_pton(AF_INET, address, &at.sin_addr) == 1);
  if (!serves) {
    CHECK(connect(fd, (struct sockaddr*)&at, sizeof at) == 0);
    return fd;
  }
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  CHECK(bind(fd, (struct sockaddr*)&at, sizeof at) == 0 && listen(fd, 1) == 0);
  return accept(fd, NULL, NULL);
}

static void tell(int fd) { CHECK(write(fd, "x", 1) == 1); }
static void hear(int fd) {
  char ignored;
  CHECK(read(fd, &ignored, 1) == 1);
}

static void take_completion(struct ibv_cq* cq) {
  struct ibv_wc wc;
  while (ibv_poll_cq(cq, 1, &wc) == 0) continue;
  CHECK(wc.status == IBV_WC_SUCCESS);
}

int main(int argc, char** argv) {
  CHECK(argc == 3);
  const int serves = strcmp(argv[1], "serve") == 0, peer_fd = meet(serves, argv[2]);
  struct ibv_device** devices = ibv_get_device_list(NULL);
  struct ibv_context* context = ibv_open_device(devices[0]);
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 64, NULL, NULL, 0);
  struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
  struct ibv_qp_init_attr init = {
      .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1, .cap = {64, 64, 1, 1, 0}};
  struct ibv_qp* qp = ibv_create_qp(pd, &init);
  struct Address mine = {.qpn = qp->qp_num}, peer;
  CHECK(ibv_query_gid(context, kPort, kGid, &mine.gid) == 0);
  CHECK(write(peer_fd, &mine, sizeof mine) == sizeof mine);
  CHECK(recv(peer_fd, &peer, sizeof peer, MSG_WAITALL) == sizeof peer);

  struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = kPort};
  CHECK(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
  struct ibv_sge part = {.addr = (uintptr_t)buffer, .length = sizeof buffer, .lkey = mr->lkey};
  for (int i = 0; i < kMessages; ++i) {
    struct ibv_recv_wr receive = {.sg_list = &part, .num_sge = 1}, *bad;
    CHECK(ibv_post_recv(qp, &receive, &bad) == 0);
  }
  a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer.qpn};
  a.max_dest_rd_atomic = 1, a.min_rnr_timer = 12;
  a.ah_attr.is_global = 1, a.ah_attr.port_num = kPort;
  a.ah_attr.grh.dgid = peer.gid, a.ah_attr.grh.sgid_index = kGid, a.ah_attr.grh.hop_limit = 1;
  CHECK(ibv_modify_qp(qp, &a,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
  a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 0, .retry_cnt = 7, .rnr_retry = 7};
  a.max_rd_atomic = 1;
  CHECK(ibv_modify_qp(qp, &a,
                      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                          IBV_QP_MAX_QP_RD_ATOMIC) == 0);
  pthread_t waits;
  if (serves) CHECK(pthread_create(&waits, NULL, wait_for_an_event, context) == 0);
  usleep(100000);
  tell(peer_fd), hear(peer_fd);

  double longest = 0;
  for (int i = 0; i < kMessages; ++i) {
    if (serves) {
      tell(peer_fd);
      take_completion(cq);
      for (const double until = now() + 0.3; now() < until;) continue;
    } else {
      hear(peer_fd);
      usleep(1000);
      struct ibv_send_wr send = {.sg_list = &part,
                                 .num_sge = 1,
                                 .opcode = IBV_WR_SEND,
                                 .send_flags = IBV_SEND_SIGNALED},
                         *bad;
      const double begin = now();
      CHECK(ibv_post_send(qp, &send, &bad) == 0);
      take_completion(cq);
      if (now() - begin > longest) longest = now() - begin;
    }
  }
  if (!serves) printf("longest %.3f ms\n", longest * 1e3);
  fflush(stdout);
  _exit(0);
}
