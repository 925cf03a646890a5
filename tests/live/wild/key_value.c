// A key-value server and its own test, as such servers are written over RDMA: one event loop (epoll) for
// connections, completions and expiry, requests by SEND, values of more than a few bytes by the server's READ
// and the client's READ.
//   key_value server ADDRESS                  until a client says that it was the last one
//   key_value client ADDRESS OPERATIONS SEED  puts, gets, removes and waits for expiry; compares with what it
//   remembers
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { kKeys = 512, kLargest = 32768, kInline = 64, kDepth = 16, kLifetimeMs = 20, kPort = 7471 };
enum { kPut, kGet, kRemove, kPutForAWhile, kStop };

struct request {
  uint32_t what, key, length, rkey;
  uint64_t address;  // of the value in the client's memory, where it is too long to travel with the request
  uint8_t value[kInline];
};
struct reply {
  int32_t length;  // -1: there is no such key
  uint32_t rkey;
  uint64_t address;  // of the value in the server's memory
  uint8_t value[kInline];
};

static void die(const char* what) {
  fprintf(stderr, "key_value: %s (%s)\n", what, strerror(errno));
  exit(1);
}

static struct sockaddr_in address_of(const char* text) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(kPort)};
  if (inet_pton(AF_INET, text, &address.sin_addr) != 1) die(text);
  return address;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

// --- server
// ---------------------------------------------------------------------------------------------------------

struct value {
  int32_t length;  // -1: none
  double until;    // 0: for ever
};
struct client {
  struct rdma_cm_id* id;
  struct ibv_mr* memory;
  struct {
    struct request request;
    struct reply reply;
  } slots[kDepth];
};

static struct value values[kKeys];
static uint8_t bytes[kKeys][kLargest];
static struct ibv_mr* region;  // of `bytes`
static struct ibv_pd* domain;
static struct ibv_cq* completions;
static struct ibv_comp_channel* channel;
static int clients, last, expired;

static void answer(struct client* client, int slot, uint32_t key) {
  struct reply* reply = &client->slots[slot].reply;
  reply->length = values[key].length;
  reply->rkey = region->rkey;
  reply->address = (uintptr_t)bytes[key];
  if (reply->length > 0 && reply->length <= kInline) memcpy(reply->value, bytes[key], reply->length);
  if (rdma_post_recv(client->id, (void*)(intptr_t)slot, &client->slots[slot].request, sizeof(struct request),
                     client->memory) ||
      rdma_post_send(client->id, NULL, reply, sizeof *reply, client->memory, 0))
    die("reply");
}

// The client of a completion is told by its queue pair's number.
static struct client* of_queue_pair[1 << 16];

static void serve(struct client* client, int slot) {
  const struct request* request = &client->slots[slot].request;
  const uint32_t key = request->key % kKeys;
  struct value* value = &values[key];
  if (request->what == kStop) last = 1;
  if (request->what == kRemove) value->length = -1;
  if (request->what == kPut || request->what == kPutForAWhile) {
    if (request->length > kLargest) die("a value that is too long");
    value->length = request->length;
    value->until = request->what == kPut ? 0 : now() + kLifetimeMs / 1e3;
    if (request->length > kInline) {  // fetched; the reply follows when it is here
      if (rdma_post_read(client->id, (void*)(intptr_t)(slot + kDepth), bytes[key], request->length, region,
                         IBV_SEND_SIGNALED, request->address, request->rkey))
        die("READ");
      return;
    }
    memcpy(bytes[key], request->value, request->length);
  }
  answer(client, slot, key);
}

static void on_completions(void) {
  struct ibv_cq* cq;
  void* context;
  if (ibv_get_cq_event(channel, &cq, &context) == 0) ibv_ack_cq_events(cq, 1);
  if (ibv_req_notify_cq(completions, 0)) die("ibv_req_notify_cq");
  struct ibv_wc wc;
  int n;
  while ((n = ibv_poll_cq(completions, 1, &wc)) > 0) {
    if (wc.status == IBV_WC_WR_FLUSH_ERR) continue;  // of a client that has left
    if (wc.status) die(ibv_wc_status_str(wc.status));
    struct client* client = of_queue_pair[wc.qp_num & 0xffff];
    if (wc.opcode == IBV_WC_RECV) serve(client, wc.wr_id);
    if (wc.opcode == IBV_WC_RDMA_READ) {
      const int slot = wc.wr_id - kDepth;
      answer(client, slot, client->slots[slot].request.key % kKeys);
    }
  }
  if (n < 0) die("ibv_poll_cq");
}

static void welcome(struct rdma_cm_id* id) {
  if (!domain) {
    if (!(domain = ibv_alloc_pd(id->verbs)) || !(channel = ibv_create_comp_channel(id->verbs)) ||
        !(completions = ibv_create_cq(id->verbs, 1024, NULL, channel, 0)) ||
        !(region =
              ibv_reg_mr(domain, bytes, sizeof bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ)) ||
        ibv_req_notify_cq(completions, 0))
      die("the device");
    fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
  }
  struct client* client = calloc(1, sizeof *client);
  struct ibv_qp_init_attr attributes = {.qp_type = IBV_QPT_RC,
                                        .send_cq = completions,
                                        .recv_cq = completions,
                                        .cap = {2 * kDepth, kDepth, 1, 1, 0}};
  if (rdma_create_qp(id, domain, &attributes)) die("rdma_create_qp");
  client->id = id;
  id->context = client;
  of_queue_pair[id->qp->qp_num & 0xffff] = client;
  client->memory = ibv_reg_mr(domain, client->slots, sizeof client->slots, IBV_ACCESS_LOCAL_WRITE);
  for (int i = 0; i < kDepth; ++i)
    if (rdma_post_recv(id, (void*)(intptr_t)i, &client->slots[i].request, sizeof(struct request),
                       client->memory))
      die("receive");
  struct rdma_conn_param parameters = {
      .responder_resources = 16, .initiator_depth = 16, .rnr_retry_count = 7};
  if (rdma_accept(id, &parameters)) die("rdma_accept");
  ++clients;
}

static void goodbye(struct rdma_cm_id* id) {
  struct client* client = id->context;
  rdma_disconnect(id);
  rdma_destroy_qp(id);
  ibv_dereg_mr(client->memory);
  rdma_destroy_id(id);
  free(client);
  --clients;
}

static int server(const char* text) {
  struct sockaddr_in address = address_of(text);
  struct rdma_event_channel* events = rdma_create_event_channel();
  struct rdma_cm_id* listener;
  // The loop and its timer exist before the device is opened, as in servers that were written for sockets.
  const int loop = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  const struct itimerspec every = {.it_interval = {0, 1000000}, .it_value = {0, 1000000}};
  timerfd_settime(timer, 0, &every, NULL);
  if (!events || rdma_create_id(events, &listener, NULL, RDMA_PS_TCP) ||
      rdma_bind_addr(listener, (struct sockaddr*)&address) || rdma_listen(listener, 8))
    die("rdma_listen");
  fcntl(events->fd, F_SETFL, fcntl(events->fd, F_GETFL) | O_NONBLOCK);
  int watched = -1;
  for (int i = 0; i < kKeys; ++i) values[i].length = -1;
  struct epoll_event wanted = {.events = EPOLLIN, .data.fd = timer};
  epoll_ctl(loop, EPOLL_CTL_ADD, timer, &wanted);
  wanted.data.fd = events->fd;
  epoll_ctl(loop, EPOLL_CTL_ADD, events->fd, &wanted);
  puts("listening");
  fflush(stdout);
  while (!last || clients) {
    struct epoll_event ready[8];
    const int n = epoll_wait(loop, ready, 8, 1000);
    for (int i = 0; i < n; ++i) {
      if (ready[i].data.fd == timer) {
        uint64_t ticks;
        if (read(timer, &ticks, sizeof ticks) != sizeof ticks) continue;
        for (int key = 0; key < kKeys; ++key)
          if (values[key].length >= 0 && values[key].until > 0 && values[key].until < now()) {
            values[key].length = -1;
            ++expired;
          }
      } else if (ready[i].data.fd == watched) {
        on_completions();
      } else {
        struct rdma_cm_event* event;
        while (rdma_get_cm_event(events, &event) == 0) {
          const enum rdma_cm_event_type type = event->event;
          struct rdma_cm_id* id = event->id;
          rdma_ack_cm_event(event);
          if (type == RDMA_CM_EVENT_CONNECT_REQUEST) welcome(id);
          if (type == RDMA_CM_EVENT_DISCONNECTED) goodbye(id);
        }
      }
      if (channel && watched < 0) {
        wanted.data.fd = watched = channel->fd;
        epoll_ctl(loop, EPOLL_CTL_ADD, watched, &wanted);
      }
    }
  }
  printf("key_value: served, %d values expired\n", expired);
  return 0;
}

// --- client
// ---------------------------------------------------------------------------------------------------------

static uint64_t state;
static uint32_t draw(void) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return state >> 33;
}
static uint8_t pattern(uint32_t key, uint32_t version, uint32_t i) {
  return key * 7 + version * 31 + i * 3 + (i >> 8);
}

static struct rdma_cm_id* id;
static struct ibv_mr *value_region, *message_region;
static uint8_t value[kLargest];
static struct {
  struct request request;
  struct reply reply;
} message;

static struct ibv_wc completion(struct ibv_cq* cq) {
  struct ibv_wc wc;
  int n;
  while ((n = ibv_poll_cq(cq, 1, &wc)) == 0) {
  }
  if (n < 0 || wc.status) die(ibv_wc_status_str(wc.status));
  return wc;
}

static int32_t ask(uint32_t what, uint32_t key, uint32_t length) {
  message.request = (struct request){what, key, length, value_region->rkey, (uintptr_t)value, {0}};
  if (length <= kInline) memcpy(message.request.value, value, length);
  if (rdma_post_recv(id, NULL, &message.reply, sizeof message.reply, message_region) ||
      rdma_post_send(id, NULL, &message.request, sizeof message.request, message_region, IBV_SEND_SIGNALED))
    die("request");
  completion(id->send_cq);
  completion(id->recv_cq);
  const int32_t got = message.reply.length;
  if (what != kGet || got <= 0) return got;
  memset(value, 0, sizeof value);
  if (got <= kInline) {
    memcpy(value, message.reply.value, got);
  } else {
    if (rdma_post_read(id, NULL, value, got, value_region, IBV_SEND_SIGNALED, message.reply.address,
                       message.reply.rkey))
      die("READ");
    completion(id->send_cq);
  }
  return got;
}

static void wrong(const char* what, uint32_t key, int32_t got, int32_t expected) {
  fprintf(stderr, "key_value: key %u: %s: %d, not %d\n", key, what, got, expected);
  exit(1);
}

static int client(const char* text, int operations, const char* seed) {
  struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP}, *found;
  char port[16];
  snprintf(port, sizeof port, "%d", kPort);
  struct ibv_qp_init_attr attributes = {.qp_type = IBV_QPT_RC, .sq_sig_all = 0, .cap = {8, 8, 1, 1, 0}};
  struct rdma_conn_param parameters = {
      .responder_resources = 16, .initiator_depth = 16, .retry_count = 7, .rnr_retry_count = 7};
  if (rdma_getaddrinfo((char*)text, port, &hints, &found) || rdma_create_ep(&id, found, NULL, &attributes))
    die("rdma_create_ep");
  if (!(value_region =
            ibv_reg_mr(id->pd, value, sizeof value, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ)) ||
      !(message_region = ibv_reg_mr(id->pd, &message, sizeof message, IBV_ACCESS_LOCAL_WRITE)))
    die("ibv_reg_mr");
  if (rdma_connect(id, &parameters)) die("rdma_connect");

  state = strtoull(seed, NULL, 10);
  int32_t lengths[kKeys];
  uint32_t versions[kKeys];
  for (int i = 0; i < kKeys; ++i) lengths[i] = ask(kRemove, i, 0);
  for (int n = 0; n < operations; ++n) {
    const uint32_t key = draw() % kKeys, choice = draw() % 8;
    if (choice < 3) {
      lengths[key] = draw() % 4 == 0 ? draw() % kInline : draw() % kLargest;
      versions[key] = n;
      for (int32_t i = 0; i < lengths[key]; ++i) value[i] = pattern(key, n, i);
      if (ask(kPut, key, lengths[key]) != lengths[key]) wrong("put", key, message.reply.length, lengths[key]);
    } else if (choice == 3) {
      lengths[key] = -1;
      if (ask(kRemove, key, 0) != -1) wrong("removed", key, message.reply.length, -1);
    } else {
      if (ask(kGet, key, 0) != lengths[key]) wrong("length", key, message.reply.length, lengths[key]);
      for (int32_t i = 0; i < lengths[key]; ++i)
        if (value[i] != pattern(key, versions[key], i))
          wrong("byte", key, value[i], pattern(key, versions[key], i));
    }
  }
  // A value for a while is there at once and gone a lifetime later, not before half of one.
  value[0] = 42;
  const double put = now();
  if (ask(kPutForAWhile, 1, 1) != 1 || ask(kGet, 1, 0) != 1)
    wrong("put for a while", 1, message.reply.length, 1);
  while (ask(kGet, 1, 0) == 1) usleep(500);
  const double lived = now() - put;
  if (lived < kLifetimeMs / 1e3 || lived > 2 * kLifetimeMs / 1e3)
    wrong("ms until it expired", 1, lived * 1e3, kLifetimeMs);
  ask(kStop, 0, 0);
  rdma_disconnect(id);
  printf("key_value: %d operations right\n", operations);
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "server") == 0) return server(argv[2]);
  if (argc == 5 && strcmp(argv[1], "client") == 0) return client(argv[2], atoi(argv[3]), argv[4]);
  fprintf(stderr, "key_value server ADDRESS | client ADDRESS OPERATIONS SEED\n");
  return 2;
}
