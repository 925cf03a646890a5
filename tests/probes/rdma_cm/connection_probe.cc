// Claims: connections of a program to itself, over the network; refusals; what the events carry.
#include <poll.h>
#include <time.h>

#include <cerrno>

#include "tests/probes/rdma_cm/cm_end.h"

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

// 0 or the errno.
int bind_any(rdma_cm_id* id, int family, std::uint16_t port) {
  sockaddr_in6 any{};
  any.sin6_family = static_cast<sa_family_t>(family);
  any.sin6_port = htons(port);  // where sockaddr_in has it
  return rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&any)) == 0 ? 0 : errno;
}

int set(rdma_cm_id* id, int option, int value) {
  return rdma_set_option(id, RDMA_OPTION_ID, option, &value, sizeof value) == 0 ? 0 : errno;
}

TEST(CmConnectionProbe, AListenerOnEachFamilyOfOnePortIfIpv6KeepsToItself) {
  CmEnd any, six, four, client;
  ASSERT_EQ(bind_any(any.id, AF_INET6, kPort), 0);
  ASSERT_EQ(rdma_listen(any.id, 8), 0);
  EXPECT_EQ(bind_any(four.id, AF_INET, kPort), EADDRNOTAVAIL);
  EXPECT_EQ(set(any.id, RDMA_OPTION_ID_AFONLY, 1), EINVAL);  // it listens
  client.resolve(kOwnAddress, kPort);
  client.make_qp(client.id);
  ASSERT_EQ(client.connect(), 0);
  CmEvent request = any.expect(RDMA_CM_EVENT_CONNECT_REQUEST);  // [::] takes IPv4, too
  rdma_destroy_id(request->id);
  request.reset();
  client.expect(RDMA_CM_EVENT_REJECTED);

  const std::uint16_t port = kPort + 1;
  ASSERT_EQ(set(six.id, RDMA_OPTION_ID_AFONLY, 1), 0);
  ASSERT_EQ(bind_any(six.id, AF_INET6, port), 0);
  ASSERT_EQ(rdma_listen(six.id, 8), 0);
  CmEnd refused, taken;
  refused.resolve(kOwnAddress, port);
  refused.make_qp(refused.id);
  ASSERT_EQ(refused.connect(), 0);
  EXPECT_EQ(refused.expect(RDMA_CM_EVENT_REJECTED)->status, 28);
  ASSERT_EQ(bind_any(four.id, AF_INET, port), 0);
  ASSERT_EQ(rdma_listen(four.id, 8), 0);
  taken.resolve(kOwnAddress, port);
  taken.make_qp(taken.id);
  ASSERT_EQ(taken.connect(), 0);
  request = four.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  rdma_destroy_id(request->id);
}

TEST(CmConnectionProbe, APortIsReusedByThoseWhoAllSaySoAndByNobodyWhenOneListens) {
  CmEnd first, second, third;
  for (const CmEnd* end : {&first, &second}) ASSERT_EQ(set(end->id, RDMA_OPTION_ID_REUSEADDR, 1), 0);
  ASSERT_EQ(bind_any(first.id, AF_INET, kPort + 2), 0);
  EXPECT_EQ(set(first.id, RDMA_OPTION_ID_REUSEADDR, 0), EINVAL);  // too late
  EXPECT_EQ(bind_any(third.id, AF_INET, kPort + 2), EADDRNOTAVAIL);
  EXPECT_EQ(bind_any(second.id, AF_INET, kPort + 2), 0);
  EXPECT_EQ(rdma_listen(first.id, 8), -1);
  EXPECT_EQ(errno, EADDRNOTAVAIL);
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

TEST(CmConnectionProbe, PortInUseHasLinuxsErrnos) {
  CmEnd first, second, third;
  first.listen(kPort);
  EXPECT_EQ(bind_any(second.id, AF_INET, kPort), EADDRNOTAVAIL);  // "any" is in everybody's way
  sockaddr_in own = address(kOwnAddress, kPort + 1);
  EXPECT_EQ(rdma_bind_addr(second.id, reinterpret_cast<sockaddr*>(&own)), 0);
  EXPECT_EQ(rdma_bind_addr(third.id, reinterpret_cast<sockaddr*>(&own)), -1);
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

// Its identifier has no name with the library before it is accepted, which would wait for a further event.
TEST(CmConnectionProbe, ARequestThatIsWithdrawnBeforeItIsAcceptedIsNoEventAndCannotBeAccepted) {
  CmEnd server;
  server.listen(kPort);
  CmEvent request;
  {
    CmEnd client;
    client.resolve(kOwnAddress, kPort);
    client.make_qp(client.id);
    ASSERT_EQ(client.connect(), 0);
    request = server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  }
  pollfd wait{.fd = server.channel->fd, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&wait, 1, 1), 0);
  rdma_conn_param p{};
  EXPECT_EQ(rdma_accept(request->id, &p), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(poll(&wait, 1, 10'000), 0) << "nor is the end of its time wait";
  EXPECT_EQ(rdma_accept(request->id, &p), -1);
  EXPECT_EQ(rdma_reject(request->id, nullptr, 0), -1);
  EXPECT_EQ(rdma_destroy_id(request->id), 0);
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

// librdmacm moves the queue pair to ERR before it says so.
TEST(CmConnectionProbe, AnAnswerWhosePrivateDataDoesNotFitIsEinvalToo) {
  CmEnd server, client;
  server.listen(kPort);
  client.resolve(kOwnAddress, kPort);
  client.make_qp(client.id);
  ASSERT_EQ(client.connect(), 0);
  const CmEvent request = server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  const Accepted refused{request->id};
  server.make_qp(refused.id);
  const std::string data(197, 'x');
  rdma_conn_param p{};
  p.private_data = data.data();
  p.private_data_len = static_cast<std::uint8_t>(data.size());
  EXPECT_EQ(rdma_accept(refused.id, &p), -1);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace rocelab::probe
