/* Operations that no packaged program checks: SEND and WRITE with immediate, inline data, compare-and-swap, fetch-and-add, SEND with
 * invalidate. Two ends of a reliable connection, on plain libibverbs: first the client asks and the server looks at what arrived, then the
 * other way round. The last line of both is "all right".
 *
 *     operations DEVICE GID-INDEX [SERVER]
 */
#include "connection.h"

enum { COUNT = 20, SIZE = 5000, INLINE = 48, WORDS = 16 };

struct memory { /* registered as one region */
  uint8_t source[COUNT][SIZE], received[COUNT][SIZE], written[COUNT][SIZE];
  uint64_t results[COUNT + 1], words[WORDS];
};

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
/* The last one compares with what is not there. */
static void ask_atomics(struct side* s, const struct operation* o) {
  struct memory* m = s->memory;
  const int swaps = o->opcode == IBV_WR_ATOMIC_CMP_AND_SWP, count = swaps ? COUNT + 1 : COUNT;
  for (int i = 0; i < count; ++i) {
    struct ibv_send_wr wr = {.opcode = o->opcode};
    wr.wr.atomic.remote_addr = there(s, &m->words[swaps]);
    wr.wr.atomic.rkey = s->peer.rkey;
    wr.wr.atomic.compare_add = swaps ? (i < COUNT ? 7 + (uint64_t)i : 1) : (uint64_t)1 << 40;
    wr.wr.atomic.swap = 8 + (uint64_t)i;
    post(s, &wr, &m->results[i], 8);
  }
  for (int i = 0; i < count; ++i) success(s, o->name);
  for (int i = 0; i < count; ++i)
    must(m->results[i] == (swaps ? 7 + (uint64_t)i : 7 + ((uint64_t)i << 40)), o->name);
}

static void ask(struct side* s, int index) {
  struct memory* m = s->memory;
  const struct operation* o = &operations[index];
  meet(s); /* the peer is ready */
  if (is_atomic(o)) {
    ask_atomics(s, o);
  } else {
    for (int i = 0; i < COUNT; ++i) {
      /* Inline data are the program's again at once. */
      uint8_t* data = m->source[(o->flags & IBV_SEND_INLINE) != 0 ? 0 : i];
      struct ibv_send_wr wr = {.opcode = o->opcode, .send_flags = o->flags};
      wr.imm_data = htonl(0x1000u * (unsigned)index + (unsigned)i);
      wr.wr.rdma.remote_addr = there(s, m->written[i]);
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
  struct memory* m = s->memory;
  const struct operation* o = &operations[index];
  memset(m->received, 0, 2 * sizeof m->received);
  for (int i = 0; i < WORDS; ++i) m->words[i] = 7;
  for (int i = 0; i < COUNT && o->by_receive; ++i) post_receive(s, (uint64_t)i, m->received[i], SIZE);
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
    must(filled(is_write(o) ? m->written[i] : m->received[i], index, i, o->size), o->name);
  if (o->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) must(m->words[1] == 7 + COUNT, "the word that is swapped");
  if (o->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
    must(m->words[0] == 7 + ((uint64_t)COUNT << 40), "the word that is added to");
}

/* --- SEND with invalidate: a memory window of the server's, closed by the client. It ends the connection. */

static void ask_invalidate(struct side* s) {
  struct memory* m = s->memory;
  uint32_t window = 0;
  hear(s, &window, sizeof window);
  struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE};
  wr.wr.rdma.remote_addr = there(s, m->written[0]);
  wr.wr.rdma.rkey = window;
  fill(m->source[0], OPERATIONS, 0, SIZE);
  struct ibv_send_wr invalidate = {.opcode = IBV_WR_SEND_WITH_INV, .invalidate_rkey = window}, again = wr;
  post(s, &wr, m->source[0], SIZE);
  post(s, &invalidate, m->source[0], SIZE);
  success(s, "WRITE through a window");
  success(s, "SEND with invalidate");
  meet(s);
  post(s, &again, m->source[0], SIZE);
  must(completion(s).status == IBV_WC_REM_ACCESS_ERR, "a WRITE through a window that is closed");
  meet(s);
}

static void serve_invalidate(struct side* s) {
  struct memory* m = s->memory;
  struct ibv_mw* mw = ibv_alloc_mw(s->pd, IBV_MW_TYPE_2);
  must(mw != NULL, "a memory window");
  struct ibv_send_wr bind = {.opcode = IBV_WR_BIND_MW};
  bind.bind_mw.mw = mw;
  bind.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
  bind.bind_mw.bind_info = (struct ibv_mw_bind_info){.mr = s->mr, .addr = (uintptr_t)m->written,
                                                     .length = SIZE, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
  const uint32_t window = bind.bind_mw.rkey;
  post(s, &bind, NULL, 0);
  success(s, "binding");
  post_receive(s, 0, m->received[0], SIZE);
  tell(s, &window, sizeof window);
  const struct ibv_wc wc = success(s, "SEND with invalidate");
  /* Linux's rxe hands out the flag under the kernel's number (IB_WC_WITH_INVALIDATE), which libibverbs calls IBV_WC_IP_CSUM_OK. */
  const unsigned flag = strncmp(ibv_get_device_name(s->context->device), "rxe", 3) == 0 ? 1 << 2 : IBV_WC_WITH_INV;
  must((wc.wc_flags & flag) != 0 && wc.invalidated_rkey == window, "the key that was invalidated");
  must(filled(m->written[0], OPERATIONS, 0, SIZE), "what was written through the window");
  must(filled(m->received[0], OPERATIONS, 0, SIZE), "what was sent");
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
  open_device(&s, argv[1], sizeof(struct memory), 4 * COUNT);
  s.fd = meeting_place(server);
  for (int turn = 0; turn < 2; ++turn) {
    const int asks = (turn == 0) == (server != NULL);
    memset(s.memory, 0, sizeof(struct memory));
    connect_pair(&s, 2 * COUNT, INLINE);
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
