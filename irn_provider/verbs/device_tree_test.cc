#include "irn_provider/verbs/device_tree.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "emu/world/host_identity.h"
#include "irn_provider/verbs/device_attributes.h"

namespace rocelab::verbs {
namespace {

DeviceView view() {
  DeviceView v;
  v.host.ipv4 = 0x0a000001;
  v.host.ipv6 = ipv6_of(v.host.ipv4);
  v.host.mac = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55};
  v.host.name[0] = 'h';
  v.host.nic.link_rate = 40_Gbps;
  v.counters.tx_packets = 7;
  v.counters.tx_bytes = 4'000;
  v.counters.out_of_sequence = 3;
  return v;
}

const std::vector<std::string> kNet = {"h1-eth0"}, kNets = {"h1-eth0", "h1-eth1"}, kNone = {""};

std::map<std::string, std::string> texts(const std::vector<DeviceView>& views) {
  std::map<std::string, std::string> all;
  for (const DeviceFile& file : device_files(views, views.size() == 1 ? kNet : kNets))
    all[file.path] = file.text;
  return all;
}

const std::string kPort = "sys/devices/rocelab/infiniband/rocelab0/ports/1/";

TEST(DeviceTreeTest, FilesHaveTheKernelsNamesAndForms) {
  auto files = texts({view()});
  EXPECT_EQ(files["sys/devices/rocelab/infiniband/rocelab0/node_guid"], "0011:22ff:fe33:4455\n");
  EXPECT_EQ(files["sys/devices/rocelab/infiniband/rocelab0/node_type"], "1: CA\n");
  EXPECT_EQ(files[kPort + "state"], "4: ACTIVE\n");
  EXPECT_EQ(files[kPort + "phys_state"], "5: LinkUp\n");
  EXPECT_EQ(files[kPort + "rate"], "40 Gb/sec (4X FDR10)\n");
  EXPECT_EQ(files[kPort + "lid"], "0x0\n");
  EXPECT_EQ(files[kPort + "cap_mask"], "0x04010000\n") << "CM and GIDs made of IP addresses";
  EXPECT_EQ(files[kPort + "link_layer"], "Ethernet\n");
  EXPECT_EQ(files[kPort + "pkeys/0"], "0xffff\n");
  EXPECT_EQ(files[kPort + "gids/0"], "fe80:0000:0000:0000:0011:22ff:fe33:4455\n");
  EXPECT_EQ(files[kPort + "gids/1"], "0000:0000:0000:0000:0000:ffff:0a00:0001\n");
  EXPECT_EQ(files[kPort + "gids/2"], "fd00:0000:0000:0000:0000:0000:0a00:0001\n");
  EXPECT_EQ(files[kPort + "gid_attrs/types/2"], "RoCE v2\n");
  EXPECT_EQ(files[kPort + "gid_attrs/ndevs/2"], "h1-eth0\n");
  EXPECT_FALSE(files.contains(kPort + "gids/3"));
  EXPECT_EQ(files[kPort + "counters/port_xmit_packets"], "7\n");
  EXPECT_EQ(files[kPort + "counters/port_xmit_data"], "1000\n") << "words of 4 bytes";
  EXPECT_EQ(files[kPort + "hw_counters/out_of_sequence"], "3\n");
}

TEST(DeviceTreeTest, APortWithoutLinkIsDownAndOnlyStateAndCountersChange) {
  DeviceView down = view();
  down.link_up = false;
  down.counters.rx_packets = 1;
  EXPECT_EQ(texts({down})[kPort + "state"], "1: DOWN\n");
  EXPECT_EQ(texts({down})[kPort + "phys_state"], "3: Disabled\n");
  auto before = texts({view()}), after = texts({down});
  for (const DeviceFile& file : device_files(std::vector{view()}, kNet))
    if (!file.changes) {
      EXPECT_EQ(before[file.path], after[file.path]) << file.path;
    }
}

TEST(DeviceTreeTest, PathsOfTheDeviceAreFoundAndOthersLeftAlone) {
  EXPECT_EQ(in_device_tree("/sys/class/infiniband", kNone), "sys/class/infiniband");
  EXPECT_EQ(in_device_tree("/sys//class/./infiniband/", kNone), "sys/class/infiniband/");
  EXPECT_EQ(in_device_tree("/sys/class/net/../infiniband/rocelab0", kNone), "sys/class/infiniband/rocelab0");
  EXPECT_EQ(in_device_tree("/sys/class/infiniband/none", kNone), "sys/class/infiniband/none");
  EXPECT_EQ(in_device_tree("/dev/infiniband/uverbs0", kNone), "dev/infiniband/uverbs0");
  EXPECT_EQ(in_device_tree("/sys/class/net/h1-eth0/device/resource", kNet),
            "sys/class/net/h1-eth0/device/resource");
  for (const char* path : {"/sys/class/infiniband/../net/lo/mtu", "/sys/class/infinibands", "/sys/class",
                           "/sys/class/net/lo/device", "/dev/infinibandx", "/sys/devices/system/cpu", "/"})
    EXPECT_EQ(in_device_tree(path, kNet), "") << path;
}

TEST(DeviceTreeTest, AFileHasOneNameThroughAllLinks) {
  for (const char* path : {"sys/class/infiniband/rocelab0/ports/1/state",
                           "sys/devices/rocelab/infiniband/rocelab0/ports/1/state",
                           "sys/class/infiniband/rocelab0/device/infiniband/rocelab0/ports/1/state",
                           "sys/class/net/h1-eth0/device/infiniband/rocelab0/ports/1/state"})
    EXPECT_EQ(without_links(path, kNet), kPort + "state") << path;
}

TEST(DeviceTreeTest, EachNicOfAHostIsADeviceWithItsInterface) {
  DeviceView second = view();
  second.host.ipv4 = 0x0a000101;
  second.counters.tx_packets = 9;
  auto files = texts({view(), second});
  const std::string port = "sys/devices/rocelab1/infiniband/rocelab1/ports/1/";
  EXPECT_EQ(files[kPort + "gids/1"], "0000:0000:0000:0000:0000:ffff:0a00:0001\n");
  EXPECT_EQ(files[port + "gids/1"], "0000:0000:0000:0000:0000:ffff:0a00:0101\n");
  EXPECT_EQ(files[port + "gid_attrs/ndevs/1"], "h1-eth1\n");
  EXPECT_EQ(files[port + "counters/port_xmit_packets"], "9\n");
  EXPECT_EQ(files["sys/devices/rocelab1/infiniband_verbs/uverbs1/ibdev"], "rocelab1\n");
  EXPECT_TRUE(files.contains("dev/infiniband/uverbs1"));
  EXPECT_EQ(in_device_tree("/sys/devices/rocelab1/resource", kNets), "sys/devices/rocelab1/resource");
  EXPECT_EQ(without_links("sys/class/net/h1-eth1/device/infiniband/rocelab1/ports/1/state", kNets),
            port + "state");
}

// As programs do that were written before NDR: codes 1 to 64, widths 1X, 4X, 8X and 12X.
double old_gbps(const LinkCode& code) {
  const std::map<int, double> lane = {{1, 2.5}, {2, 5}, {4, 10}, {8, 10}, {16, 14}, {32, 25}, {64, 50}};
  const std::map<int, int> lanes = {{1, 1}, {2, 4}, {4, 8}, {8, 12}};
  EXPECT_TRUE(lane.contains(code.speed) && lanes.contains(code.width))
      << int{code.speed} << " " << int{code.width};
  return lane.at(code.speed) * lanes.at(code.width);
}

TEST(LinkCodeTest, OldProgramsComputeTheRateOrTheNextLowerOne) {
  struct Case {
    Rate rate;
    double gbps;
  };
  for (const auto& [rate, gbps] : {Case{1_Gbps, 2.5},
                                   {10_Gbps, 10},
                                   {25_Gbps, 25},
                                   {40_Gbps, 40},
                                   {50_Gbps, 50},
                                   {56_Gbps, 56},
                                   {100_Gbps, 100},
                                   {200_Gbps, 200},
                                   {400_Gbps, 400},
                                   {800_Gbps, 600}})
    EXPECT_EQ(old_gbps(link_code(rate)), gbps) << rate.bps();
}

TEST(LinkCodeTest, NewerProgramsComputeTheRateOfNdrAndXdr) {
  const auto gbps = [](Rate rate) {
    const LinkCode code = link_code(rate);
    return lanes_of(code.width) * speed_name(code.speed_ex).mbps / 1'000;
  };
  EXPECT_EQ(gbps(400_Gbps), 400);
  EXPECT_EQ(gbps(1'200_Gbps), 1'200);
  EXPECT_EQ(gbps(100_Gbps), 100);
}

}  // namespace
}  // namespace rocelab::verbs
