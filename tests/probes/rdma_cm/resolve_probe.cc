// When an identifier's address and route may be resolved: the states of Linux's rdma_cm.
#include <rdma/rdma_cma.h>

#include <cerrno>

#include "tests/probes/rdma_cm/cm_end.h"

namespace rocelab::probe {
namespace {

constexpr std::uint16_t kPort = 20'100;

int resolve_address(const CmEnd& end, const char* ip) {
  sockaddr_in to = address(ip, kPort);
  return rdma_resolve_addr(end.id, nullptr, reinterpret_cast<sockaddr*>(&to), 1'000) == 0 ? 0 : errno;
}
int resolve_route(const CmEnd& end) { return rdma_resolve_route(end.id, 1'000) == 0 ? 0 : errno; }

TEST(CmResolveProbe, AnAddressAndARouteAreResolvedOnce) {
  CmEnd client;
  ASSERT_EQ(resolve_address(client, kOwnAddress), 0);
  client.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_EQ(resolve_address(client, kOwnAddress), EINVAL);
  ASSERT_EQ(resolve_route(client), 0);
  client.expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
  EXPECT_EQ(resolve_route(client), EINVAL);
  EXPECT_EQ(resolve_address(client, kOwnAddress), EINVAL);
}

TEST(CmResolveProbe, AnIdentifierWhoseAddressWasNotFoundMayTryAnother) {
  CmEnd client;
  ASSERT_EQ(resolve_address(client, kNobodysAddress), 0);
  client.expect(RDMA_CM_EVENT_ADDR_ERROR);
  ASSERT_EQ(resolve_address(client, kOwnAddress), 0);
  client.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_EQ(resolve_route(client), 0);
}

TEST(CmResolveProbe, AnAddressIsOfTheFamilyThatTheIdentifierIsBoundTo) {
  CmEnd client;
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  ASSERT_EQ(rdma_bind_addr(client.id, reinterpret_cast<sockaddr*>(&any)), 0);
  EXPECT_EQ(resolve_address(client, kOwnAddress), EINVAL);
}

}  // namespace
}  // namespace rocelab::probe
