// Many short connections by rdma_cm, one after the other: each with private data of the largest size both
// ways, one SEND each way, every byte compared, and a disconnection that the client begins.
//   short_connections server ADDRESS COUNT      short_connections client ADDRESS COUNT
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRequestData = 56, kReplyData = 196, kMessage = 3000, kPort = 7475 };  // rdma_cm(7): of RDMA_PS_TCP

static int number;  // of the connection

static void die(const char* what) {
  fprintf(stderr, "short_connections: connection %d: %s (%s)\n", number, what, strerror(errno));
  exit(1);
}

static struct rdma_event_channel* events;

// The next event, which must be of this type; to be acknowledged.
static struct rdma_cm_event* expect(enum rdma_cm_event_type type) {
  struct rdma_cm_event* event;
  if (rdma_get_cm_event(events, &event)) die("rdma_get_cm_event");
  if (event->event == type) return event;
  fprintf(stderr, "short_connections: connection %d: %s (status %d), not %s\n", number,
          rdma_event_str(event->event), event->status, rdma_event_str(type));
  exit(1);
}
static void pass(enum rdma_cm_event_type type) { rdma_ack_cm_event(expect(type)); }

static uint8_t private_byte(int from_server, int i) { return number * 7 + i * 3 + (from_server ? 50 : 0); }
static void fill(uint8_t* data, int length, int from_server) {
  for (int i = 0; i < length; ++i) data[i] = private_byte(from_server, i);
}
static void compare(const struct rdma_conn_param* got, int length, int from_server) {
  if (got->private_data_len < length) die("private data is too short");
  for (int i = 0; i < length; ++i)
    if (((const uint8_t*)got->private_data)[i] != private_byte(from_server, i)) die("private data is wrong");
}

static uint8_t received[kMessage], sent[kMessage];

static struct ibv_mr* prepare(struct rdma_cm_id* id) {
  struct ibv_qp_init_attr attributes = {.qp_type = IBV_QPT_RC, .sq_sig_all = 1, .cap = {4, 4, 1, 1, 0}};
  if (rdma_create_qp(id, NULL, &attributes)) die("rdma_create_qp");
  struct ibv_mr* region = ibv_reg_mr(id->pd, received, sizeof received, IBV_ACCESS_LOCAL_WRITE);
  if (!region || rdma_post_recv(id, NULL, received, sizeof received, region)) die("receive");
  return region;
}

static void exchange(struct rdma_cm_id* id, int is_server) {
  struct ibv_mr* region = ibv_reg_mr(id->pd, sent, sizeof sent, IBV_ACCESS_LOCAL_WRITE);
  for (int i = 0; i < kMessage; ++i) sent[i] = private_byte(is_server, i) + (i >> 8);
  if (!region || rdma_post_send(id, NULL, sent, sizeof sent, region, 0)) die("SEND");
  for (int done = 0; done < 2;) {
    struct ibv_wc wc;
    const int n = ibv_poll_cq(id->send_cq, 1, &wc) ?: ibv_poll_cq(id->recv_cq, 1, &wc);
    if (n < 0 || (n > 0 && wc.status)) die(n < 0 ? "ibv_poll_cq" : ibv_wc_status_str(wc.status));
    done += n;
  }
  for (int i = 0; i < kMessage; ++i)
    if (received[i] != (uint8_t)(private_byte(!is_server, i) + (i >> 8)))
      die("a byte of the message is wrong");
  ibv_dereg_mr(region);
}

static void end(struct rdma_cm_id* id, struct ibv_mr* region) {
  rdma_destroy_qp(id);
  ibv_dereg_mr(region);
  rdma_destroy_id(id);
}

static void serve_one(void) {
  struct rdma_cm_event* request = expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  struct rdma_cm_id* id = request->id;
  compare(&request->param.conn, kRequestData, 0);
  rdma_ack_cm_event(request);
  struct ibv_mr* region = prepare(id);
  uint8_t data[kReplyData];
  fill(data, sizeof data, 1);
  struct rdma_conn_param parameters = {
      .private_data = data, .private_data_len = sizeof data, .rnr_retry_count = 7};
  if (rdma_accept(id, &parameters)) die("rdma_accept");
  pass(RDMA_CM_EVENT_ESTABLISHED);
  exchange(id, 1);
  pass(RDMA_CM_EVENT_DISCONNECTED);
  rdma_disconnect(id);
  end(id, region);
}

static void ask_one(struct sockaddr_in* address) {
  struct rdma_cm_id* id;
  if (rdma_create_id(events, &id, NULL, RDMA_PS_TCP) ||
      rdma_resolve_addr(id, NULL, (struct sockaddr*)address, 2000))
    die("rdma_resolve_addr");
  pass(RDMA_CM_EVENT_ADDR_RESOLVED);
  if (rdma_resolve_route(id, 2000)) die("rdma_resolve_route");
  pass(RDMA_CM_EVENT_ROUTE_RESOLVED);
  struct ibv_mr* region = prepare(id);
  uint8_t data[kRequestData];
  fill(data, sizeof data, 0);
  struct rdma_conn_param parameters = {
      .private_data = data, .private_data_len = sizeof data, .retry_count = 7, .rnr_retry_count = 7};
  if (rdma_connect(id, &parameters)) die("rdma_connect");
  struct rdma_cm_event* established = expect(RDMA_CM_EVENT_ESTABLISHED);
  compare(&established->param.conn, kReplyData, 1);
  rdma_ack_cm_event(established);
  exchange(id, 0);
  rdma_disconnect(id);
  pass(RDMA_CM_EVENT_DISCONNECTED);
  end(id, region);
}

int main(int argc, char** argv) {
  if (argc != 4) return fprintf(stderr, "short_connections server|client ADDRESS COUNT\n"), 2;
  const int is_server = argv[1][0] == 's', count = atoi(argv[3]);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(kPort)};
  if (inet_pton(AF_INET, argv[2], &address.sin_addr) != 1 || !(events = rdma_create_event_channel()))
    die(argv[2]);
  struct rdma_cm_id* listener;
  if (is_server) {
    if (rdma_create_id(events, &listener, NULL, RDMA_PS_TCP) ||
        rdma_bind_addr(listener, (struct sockaddr*)&address) || rdma_listen(listener, 16))
      die("rdma_listen");
    puts("listening");
    fflush(stdout);
  }
  for (number = 0; number < count; ++number) is_server ? serve_one() : ask_one(&address);
  printf("short_connections: %d connections right\n", count);
  return 0;
}
