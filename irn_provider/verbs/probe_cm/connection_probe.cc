// Claims: connections of a program to itself, over the network; refusals; what the events carry.
#include <poll.h>
#include <time.h>

#include <cerrno>

#include "irn_provider/verbs/probe_cm/cm_end.h"

namespace rocelab::probe {
namespace {

constexpr std::uint16_t kPort = 5'000;

double seconds() {
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return static_cast<double>(ts.tv_sec) + 1e-9 * static_cast<double>(ts.tv_nsec);
}

std::string text_of(const CmEvent& event) {
  const rdma_conn_param& p = event->param.conn;
  return std::string(static_cast<const char*>(p.private_data), p.private_data_len);
}

struct Accepted {
  rdma_cm_id* id;
  ~Accepted() {
    rdma_destroy_qp(id);
    rdma_destroy_id(id);
  }
};

TEST(CmConnectionProbe, BothEndsSeeEachOthersAddressesQpsAndPrivateData) {
  CmEnd server, client;
  server.listen(kPort);
  client.resolve(kOwnAddress, kPort);
  client.make_qp(client.id);
  ASSERT_EQ(client.connect("question"), 0);
  CmEvent request = server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  EXPECT_EQ(request->listen_id, server.id);
  EXPECT_EQ(text_of(request).substr(0, 9), std::string("question\0", 9));
  EXPECT_EQ(text_of(request).size(), 56u);
  EXPECT_EQ(request->param.conn.qp_num, client.id->qp->qp_num);
  Accepted accepted{request->id};
  EXPECT_EQ(rdma_get_dst_port(accepted.id), rdma_get_src_port(client.id));
  EXPECT_EQ(reinterpret_cast<sockaddr_in*>(rdma_get_peer_addr(accepted.id))->sin_addr.s_addr,
            address(kOwnAddress, 0).sin_addr.s_addr);
  server.make_qp(accepted.id);
  rdma_conn_param p{};
  p.private_data = "answer";
  p.private_data_len = 6;
  p.responder_resources = p.initiator_depth = 1;
  ASSERT_EQ(rdma_accept(accepted.id, &p), 0);
  request.reset();
  const CmEvent answer = client.expect(RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(text_of(answer).substr(0, 6), "answer");
  EXPECT_EQ(answer->param.conn.qp_num, accepted.id->qp->qp_num);
  server.expect(RDMA_CM_EVENT_ESTABLISHED);

  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(client.id->qp, &attr, IBV_QP_STATE | IBV_QP_DEST_QPN, &init), 0);
  EXPECT_EQ(attr.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(attr.dest_qp_num, accepted.id->qp->qp_num);

  ASSERT_EQ(rdma_disconnect(client.id), 0);
  server.expect(RDMA_CM_EVENT_DISCONNECTED);
  ASSERT_EQ(rdma_disconnect(accepted.id), 0);
  client.expect(RDMA_CM_EVENT_DISCONNECTED);
  client.expect(RDMA_CM_EVENT_TIMEWAIT_EXIT);
}

TEST(CmConnectionProbe, NobodyListeningIsRejectedWithReason8) {
  CmEnd client;
  client.resolve(kOwnAddress, 5'001);
  client.make_qp(client.id);
  ASSERT_EQ(client.connect(), 0);
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_REJECTED)->status, 8);
}

TEST(CmConnectionProbe, RejectionCarriesReasonAndPrivateData) {
  CmEnd server, client;
  server.listen(kPort);
  client.resolve(kOwnAddress, kPort);
  client.make_qp(client.id);
  ASSERT_EQ(client.connect(), 0);
  rdma_cm_id* refused = nullptr;
  {
    const CmEvent request = server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
    refused = request->id;
    ASSERT_EQ(rdma_reject(refused, "no", 2), 0);
  }
  EXPECT_EQ(rdma_destroy_id(refused), 0);
  const CmEvent rejected = client.expect(RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(rejected->status, 28);  // consumer defined
  EXPECT_EQ(text_of(rejected).substr(0, 2), "no");
}

// Nobody answers for a host without any program that uses rdma_cm: 16 requests, each with its CM response
// timeout and the way there and back.
TEST(CmConnectionProbe, SilentHostIsUnreachableAfterItsTimeouts) {
  CmEnd client;
  client.resolve("10.0.0.2", kPort);
  client.make_qp(client.id);
  const double begin = seconds();
  ASSERT_EQ(client.connect(), 0);
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_UNREACHABLE)->status, -ETIMEDOUT);
  const double unit = 4.096e-6, want = 16 * (unit * (1 << 20) + 2 * unit * (1 << 18));
  EXPECT_NEAR(seconds() - begin, want, 0.001);
}

TEST(CmConnectionProbe, AddressOfNoHostIsAnAddressError) {
  CmEnd client;
  sockaddr_in to = address(kNobodysAddress, kPort);
  ASSERT_EQ(rdma_resolve_addr(client.id, nullptr, reinterpret_cast<sockaddr*>(&to), 1'000), 0);
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_ADDR_ERROR)->status, -EHOSTUNREACH);
}

TEST(CmConnectionProbe, PortInUseIsEaddrinuse) {
  CmEnd first, second;
  first.listen(kPort);
  sockaddr_in any = address("0.0.0.0", kPort);
  EXPECT_EQ(rdma_bind_addr(second.id, reinterpret_cast<sockaddr*>(&any)), -1);
  EXPECT_EQ(errno, EADDRINUSE);
  CmEnd datagrams(RDMA_PS_UDP);  // another port space
  datagrams.listen(kPort);
}

TEST(CmConnectionProbe, ClosedListenerFreesItsPort) {
  for (int i = 0; i < 3; ++i) {
    CmEnd server;
    server.listen(kPort);
  }
}

TEST(CmConnectionProbe, ForeignAddressCannotBeBound) {
  CmEnd end;
  sockaddr_in foreign = address("10.0.0.2", kPort);
  EXPECT_EQ(rdma_bind_addr(end.id, reinterpret_cast<sockaddr*>(&foreign)), -1);
  EXPECT_EQ(errno, EADDRNOTAVAIL);
}

// libfabric's server does so to ask what there is.
TEST(CmConnectionProbe, LoopbackIsAsGoodAsNoAddress) {
  CmEnd end;
  sockaddr_in loopback = address("127.0.0.1", 0);
  EXPECT_EQ(rdma_bind_addr(end.id, reinterpret_cast<sockaddr*>(&loopback)), 0);
  EXPECT_EQ(end.id->verbs, nullptr);
  EXPECT_NE(rdma_get_src_port(end.id), 0);
}

TEST(CmConnectionProbe, BoundIdentifierKnowsDevicePortAndPortNumber) {
  CmEnd end;
  sockaddr_in own = address(kOwnAddress, 0);
  ASSERT_EQ(rdma_bind_addr(end.id, reinterpret_cast<sockaddr*>(&own)), 0);
  ASSERT_NE(end.id->verbs, nullptr);
  EXPECT_STREQ(ibv_get_device_name(end.id->verbs->device), "rocelab0");
  EXPECT_EQ(end.id->port_num, 1);
  EXPECT_GE(ntohs(rdma_get_src_port(end.id)), 32'768);
}

// The request that nobody fetched goes with its listener, and its sender is told.
TEST(CmConnectionProbe, ListenerThatGoesRejectsWhatWaits) {
  CmEnd client;
  {
    CmEnd server;
    server.listen(kPort);
    client.resolve(kOwnAddress, kPort);
    client.make_qp(client.id);
    ASSERT_EQ(client.connect(), 0);
    pollfd wait{.fd = server.channel->fd, .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&wait, 1, 1'000), 1);
  }
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_REJECTED)->status, 28);
}

TEST(CmConnectionProbe, ChannelIsReadableWhileEventsWait) {
  CmEnd client;
  pollfd wait{.fd = client.channel->fd, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&wait, 1, 10), 0);
  sockaddr_in to = address(kOwnAddress, kPort);
  ASSERT_EQ(rdma_resolve_addr(client.id, nullptr, reinterpret_cast<sockaddr*>(&to), 1'000), 0);
  EXPECT_EQ(poll(&wait, 1, 10), 1);
  client.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_EQ(poll(&wait, 1, 0), 0);
}

TEST(CmConnectionProbe, PrivateDataThatDoesNotFitIsEinval) {
  CmEnd client;
  client.resolve(kOwnAddress, kPort);
  client.make_qp(client.id);
  EXPECT_EQ(client.connect(std::string(57, 'x')), -1);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace rocelab::probe
