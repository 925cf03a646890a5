// What a packet socket says when the kernel refuses it something. On the loopback interface: the frames of
// real ones are for tests/live.
#include "irn_provider/realtime/packet_socket.h"

#include <gtest/gtest.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "irn_provider/realtime/frame_filter.h"

namespace rocelab::direct {
namespace {

bool may_open_packet_sockets() {
  const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

TEST(PacketSocketTest, AFilterThatTheKernelRefusesIsAnErrnoAndTheOneBeforeStays) {
  if (!may_open_packet_sockets()) GTEST_SKIP() << "needs root or CAP_NET_RAW";
  PacketSocket wire("lo", nothing_filter(), 1'500);
  EXPECT_EQ(wire.take_groups(true, nothing_filter()), 0);
  EXPECT_EQ(wire.take_groups(false, {}), EINVAL);  // no program
  const int on = 1;
  ASSERT_EQ(setsockopt(wire.fd(), SOL_SOCKET, SO_LOCK_FILTER, &on, sizeof on), 0);
  EXPECT_EQ(wire.take_groups(true, nothing_filter()), EPERM);
}

}  // namespace
}  // namespace rocelab::direct
