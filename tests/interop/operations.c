/* Operations that no packaged program checks: SEND and WRITE with immediate, inline data, compare-and-swap, fetch-and-add, SEND with
 * invalidate. Two ends of a reliable connection, on plain libibverbs: first the client asks and the server looks at what arrived, then the
 * other way round. The last line of both is "all right".
 *
 *     operations DEVICE GID-INDEX [SERVER]
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PORT = 18600, COUNT = 20, SIZE = 5000, INLINE = 48, WORDS = 16 };
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)

struct memory { /* registered as one region */
  uint8_t source[COUNT][SIZE], received[COUNT][SIZE], written[COUNT][SIZE];
  uint64_t results[COUNT + 1], words[WORDS];
};

struct address { /* what a peer has to know */
  uint32_t qpn, rkey, window_rkey, unused;
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
  struct memory* memory;
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

static void open_device(struct side* s, const char* name) {
  struct ibv_device** list = ibv_get_device_list(NULL);
  for (struct ibv_device** d = list; *d != NULL; ++d)
    if (strcmp(ibv_get_device_name(*d), name) == 0) s->context = ibv_open_device(*d);
  must(s->context != NULL, "no such device");
  s->memory = aligned_alloc(4096, (sizeof *s->memory + 4095) / 4096 * 4096);
  s->pd = ibv_alloc_pd(s->context);
  s->cq = ibv_create_cq(s->context, 4 * COUNT, NULL, NULL, 0);
  s->mr = ibv_reg_mr(s->pd, s->memory, sizeof *s->memory, ACCESS);
  must(s->pd && s->cq && s->mr, "objects");
}

static void to_ready(struct side* s) {
  struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = ACCESS & ~IBV_ACCESS_MW_BIND};
  must(ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0, "INIT");
  struct address mine = {.qpn = s->qp->qp_num, .rkey = s->mr->rkey, .memory = (uintptr_t)s->memory};
  ibv_query_gid(s->context, 1, s->gid_index, &mine.gid);
  tell(s, &mine, sizeof mine);
  hear(s, &s->peer, sizeof s->peer);
  a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = s->peer.qpn,
                           .rq_psn = 0xfffff8, .max_dest_rd_atomic = 4, .min_rnr_timer = 12};
  a.ah_attr = (struct ibv_ah_attr){.is_global = 1, .port_num = 1,
                                   .grh = {.dgid = s->peer.gid, .sgid_index = s->gid_index, .hop_limit = 64}};
  must(ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0, "RTR");
  a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 15, .retry_cnt = 7, .rnr_retry = 7,
                           .sq_psn = 0xfffff8, .max_rd_atomic = 4};
  must(ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                    IBV_QP_MAX_QP_RD_ATOMIC) == 0, "RTS");
}

static void connect_pair(struct side* s) {
  struct ibv_qp_init_attr init = {.send_cq = s->cq, .recv_cq = s->cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
                                  .cap = {.max_send_wr = 2 * COUNT, .max_recv_wr = 2 * COUNT, .max_send_sge = 1,
                                          .max_recv_sge = 1, .max_inline_data = INLINE}};
  memset(s->memory, 0, sizeof *s->memory);
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
static struct ibv_wc success(struct side* s, const char* what) {
  struct ibv_wc wc = completion(s);
  if (wc.status != IBV_WC_SUCCESS) printf("%s: %s\n", what, ibv_wc_status_str(wc.status));
  must(wc.status == IBV_WC_SUCCESS, what);
  return wc;
}

/* --- operations: COUNT of each are under way at once */

struct operation {
  const char* name;
  enum ibv_wr_opcode opcode;
  unsigned flags;
  int size, by_receive; /* the receiver gets a completion for it */
};
static const struct operation operations[] = {
    {"SEND with immediate", IBV_WR_SEND_WITH_IMM, 0, SIZE, 1},
    {"WRITE with immediate", IBV_WR_RDMA_WRITE_WITH_IMM, 0, SIZE, 1},
    {"inline SEND", IBV_WR_SEND, IBV_SEND_INLINE, INLINE, 1},
    {"inline WRITE with immediate", IBV_WR_RDMA_WRITE_WITH_IMM, IBV_SEND_INLINE, INLINE, 1},
    {"inline WRITE", IBV_WR_RDMA_WRITE, IBV_SEND_INLINE, INLINE, 0},
    {"compare-and-swap", IBV_WR_ATOMIC_CMP_AND_SWP, 0, 8, 0},
    {"fetch-and-add", IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, 0},
};
enum { OPERATIONS = sizeof operations / sizeof operations[0] };

static int is_atomic(const struct operation* o) {
  return o->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || o->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}
static int has_immediate(const struct operation* o) {
  return o->opcode == IBV_WR_SEND_WITH_IMM || o->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}
static int is_write(const struct operation* o) {
  return o->opcode == IBV_WR_RDMA_WRITE_WITH_IMM || o->opcode == IBV_WR_RDMA_WRITE;
}
static uint8_t pattern(int operation, int message, int at) { return (uint8_t)(operation * 50 + message * 7 + at * 3 + 1); }
static void fill(uint8_t* data, int operation, int message, int size) {
  for (int i = 0; i < size; ++i) data[i] = pattern(operation, message, i);
}
static int filled(const uint8_t* data, int operation, int message, int size) {
  for (int i = 0; i < size; ++i)
    if (data[i] != pattern(operation, message, i)) return 0;
  return 1;
}
static uint64_t there(const void* mine, struct side* s) {
  return s->peer.memory + (uint64_t)((const char*)mine - (const char*)s->memory);
}

static void post(struct side* s, struct ibv_send_wr* wr, void* data, int size) {
  struct ibv_sge sge = {.addr = (uintptr_t)data, .length = (uint32_t)size, .lkey = s->mr->lkey};
  struct ibv_send_wr* bad;
  if (data != NULL) wr->sg_list = &sge, wr->num_sge = 1;
  must(ibv_post_send(s->qp, wr, &bad) == 0, "ibv_post_send");
}
static void post_receive(struct side* s, int i) {
  struct ibv_sge sge = {.addr = (uintptr_t)s->memory->received[i], .length = SIZE, .lkey = s->mr->lkey};
  struct ibv_recv_wr wr = {.wr_id = (uint64_t)i, .sg_list = &sge, .num_sge = 1}, *bad;
  must(ibv_post_recv(s->qp, &wr, &bad) == 0, "ibv_post_recv");
}

/* The last one compares with what is not there. */
static void ask_atomics(struct side* s, const struct operation* o) {
  const int swaps = o->opcode == IBV_WR_ATOMIC_CMP_AND_SWP, count = swaps ? COUNT + 1 : COUNT;
  for (int i = 0; i < count; ++i) {
    struct ibv_send_wr wr = {.opcode = o->opcode};
    wr.wr.atomic.remote_addr = there(&s->memory->words[swaps], s);
    wr.wr.atomic.rkey = s->peer.rkey;
    wr.wr.atomic.compare_add = swaps ? (i < COUNT ? 7 + (uint64_t)i : 1) : (uint64_t)1 << 40;
    wr.wr.atomic.swap = 8 + (uint64_t)i;
    post(s, &wr, &s->memory->results[i], 8);
  }
  for (int i = 0; i < count; ++i) success(s, o->name);
  for (int i = 0; i < count; ++i)
    must(s->memory->results[i] == (swaps ? 7 + (uint64_t)i : 7 + ((uint64_t)i << 40)), o->name);
}

static void ask(struct side* s, int index) {
  const struct operation* o = &operations[index];
  meet(s); /* the peer is ready */
  if (is_atomic(o)) {
    ask_atomics(s, o);
  } else {
    for (int i = 0; i < COUNT; ++i) {
      /* Inline data are the program's again at once. */
      uint8_t* data = s->memory->source[(o->flags & IBV_SEND_INLINE) != 0 ? 0 : i];
      struct ibv_send_wr wr = {.opcode = o->opcode, .send_flags = o->flags};
      wr.imm_data = htonl(0x1000u * (unsigned)index + (unsigned)i);
      wr.wr.rdma.remote_addr = there(s->memory->written[i], s);
      wr.wr.rdma.rkey = s->peer.rkey;
      fill(data, index, i, o->size);
      post(s, &wr, data, o->size);
      if ((o->flags & IBV_SEND_INLINE) != 0) memset(data, 0, INLINE);
    }
    for (int i = 0; i < COUNT; ++i) success(s, o->name);
  }
  meet(s); /* the peer looks at its memory */
}

static void serve(struct side* s, int index) {
  const struct operation* o = &operations[index];
  memset(s->memory->received, 0, 2 * sizeof s->memory->received);
  for (int i = 0; i < WORDS; ++i) s->memory->words[i] = 7;
  for (int i = 0; i < COUNT && o->by_receive; ++i) post_receive(s, i);
  meet(s);
  for (int i = 0; i < COUNT && o->by_receive; ++i) {
    const struct ibv_wc wc = success(s, o->name);
    must(wc.wr_id == (uint64_t)i && wc.byte_len == (uint32_t)o->size, "order and length");
    must(wc.opcode == (is_write(o) ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV), "the completion's opcode");
    must(((wc.wc_flags & IBV_WC_WITH_IMM) != 0) == has_immediate(o), "IBV_WC_WITH_IMM");
    must(!has_immediate(o) || ntohl(wc.imm_data) == 0x1000u * (unsigned)index + (unsigned)i, "the immediate");
  }
  meet(s);
  for (int i = 0; i < COUNT && !is_atomic(o); ++i)
    must(filled(is_write(o) ? s->memory->written[i] : s->memory->received[i], index, i, o->size), o->name);
  if (o->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) must(s->memory->words[1] == 7 + COUNT, "the word that is swapped");
  if (o->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
    must(s->memory->words[0] == 7 + ((uint64_t)COUNT << 40), "the word that is added to");
}

/* --- SEND with invalidate: a memory window of the server's, closed by the client. It ends the connection. */

static void ask_invalidate(struct side* s) {
  uint32_t window = 0;
  hear(s, &window, sizeof window);
  struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE};
  wr.wr.rdma.remote_addr = there(s->memory->written[0], s);
  wr.wr.rdma.rkey = window;
  fill(s->memory->source[0], OPERATIONS, 0, SIZE);
  struct ibv_send_wr invalidate = {.opcode = IBV_WR_SEND_WITH_INV, .invalidate_rkey = window}, again = wr;
  post(s, &wr, s->memory->source[0], SIZE);
  post(s, &invalidate, s->memory->source[0], SIZE);
  success(s, "WRITE through a window");
  success(s, "SEND with invalidate");
  meet(s);
  post(s, &again, s->memory->source[0], SIZE);
  must(completion(s).status == IBV_WC_REM_ACCESS_ERR, "a WRITE through a window that is closed");
  meet(s);
}

static void serve_invalidate(struct side* s) {
  struct ibv_mw* mw = ibv_alloc_mw(s->pd, IBV_MW_TYPE_2);
  must(mw != NULL, "a memory window");
  struct ibv_send_wr bind = {.opcode = IBV_WR_BIND_MW};
  bind.bind_mw.mw = mw;
  bind.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
  bind.bind_mw.bind_info = (struct ibv_mw_bind_info){.mr = s->mr, .addr = (uintptr_t)s->memory->written,
                                                     .length = SIZE, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
  const uint32_t window = bind.bind_mw.rkey;
  post(s, &bind, NULL, 0);
  success(s, "binding");
  post_receive(s, 0);
  tell(s, &window, sizeof window);
  const struct ibv_wc wc = success(s, "SEND with invalidate");
  /* Linux's rxe hands out the flag under the kernel's number (IB_WC_WITH_INVALIDATE), which libibverbs calls IBV_WC_IP_CSUM_OK. */
  const unsigned flag = strncmp(ibv_get_device_name(s->context->device), "rxe", 3) == 0 ? 1 << 2 : IBV_WC_WITH_INV;
  must((wc.wc_flags & flag) != 0 && wc.invalidated_rkey == window, "the key that was invalidated");
  must(filled(s->memory->written[0], OPERATIONS, 0, SIZE), "what was written through the window");
  must(filled(s->memory->received[0], OPERATIONS, 0, SIZE), "what was sent");
  meet(s);
  meet(s);
  ibv_destroy_qp(s->qp), s->qp = NULL;
  ibv_dealloc_mw(mw);
}

int main(int argc, char** argv) {
  struct side s = {0};
  const char* server = argc > 3 ? argv[3] : NULL;
  must(argc > 2, "usage: operations DEVICE GID-INDEX [SERVER]");
  s.gid_index = (uint8_t)atoi(argv[2]);
  open_device(&s, argv[1]);
  s.fd = meeting_place(server);
  for (int turn = 0; turn < 2; ++turn) {
    const int asks = (turn == 0) == (server != NULL);
    connect_pair(&s);
    for (int i = 0; i < OPERATIONS; ++i) {
      (asks ? ask : serve)(&s, i);
      printf("%s %s\n", operations[i].name, asks ? "asked" : "served");
    }
    (asks ? ask_invalidate : serve_invalidate)(&s);
    printf("SEND with invalidate %s\n", asks ? "asked" : "served");
    if (s.qp != NULL) ibv_destroy_qp(s.qp);
  }
  printf("all right\n");
  return 0;
}
