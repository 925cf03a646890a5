// A ring of records in the consumer's memory that the producer fills by WRITE, and a thread that listens:
// neither end calls verbs while it waits. The consumer's main thread spins on a flag until the listening
// thread has a connection, then on the last word of the next slot; the producer spins on the counter that the
// consumer WRITEs back.
//   ring consumer ADDRESS RECORDS      ring producer ADDRESS RECORDS
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSlots = 32, kSlot = 2048, kLargest = kSlot - 8, kCreditEvery = 8 };

// What an end gives its peer with the connection.
struct place {
  uint64_t address;
  uint32_t rkey;
};

static union {
  uint8_t slots[kSlots][kSlot];  // consumer's: a record ends with its length and its number (from 1)
  volatile uint32_t consumed;    // producer's: WRITTEN by the consumer
} memory;
static struct rdma_cm_id* volatile connection;  // set by the thread that listens
static struct place peer;
static const char *address_text, *port_text = "7472";

static void die(const char* what) {
  fprintf(stderr, "ring: %s (%s)\n", what, strerror(errno));
  exit(1);
}

static uint8_t pattern(uint32_t number, uint32_t i) { return number * 13 + i * 5 + (i >> 8); }
static uint32_t length_of(uint32_t number) { return number * 2654435761u % (kLargest - 1) + 1; }
static volatile uint32_t* end_of(uint32_t number) {
  return (uint32_t*)&memory.slots[number % kSlots][kLargest];
}

static struct rdma_cm_id* endpoint(int passive) {
  struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP, .ai_flags = passive ? RAI_PASSIVE : 0}, *found;
  struct ibv_qp_init_attr attributes = {.qp_type = IBV_QPT_RC, .cap = {64, 1, 1, 1, 0}};
  struct rdma_cm_id* id;
  if (rdma_getaddrinfo((char*)address_text, (char*)port_text, &hints, &found) ||
      rdma_create_ep(&id, found, NULL, &attributes))
    die("rdma_create_ep");
  rdma_freeaddrinfo(found);
  return id;
}

static struct ibv_mr* registered(struct rdma_cm_id* id, struct place* mine) {
  struct ibv_mr* region =
      ibv_reg_mr(id->pd, &memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (!region) die("ibv_reg_mr");
  *mine = (struct place){(uintptr_t)&memory, region->rkey};
  return region;
}

static struct rdma_conn_param parameters(const struct place* mine) {
  return (struct rdma_conn_param){
      .private_data = mine, .private_data_len = sizeof *mine, .retry_count = 7, .rnr_retry_count = 7};
}

static void* listens(void* unused) {
  struct rdma_cm_id *listener = endpoint(1), *id;
  if (rdma_listen(listener, 1)) die("rdma_listen");
  puts("listening");
  fflush(stdout);
  if (rdma_get_request(listener, &id)) die("rdma_get_request");
  memcpy(&peer, id->event->param.conn.private_data, sizeof peer);
  struct place mine;
  registered(id, &mine);
  struct rdma_conn_param with = parameters(&mine);
  if (rdma_accept(id, &with)) die("rdma_accept");
  connection = id;
  return unused;
}

static void write_to_peer(struct rdma_cm_id* id, void* from, uint32_t length, struct ibv_mr* region,
                          uint64_t offset, int signaled) {
  if (rdma_post_write(id, NULL, from, length, region, signaled ? IBV_SEND_SIGNALED : 0, peer.address + offset,
                      peer.rkey))
    die("WRITE");
  struct ibv_wc wc;
  if (signaled && (rdma_get_send_comp(id, &wc) != 1 || wc.status)) die("the completion of a WRITE");
}

static int consumer(uint32_t records) {
  pthread_t thread;
  pthread_create(&thread, NULL, listens, NULL);
  while (!connection) {
  }
  static uint32_t consumed;
  struct ibv_mr* region = ibv_reg_mr(connection->pd, &consumed, sizeof consumed, IBV_ACCESS_LOCAL_WRITE);
  for (uint32_t number = 0; number < records; ++number) {
    volatile uint32_t* end = end_of(number);
    while (end[1] != number + 1) {
    }
    const uint32_t length = end[0];
    if (length != length_of(number)) die("a wrong length");
    const uint8_t* record = (const uint8_t*)end - length;
    for (uint32_t i = 0; i < length; ++i)
      if (record[i] != pattern(number, i)) die("a wrong byte");
    consumed = number + 1;
    if (consumed % kCreditEvery == 0 || consumed == records)
      write_to_peer(connection, &consumed, 4, region, 0, 1);
  }
  pthread_join(thread, NULL);
  rdma_disconnect(connection);
  printf("ring: %u records right\n", records);
  return 0;
}

static int producer(uint32_t records) {
  static uint8_t staged[kSlots][kSlot];
  struct rdma_cm_id* id = endpoint(0);
  struct place mine;
  registered(id, &mine);
  struct ibv_mr* region = ibv_reg_mr(id->pd, staged, sizeof staged, IBV_ACCESS_LOCAL_WRITE);
  struct rdma_conn_param with = parameters(&mine);
  if (!region || rdma_connect(id, &with)) die("rdma_connect");
  memcpy(&peer, id->event->param.conn.private_data, sizeof peer);
  for (uint32_t number = 0; number < records; ++number) {
    while (number - memory.consumed >= kSlots) {
    }
    const uint32_t length = length_of(number), end[2] = {length, number + 1};
    uint8_t* record = staged[number % kSlots] + kLargest - length;
    for (uint32_t i = 0; i < length; ++i) record[i] = pattern(number, i);
    memcpy(record + length, end, sizeof end);
    write_to_peer(id, record, length + sizeof end, region, (uint64_t)(record - staged[0]),
                  number % kSlots == 0);
  }
  while (memory.consumed != records) {
  }
  rdma_disconnect(id);
  printf("ring: %u records right\n", records);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 4) return fprintf(stderr, "ring consumer|producer ADDRESS RECORDS\n"), 2;
  address_text = argv[2];
  return argv[1][0] == 'c' ? consumer(atoi(argv[3])) : producer(atoi(argv[3]));
}
