// Calls by datagrams (UD), as RPC libraries without connections make them: both ends poll, time is the
// processor's time stamp counter, whose rate is measured at the start, and a call without an answer is
// repeated when its time is up.
//   datagram_rpc server ADDRESS        datagram_rpc client ADDRESS CALLS
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { kWindow = 8, kBuffers = 32, kGrh = 40, kWords = 200 };

struct message {
  uint32_t call, words;
  uint64_t word[kWords];
};
struct buffer {
  uint8_t grh[kGrh];
  struct message message;
};

static struct buffer received[kBuffers];
static struct message sent[kBuffers];
static struct ibv_mr *received_region, *sent_region;
static struct rdma_cm_id* id;

static void die(const char* what) {
  fprintf(stderr, "datagram_rpc: %s (%s)\n", what, strerror(errno));
  exit(1);
}

static uint64_t nanoseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}

// Ticks of the counter in a millisecond.
static uint64_t measured_rate(void) {
  const uint64_t start = nanoseconds(), first = __rdtsc();
  while (nanoseconds() - start < 2000000) {
  }
  return (__rdtsc() - first) * 1000000 / (nanoseconds() - start);
}

static uint64_t function(uint64_t argument) { return argument * 0x9e3779b97f4a7c15ull ^ argument >> 7; }

static void receive(int i) {
  if (rdma_post_recv(id, (void*)(intptr_t)i, &received[i], sizeof received[i], received_region))
    die("receive");
}

static void prepare(void) {
  received_region = ibv_reg_mr(id->pd, received, sizeof received, IBV_ACCESS_LOCAL_WRITE);
  sent_region = ibv_reg_mr(id->pd, sent, sizeof sent, IBV_ACCESS_LOCAL_WRITE);
  if (!received_region || !sent_region) die("ibv_reg_mr");
  for (int i = 0; i < kBuffers; ++i) receive(i);
}

static void send_to(struct ibv_ah* ah, uint32_t qpn, int slot) {
  if (rdma_post_ud_send(id, NULL, &sent[slot], 8 + 8 * sent[slot].words, sent_region, IBV_SEND_SIGNALED, ah,
                        qpn))
    die("send");
}

static int polled(struct ibv_cq* cq, struct ibv_wc* wc) {
  const int n = ibv_poll_cq(cq, 1, wc);
  if (n < 0 || (n > 0 && wc->status)) die(n < 0 ? "ibv_poll_cq" : ibv_wc_status_str(wc->status));
  return n;
}

static struct rdma_cm_id* endpoint(const char* address, int flags, struct ibv_qp_init_attr* attributes) {
  struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_UDP, .ai_flags = flags}, *found;
  struct rdma_cm_id* made;
  if (rdma_getaddrinfo((char*)address, "7473", &hints, &found) ||
      rdma_create_ep(&made, found, NULL, attributes))
    die("rdma_create_ep");
  return made;
}

static struct ibv_qp_init_attr attributes = {.qp_type = IBV_QPT_UD, .cap = {2 * kBuffers, kBuffers, 1, 1, 0}};

static int server(const char* address) {
  struct rdma_cm_id* listener = endpoint(address, RAI_PASSIVE, &attributes);
  if (rdma_listen(listener, 1)) die("rdma_listen");
  puts("listening");
  fflush(stdout);
  if (rdma_get_request(listener, &id)) die("rdma_get_request");
  prepare();
  struct rdma_conn_param parameters = {.qp_num = id->qp->qp_num};
  if (rdma_accept(id, &parameters)) die("rdma_accept");
  struct ibv_ah* ah = NULL;
  uint32_t served = 0;
  int free_slot = 0, busy = 0;
  for (int last = 0; !last;) {
    struct ibv_wc wc;
    while (polled(id->send_cq, &wc)) --busy;
    if (busy == kBuffers || !polled(id->recv_cq, &wc)) continue;
    struct buffer* buffer = &received[wc.wr_id];
    if (!ah && !(ah = ibv_create_ah_from_wc(id->pd, &wc, (struct ibv_grh*)buffer->grh, 1)))
      die("address handle");
    const struct message* request = &buffer->message;
    struct message* answer = &sent[free_slot];
    last = request->words == 0;
    answer->call = request->call;
    answer->words = request->words;
    for (uint32_t i = 0; i < request->words; ++i) answer->word[i] = function(request->word[i]);
    const uint32_t asking = wc.src_qp;
    receive(wc.wr_id);
    send_to(ah, asking, free_slot);
    free_slot = (free_slot + 1) % kBuffers;
    ++busy;
    ++served;
  }
  usleep(1000);  // the last answer leaves
  printf("datagram_rpc: %u calls served\n", served);
  return 0;
}

static uint32_t words_of(uint32_t call) { return call * 2654435761u % (kWords / 2) + 1; }
static uint64_t argument(uint32_t call, uint32_t i) { return (uint64_t)call << 32 | i; }

static int client(const char* address, uint32_t calls) {
  id = endpoint(address, 0, &attributes);
  prepare();
  struct rdma_conn_param parameters = {.qp_num = id->qp->qp_num};
  if (rdma_connect(id, &parameters)) die("rdma_connect");
  const struct rdma_ud_param* ud = &id->event->param.ud;
  struct ibv_ah_attr attr = ud->ah_attr;
  struct ibv_ah* ah = ibv_create_ah(id->pd, &attr);
  const uint32_t qpn = ud->qp_num;
  if (!ah) die("address handle");
  const uint64_t millisecond = measured_rate();
  struct {
    uint32_t call;
    uint64_t asked, since;  // ticks; 0: free
  } open[kWindow] = {0};
  uint32_t next = 0, done = 0, repeated = 0;
  uint64_t total = 0, longest = 0;
  while (done < calls) {
    for (int slot = 0; slot < kWindow; ++slot) {
      if (open[slot].asked == 0 && next < calls) {
        sent[slot].call = open[slot].call = next;
        sent[slot].words = words_of(next);
        for (uint32_t i = 0; i < sent[slot].words; ++i) sent[slot].word[i] = argument(next, i);
        ++next;
        open[slot].asked = open[slot].since = __rdtsc();
        send_to(ah, qpn, slot);
      } else if (open[slot].asked && __rdtsc() - open[slot].since > 5 * millisecond) {
        open[slot].since = __rdtsc();
        send_to(ah, qpn, slot);
        ++repeated;
      }
    }
    struct ibv_wc wc;
    while (polled(id->send_cq, &wc)) continue;
    while (polled(id->recv_cq, &wc)) {
      const struct message* answer = &received[wc.wr_id].message;
      for (int slot = 0; slot < kWindow; ++slot) {
        if (!open[slot].asked || open[slot].call != answer->call)
          continue;  // an answer that came twice finds none
        if (answer->words != words_of(answer->call)) die("a wrong length");
        for (uint32_t i = 0; i < answer->words; ++i)
          if (answer->word[i] != function(argument(answer->call, i))) die("a wrong word");
        const uint64_t took = __rdtsc() - open[slot].asked;
        total += took;
        if (took > longest) longest = took;
        open[slot].asked = 0;
        ++done;
      }
      receive(wc.wr_id);
    }
  }
  sent[0].call = calls;
  sent[0].words = 0;
  send_to(ah, qpn, 0);
  usleep(1000);
  printf("datagram_rpc: %u calls right, %u repeated, %.2f us on average, %.2f us at most\n", calls, repeated,
         1e3 * total / calls / millisecond, 1e3 * longest / millisecond);
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 3 && argv[1][0] == 's') return server(argv[2]);
  if (argc == 4 && argv[1][0] == 'c') return client(argv[2], atoi(argv[3]));
  fprintf(stderr, "datagram_rpc server ADDRESS | client ADDRESS CALLS\n");
  return 2;
}
