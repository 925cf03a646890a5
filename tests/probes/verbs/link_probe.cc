// The port's link fails and comes back. The test that runs this lets it do so at these instants.
#include <fcntl.h>
#include <poll.h>

#include <cstring>

#include "tests/probes/verbs/clock.h"
#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

constexpr std::int64_t kFailsNs = 5'000'000, kRecoversNs = 8'000'000;

ibv_port_state state_of(ibv_context* context, int* physical) {
  ibv_port_attr attr{};
  EXPECT_EQ(ibv_query_port(context, 1, &attr), 0);
  *physical = attr.phys_state;
  return attr.state;
}

ibv_event_type next_event(ibv_context* context) {
  ibv_async_event event{};
  EXPECT_EQ(ibv_get_async_event(context, &event), 0);
  EXPECT_EQ(event.element.port_num, 1);
  ibv_ack_async_event(&event);
  return event.event_type;
}

TEST(LinkProbe, EveryContextHearsThatThePortFailsAndComesBack) {
  ibv_context* context = open_device();
  ibv_context* other = open_device();
  ibv_context* closed = open_device();
  int physical = 0;
  EXPECT_EQ(state_of(context, &physical), IBV_PORT_ACTIVE);
  EXPECT_EQ(physical, 5);
  ASSERT_EQ(ibv_close_device(closed), 0);
  const std::int64_t zero = now_ns();

  EXPECT_EQ(next_event(context), IBV_EVENT_PORT_ERR);
  EXPECT_LE(now_ns() - zero, kFailsNs);
  EXPECT_GT(now_ns() - zero, kFailsNs - 1'000'000) << "time began before";
  EXPECT_EQ(state_of(other, &physical), IBV_PORT_DOWN);
  EXPECT_EQ(physical, 3);

  const std::int64_t failed = now_ns();
  EXPECT_EQ(next_event(context), IBV_EVENT_PORT_ACTIVE);
  EXPECT_EQ(now_ns() - failed, kRecoversNs - kFailsNs);
  EXPECT_EQ(state_of(context, &physical), IBV_PORT_ACTIVE);

  pollfd p{.fd = other->async_fd, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&p, 1, 0), 1);
  EXPECT_EQ(next_event(other), IBV_EVENT_PORT_ERR);
  EXPECT_EQ(next_event(other), IBV_EVENT_PORT_ACTIVE);
  EXPECT_EQ(poll(&p, 1, 0), 0) << "two events, no more";
  ibv_close_device(other);
  ibv_close_device(context);
}

}  // namespace
}  // namespace rocelab::probe
