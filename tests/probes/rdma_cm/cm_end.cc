#include "tests/probes/rdma_cm/cm_end.h"

#include <arpa/inet.h>

namespace rocelab::probe {

sockaddr_in address(const char* ip, std::uint16_t port) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(port);
  inet_pton(AF_INET, ip, &a.sin_addr);
  return a;
}

CmEnd::CmEnd(rdma_port_space space) : channel(rdma_create_event_channel()) {
  EXPECT_NE(channel, nullptr);
  EXPECT_EQ(rdma_create_id(channel, &id, this, space), 0);
}

CmEnd::~CmEnd() {
  if (id != nullptr && id->qp != nullptr) rdma_destroy_qp(id);
  if (id != nullptr) rdma_destroy_id(id);
  rdma_destroy_event_channel(channel);
}

CmEvent CmEnd::next() {
  rdma_cm_event* event = nullptr;
  EXPECT_EQ(rdma_get_cm_event(channel, &event), 0);
  return CmEvent(event);
}

CmEvent CmEnd::expect(rdma_cm_event_type type) {
  CmEvent event = next();
  EXPECT_STREQ(rdma_event_str(event->event), rdma_event_str(type));
  return event;
}

void CmEnd::listen(std::uint16_t port) {
  sockaddr_in any = address("0.0.0.0", port);
  ASSERT_EQ(rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&any)), 0);
  ASSERT_EQ(rdma_listen(id, 8), 0);
}

void CmEnd::resolve(const char* ip, std::uint16_t port) {
  sockaddr_in to = address(ip, port);
  ASSERT_EQ(rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&to), 1'000), 0);
  expect(RDMA_CM_EVENT_ADDR_RESOLVED);
  ASSERT_EQ(rdma_resolve_route(id, 1'000), 0);
  expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
}

void CmEnd::make_qp(rdma_cm_id* of) {
  ibv_qp_init_attr attr{};
  attr.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  attr.qp_type = of->qp_type;
  ASSERT_EQ(rdma_create_qp(of, nullptr, &attr), 0);
}

int CmEnd::connect(const std::string& private_data) {
  rdma_conn_param p{};
  p.private_data = private_data.data();
  p.private_data_len = static_cast<std::uint8_t>(private_data.size());
  p.responder_resources = p.initiator_depth = 1;
  p.retry_count = p.rnr_retry_count = 7;
  return rdma_connect(id, &p);
}

}  // namespace rocelab::probe
