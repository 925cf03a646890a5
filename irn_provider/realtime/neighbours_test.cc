#include "irn_provider/realtime/neighbours.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include <cstring>
#include <vector>

namespace rocelab::direct {
namespace {

constexpr std::uint32_t kPeer = 0x0a000002, kGateway = 0x0a0000fe;
constexpr MacAddress kMac = {2, 1, 2, 3, 4, 5};

template <class T>
void append(std::vector<std::byte>& out, const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <class T>
void append_attribute(std::vector<std::byte>& out, std::uint16_t type, const T& value) {
  append(out, rtattr{.rta_len = RTA_LENGTH(sizeof value), .rta_type = type});
  append(out, value);
  out.resize(NLMSG_ALIGN(out.size()));
}

template <class Body>
std::vector<std::byte> message(std::uint16_t type, const Body& body,
                               const std::vector<std::byte>& attributes) {
  std::vector<std::byte> out;
  nlmsghdr header{};
  header.nlmsg_type = type;
  header.nlmsg_len = static_cast<std::uint32_t>(sizeof header + sizeof body + attributes.size());
  append(out, header);
  append(out, body);
  out.insert(out.end(), attributes.begin(), attributes.end());
  return out;
}

std::vector<std::byte> neighbour(std::uint32_t ipv4, std::uint16_t state, int interface = 7,
                                 const MacAddress& mac = kMac) {
  ndmsg body{};
  body.ndm_family = AF_INET;
  body.ndm_ifindex = interface;
  body.ndm_state = state;
  std::vector<std::byte> attributes;
  append_attribute(attributes, NDA_DST, htonl(ipv4));
  append_attribute(attributes, NDA_LLADDR, mac);
  return message(RTM_NEWNEIGH, body, attributes);
}

std::vector<std::byte> route(std::uint32_t interface, std::optional<std::uint32_t> gateway) {
  rtmsg body{};
  body.rtm_family = AF_INET;
  body.rtm_type = RTN_UNICAST;
  std::vector<std::byte> attributes;
  append_attribute(attributes, RTA_OIF, interface);
  if (gateway) append_attribute(attributes, RTA_GATEWAY, htonl(*gateway));
  return message(RTM_NEWROUTE, body, attributes);
}

TEST(NeighboursTest, FindsTheEntryAmongOthers) {
  std::vector<std::byte> answer = neighbour(0x0a000009, NUD_REACHABLE, 7, {9, 9, 9, 9, 9, 9});
  for (const auto& more :
       {neighbour(kPeer, NUD_REACHABLE, 8, {8, 8, 8, 8, 8, 8}), neighbour(kPeer, NUD_STALE)})
    answer.insert(answer.end(), more.begin(), more.end());
  EXPECT_EQ(find_neighbour(answer, 7, kPeer), kMac);
  EXPECT_EQ(find_neighbour(answer, 7, 0x0a000003), std::nullopt);
  EXPECT_EQ(find_neighbour(answer, 9, kPeer), std::nullopt);
}

TEST(NeighboursTest, AnUnresolvedEntryIsNone) {
  for (const int state : {NUD_INCOMPLETE, NUD_FAILED, NUD_NONE})
    EXPECT_EQ(find_neighbour(neighbour(kPeer, static_cast<std::uint16_t>(state)), 7, kPeer), std::nullopt)
        << state;
  EXPECT_EQ(find_neighbour(neighbour(kPeer, NUD_PERMANENT), 7, kPeer), kMac);
}

TEST(NeighboursTest, TheNextHopIsTheGatewayOrThePeer) {
  EXPECT_EQ(next_hop(route(7, std::nullopt), 7, kPeer), kPeer);
  EXPECT_EQ(next_hop(route(7, kGateway), 7, kPeer), kGateway);
  EXPECT_EQ(next_hop(route(8, std::nullopt), 7, kPeer), std::nullopt);
  EXPECT_EQ(next_hop({}, 7, kPeer), std::nullopt);
}

TEST(NeighboursTest, CutAnswersAreNone) {
  const auto whole = neighbour(kPeer, NUD_REACHABLE);
  const auto way = route(7, kGateway);
  for (std::size_t n = 0; n < whole.size() - 2; ++n)  // the last two bytes are padding
    EXPECT_EQ(find_neighbour(std::span(whole).first(n), 7, kPeer), std::nullopt) << n;
  for (std::size_t n = 0; n < way.size(); ++n)
    EXPECT_EQ(next_hop(std::span(way).first(n), 7, kPeer), std::nullopt) << n;
}

TEST(NeighboursTest, LengthsThatLieEndTheSearch) {
  auto answer = neighbour(kPeer, NUD_REACHABLE);
  const std::uint16_t zero = 0;
  std::memcpy(&answer[sizeof(nlmsghdr) + sizeof(ndmsg)], &zero, sizeof zero);  // of the first attribute
  EXPECT_EQ(find_neighbour(answer, 7, kPeer), std::nullopt);
  const std::uint32_t tiny = 3;
  std::memcpy(answer.data(), &tiny, sizeof tiny);  // of the message
  EXPECT_EQ(find_neighbour(answer, 7, kPeer), std::nullopt);
}

TEST(NeighboursTest, AnEui64TellsItsMac) {
  const Gid gid = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0xff, 0xfe, 3, 4, 5};
  EXPECT_EQ(mac_of_eui64(gid), kMac);
  Gid other = gid;
  other[11] = 0xfd;
  EXPECT_EQ(mac_of_eui64(other), std::nullopt);
  other = gid;
  other[0] = 0x20;
  EXPECT_EQ(mac_of_eui64(other), std::nullopt);
}

}  // namespace
}  // namespace rocelab::direct
