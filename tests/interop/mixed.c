/* Both ends of a reliable connection ask of one another at once: all operations, in an order and with lengths
 * drawn by a seed, DEPTH under way. Each end knows from the peer's seed what comes, and compares every
 * completion, every byte and every answer. Its last line is "all right".
 *
 *     mixed DEVICE GID-INDEX SEED REQUESTS LONGEST OPERATIONS [SERVER]
 *
 * LONGEST: bytes of a message. OPERATIONS: letters of those to draw from: s SEND, i SEND with immediate, w
 * WRITE, x WRITE with immediate, r READ, f fetch-and-add, c compare-and-swap.
 */
#include "connection.h"

enum { DEPTH = 16, SLOTS = 32, LIMIT = 20000 };
static const uint64_t RECEIVE = (uint64_t)1 << 32; /* in numbers of work requests */

struct memory { /* registered as one region */
  uint64_t sum, swapped, answers[DEPTH];
  uint8_t source[2 * LIMIT], sent[DEPTH][LIMIT], received[DEPTH][LIMIT], written[SLOTS][LIMIT];
};

struct request {
  char operation;
  uint32_t number, length, offset; /* offset: of a READ */
};

/* What one end asks for, request by request. */
struct sequence {
  const char* operations;
  uint64_t state;
  uint32_t longest, next;
};

static uint32_t draw(struct sequence* s) {
  s->state = s->state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(s->state >> 33);
}
static struct request next_request(struct sequence* s) {
  struct request r = {.operation = s->operations[draw(s) % strlen(s->operations)], .number = s->next++};
  const uint32_t is_short = draw(s) % 2; /* 0 to 64 bytes */
  r.length = draw(s) % ((is_short && s->longest > 64 ? 64 : s->longest) + 1);
  r.offset = draw(s) % LIMIT;
  return r;
}

static int is(const struct request* r, const char* any_of) { return strchr(any_of, r->operation) != NULL; }
static uint8_t pattern(uint32_t number, uint32_t at) {
  return (uint8_t)(number * 31 + at * 7 + (at >> 8) + 1);
}
static uint8_t source_pattern(uint32_t at) { return (uint8_t)(at * 5 + (at >> 8) * 3 + 3); }
static int filled(const uint8_t* data, const struct request* r) {
  for (uint32_t i = 0; i < r->length; ++i)
    if (data[i] != (is(r, "r") ? source_pattern(r->offset + i) : pattern(r->number, i))) return 0;
  return 1;
}
static void must_of(int right, const char* what, const struct request* r) {
  if (right) return;
  printf("wrong: %s of request %u, '%c' of %u bytes\n", what, r->number, r->operation, r->length);
  exit(1);
}

/* --- asking. Values that atomics find are the peer's words, which nobody else changes. */

struct asking {
  struct sequence sequence;
  struct request under_way[DEPTH];
  uint64_t expected[DEPTH], sum, swapped;
  uint32_t asked, done;
};

static void ask(struct side* s, struct asking* a) {
  struct memory* m = s->memory;
  const struct request r = next_request(&a->sequence);
  const uint32_t at = r.number % DEPTH;
  struct ibv_send_wr wr = {.wr_id = r.number, .imm_data = htonl(r.number)};
  uint8_t* data = m->sent[at];
  uint32_t length = r.length;
  for (uint32_t i = 0; i < r.length; ++i) data[i] = is(&r, "r") ? 0xee : pattern(r.number, i);
  wr.wr.rdma.remote_addr = there(s, is(&r, "r") ? m->source + r.offset : m->written[r.number % SLOTS]);
  wr.wr.rdma.rkey = s->peer.rkey;
  if (is(&r, "s")) wr.opcode = IBV_WR_SEND;
  if (is(&r, "i")) wr.opcode = IBV_WR_SEND_WITH_IMM;
  if (is(&r, "w")) wr.opcode = IBV_WR_RDMA_WRITE;
  if (is(&r, "x")) wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  if (is(&r, "r")) wr.opcode = IBV_WR_RDMA_READ;
  if (is(&r, "fc")) {
    const int adds = is(&r, "f"),
              swaps = !adds && r.number % 3 != 0; /* each third compares with what is not there */
    wr.opcode = adds ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
    wr.wr.atomic.remote_addr = there(s, adds ? &m->sum : &m->swapped);
    wr.wr.atomic.rkey = s->peer.rkey;
    wr.wr.atomic.compare_add = adds ? r.number + 1 : swaps ? a->swapped : ~a->swapped;
    wr.wr.atomic.swap = r.number + 1;
    a->expected[at] = adds ? a->sum : a->swapped;
    if (adds) a->sum += r.number + 1;
    if (swaps) a->swapped = r.number + 1;
    data = (uint8_t*)&m->answers[at], length = 8;
    memset(data, 0xee, length);
  }
  a->under_way[at] = r;
  ++a->asked;
  post(s, &wr, data, (int)length);
}

static void take_answer(struct side* s, struct asking* a, const struct ibv_wc* wc) {
  struct memory* m = s->memory;
  const uint32_t at = a->done % DEPTH;
  const struct request* r = &a->under_way[at];
  must_of(wc->status == IBV_WC_SUCCESS, ibv_wc_status_str(wc->status), r);
  must_of(wc->wr_id == a->done++, "the order", r);
  if (is(r, "r")) must_of(filled(m->sent[at], r), "the bytes", r);
  if (is(r, "fc") && m->answers[at] != a->expected[at])
    printf("%llx, not %llx\n", (unsigned long long)m->answers[at], (unsigned long long)a->expected[at]);
  if (is(r, "fc")) must_of(m->answers[at] == a->expected[at], "the value", r);
}

/* --- being asked */

struct serving {
  struct sequence sequence;
  struct request last[SLOTS]; /* WRITEs, by slot */
  uint64_t sum, swapped;
  uint32_t known, receives; /* requests that are known, and messages of them that have come */
};

static struct request look_at_next(struct serving* v) {
  const struct request r = next_request(&v->sequence);
  ++v->known;
  if (is(&r, "wx")) v->last[r.number % SLOTS] = r;
  if (is(&r, "f")) v->sum += r.number + 1;
  if (is(&r, "c") && r.number % 3 != 0) v->swapped = r.number + 1;
  return r;
}

static void take_message(struct side* s, struct serving* v, const struct ibv_wc* wc) {
  struct memory* m = s->memory;
  struct request r;
  do r = look_at_next(v);
  while (!is(&r, "six"));
  ++v->receives;
  must_of(wc->status == IBV_WC_SUCCESS, ibv_wc_status_str(wc->status), &r);
  must_of(wc->byte_len == r.length, "the length", &r);
  must_of(wc->opcode == (is(&r, "x") ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV), "the completion's opcode",
          &r);
  must_of(((wc->wc_flags & IBV_WC_WITH_IMM) != 0) == is(&r, "ix"), "IBV_WC_WITH_IMM", &r);
  if (is(&r, "ix")) must_of(ntohl(wc->imm_data) == r.number, "the immediate", &r);
  const uint64_t slot = wc->wr_id - RECEIVE;
  if (is(&r, "si")) must_of(filled(m->received[slot], &r), "the bytes", &r);
  post_receive(s, wc->wr_id, m->received[slot], LIMIT);
}

static uint32_t messages(struct sequence s, uint32_t requests) {
  uint32_t all = 0;
  while (s.next < requests) {
    const struct request r = next_request(&s);
    all += is(&r, "six") ? 1 : 0;
  }
  return all;
}

/* What the peer has done to memory, when all of it has come. */
static void look_at_memory(struct side* s, struct serving* v, uint32_t requests) {
  struct memory* m = s->memory;
  while (v->known < requests) look_at_next(v);
  for (int i = 0; i < SLOTS; ++i)
    if (v->last[i].operation != 0)
      must_of(filled(m->written[i], &v->last[i]), "what was written", &v->last[i]);
  must(m->sum == v->sum, "the word that is added to");
  must(m->swapped == v->swapped, "the word that is swapped");
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  must(argc > 6, "usage: mixed DEVICE GID-INDEX SEED REQUESTS LONGEST OPERATIONS [SERVER]");
  struct side s = {.gid_index = (uint8_t)atoi(argv[2]), .seed = (uint32_t)atoi(argv[3])};
  const uint32_t requests = (uint32_t)atoi(argv[4]), longest = (uint32_t)atoi(argv[5]);
  must(longest <= LIMIT, "LONGEST is too long");
  open_device(&s, argv[1], sizeof(struct memory), 4 * DEPTH);
  struct memory* m = s.memory;
  memset(m, 0, sizeof *m);
  for (uint32_t i = 0; i < sizeof m->source; ++i) m->source[i] = source_pattern(i);
  s.fd = meeting_place(argc > 7 ? argv[7] : NULL);
  connect_pair(&s, DEPTH, 0);
  struct asking a = {.sequence = {argv[6], s.seed, longest, 0}};
  struct serving v = {.sequence = {argv[6], s.peer.seed, longest, 0}};
  const uint32_t expected = messages(v.sequence, requests);
  for (uint64_t i = 0; i < DEPTH; ++i) post_receive(&s, RECEIVE + i, m->received[i], LIMIT);
  meet(&s);
  while (a.done < requests || v.receives < expected) {
    while (a.asked < requests && a.asked - a.done < DEPTH) ask(&s, &a);
    const struct ibv_wc wc = completion(&s);
    if (wc.wr_id >= RECEIVE)
      take_message(&s, &v, &wc);
    else
      take_answer(&s, &a, &wc);
  }
  meet(&s);
  look_at_memory(&s, &v, requests);
  meet(&s); /* the peer reads no more */
  printf("all right\n");
  return 0;
}
