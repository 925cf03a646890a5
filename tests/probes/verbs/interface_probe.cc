// What the device and its port say of themselves, and of the interface with the host's address, which the
// test gives the program's namespace: it is called rl0.
#include <net/if.h>

#include <array>

#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

TEST(InterfaceProbe, EachGidIsOfTheInterfaceWithTheHostsAddress) {
  Loopback l;
  const unsigned index = if_nametoindex("rl0");
  ASSERT_NE(index, 0u);
  ibv_gid_entry entry{};
  ASSERT_EQ(ibv_query_gid_ex(l.context, 1, 1, &entry, 0), 0);
  EXPECT_EQ(entry.ndev_ifindex, index);
  std::array<ibv_gid_entry, 8> table{};
  const ssize_t entries = ibv_query_gid_table(l.context, table.data(), table.size(), 0);
  ASSERT_EQ(entries, 3);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(table[i].ndev_ifindex, index);
}

TEST(InterfaceProbe, ThePortAsksForAGrhAndTheDeviceTellsItsAckDelay) {
  Loopback l;
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(l.context, 1, &port), 0);
  EXPECT_EQ(port.flags & IBV_QPF_GRH_REQUIRED, IBV_QPF_GRH_REQUIRED);
  EXPECT_EQ(port.max_msg_sz, 1u << 31);
  ibv_device_attr device{};
  ASSERT_EQ(ibv_query_device(l.context, &device), 0);
  EXPECT_EQ(device.local_ca_ack_delay, 15) << "as in a REP";
}

}  // namespace
}  // namespace rocelab::probe
