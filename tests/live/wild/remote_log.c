// An append-only log in another host's memory by librpma: WRITE, flush (librpma's is a READ behind it), READ
// back and compare.
//   remote_log server ADDRESS        remote_log client ADDRESS RECORDS
#include <librpma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kLog = 1 << 20, kRecord = 1000 };

static uint8_t *log_bytes, *staged, *read_back;
static struct rpma_peer* peer;

static void check(int status, const char* what) {
  if (status == 0) return;
  fprintf(stderr, "remote_log: %s: %s\n", what, rpma_err_2str(status));
  exit(1);
}

static void open_peer(const char* address, enum rpma_util_ibv_context_type type) {
  struct ibv_context* context;
  check(rpma_utils_get_ibv_context(address, type, &context), "the device");
  check(rpma_peer_new(context, &peer), "rpma_peer_new");
}

static void expect(struct rpma_conn* connection, enum rpma_conn_event wanted) {
  enum rpma_conn_event event;
  check(rpma_conn_next_event(connection, &event), "rpma_conn_next_event");
  if (event == wanted) return;
  fprintf(stderr, "remote_log: %s, not %s\n", rpma_utils_conn_event_2str(event),
          rpma_utils_conn_event_2str(wanted));
  exit(1);
}

static int server(const char* address) {
  open_peer(address, RPMA_UTIL_IBV_CONTEXT_LOCAL);
  struct rpma_ep* endpoint;
  struct rpma_mr_local* region;
  struct rpma_conn_req* request;
  struct rpma_conn* connection;
  uint8_t descriptor[64];
  size_t size;
  check(rpma_ep_listen(peer, address, "7474", &endpoint), "rpma_ep_listen");
  const int usage = RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY;
  check(rpma_mr_reg(peer, log_bytes, kLog, usage, &region), "rpma_mr_reg");
  check(rpma_mr_get_descriptor_size(region, &size), "descriptor");
  check(rpma_mr_get_descriptor(region, descriptor), "descriptor");
  puts("listening");
  fflush(stdout);
  check(rpma_ep_next_conn_req(endpoint, NULL, &request), "rpma_ep_next_conn_req");
  const struct rpma_conn_private_data data = {descriptor, size};
  check(rpma_conn_req_connect(&request, &data, &connection), "rpma_conn_req_connect");
  expect(connection, RPMA_CONN_ESTABLISHED);
  expect(connection, RPMA_CONN_CLOSED);
  rpma_conn_disconnect(connection);
  rpma_conn_delete(&connection);
  rpma_mr_dereg(&region);
  rpma_ep_shutdown(&endpoint);
  rpma_peer_delete(&peer);
  puts("remote_log: closed");
  return 0;
}

static struct rpma_cq* completions;

static void completed(void) {
  struct ibv_wc wc;
  check(rpma_cq_wait(completions), "rpma_cq_wait");
  check(rpma_cq_get_wc(completions, 1, &wc, NULL), "rpma_cq_get_wc");
  if (wc.status) {
    fprintf(stderr, "remote_log: %s\n", ibv_wc_status_str(wc.status));
    exit(1);
  }
}

static int client(const char* address, int records) {
  open_peer(address, RPMA_UTIL_IBV_CONTEXT_REMOTE);
  struct rpma_conn_req* request;
  struct rpma_conn* connection;
  struct rpma_conn_private_data data;
  struct rpma_mr_remote* remote;
  struct rpma_mr_local *source, *sink;
  check(rpma_conn_req_new(peer, address, "7474", NULL, &request), "rpma_conn_req_new");
  check(rpma_conn_req_connect(&request, NULL, &connection), "rpma_conn_req_connect");
  expect(connection, RPMA_CONN_ESTABLISHED);
  check(rpma_conn_get_private_data(connection, &data), "private data");
  check(rpma_mr_remote_from_descriptor(data.ptr, data.len, &remote), "descriptor");
  check(rpma_mr_reg(peer, staged, kRecord, RPMA_MR_USAGE_WRITE_SRC, &source), "rpma_mr_reg");
  check(rpma_mr_reg(peer, read_back, kRecord, RPMA_MR_USAGE_READ_DST, &sink), "rpma_mr_reg");
  check(rpma_conn_get_cq(connection, &completions), "rpma_conn_get_cq");
  for (int n = 0; n < records; ++n) {
    const size_t at = (size_t)n % (kLog / kRecord) * kRecord;
    for (int i = 0; i < kRecord; ++i) staged[i] = n * 17 + i * 3 + (i >> 8);
    check(rpma_write(connection, remote, at, source, 0, kRecord, RPMA_F_COMPLETION_ON_ERROR, NULL),
          "rpma_write");
    check(rpma_flush(connection, remote, at, kRecord, RPMA_FLUSH_TYPE_VISIBILITY, RPMA_F_COMPLETION_ALWAYS,
                     NULL),
          "rpma_flush");
    completed();
    memset(read_back, 0, kRecord);
    check(rpma_read(connection, sink, 0, remote, at, kRecord, RPMA_F_COMPLETION_ALWAYS, NULL), "rpma_read");
    completed();
    if (memcmp(staged, read_back, kRecord)) return fprintf(stderr, "remote_log: record %d is wrong\n", n), 1;
  }
  rpma_conn_disconnect(connection);
  expect(connection, RPMA_CONN_CLOSED);
  rpma_mr_remote_delete(&remote);
  rpma_mr_dereg(&source);
  rpma_mr_dereg(&sink);
  rpma_conn_delete(&connection);
  rpma_peer_delete(&peer);
  printf("remote_log: %d records right\n", records);
  return 0;
}

int main(int argc, char** argv) {
  log_bytes = aligned_alloc(4096, kLog);
  staged = aligned_alloc(4096, 4096);
  read_back = aligned_alloc(4096, 4096);
  if (argc == 3 && argv[1][0] == 's') return server(argv[2]);
  if (argc == 4 && argv[1][0] == 'c') return client(argv[2], atoi(argv[3]));
  fprintf(stderr, "remote_log server ADDRESS | client ADDRESS RECORDS\n");
  return 2;
}
