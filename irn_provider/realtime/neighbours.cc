#include "irn_provider/realtime/neighbours.h"

#include <arpa/inet.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <vector>

namespace rocelab::direct {
namespace {

constexpr std::uint16_t kDiscardPort = 9;
constexpr int kStepMs = 2;
constexpr unsigned kUsable = NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE;

template <class T>
std::optional<T> read(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// Calls f(type, payload) for each message; the length fields are the kernel's, but never believed.
template <class F>
void for_each_message(std::span<const std::byte> bytes, F&& f) {
  while (const auto header = read<nlmsghdr>(bytes)) {
    if (header->nlmsg_len < sizeof(nlmsghdr) || header->nlmsg_len > bytes.size()) return;
    f(header->nlmsg_type, bytes.subspan(NLMSG_HDRLEN, header->nlmsg_len - NLMSG_HDRLEN));
    bytes = bytes.subspan(std::min<std::size_t>(NLMSG_ALIGN(header->nlmsg_len), bytes.size()));
  }
}

template <class F>
void for_each_attribute(std::span<const std::byte> bytes, F&& f) {
  while (const auto header = read<rtattr>(bytes)) {
    if (header->rta_len < sizeof(rtattr) || header->rta_len > bytes.size()) return;
    f(header->rta_type, bytes.subspan(RTA_LENGTH(0), header->rta_len - RTA_LENGTH(0)));
    bytes = bytes.subspan(std::min<std::size_t>(RTA_ALIGN(header->rta_len), bytes.size()));
  }
}

std::optional<std::uint32_t> ipv4_of(std::span<const std::byte> bytes) {
  const auto raw = read<std::uint32_t>(bytes);
  return raw ? std::optional(ntohl(*raw)) : std::nullopt;
}

// The answers to one request, put together; empty: none.
std::vector<std::byte> ask(std::span<const std::byte> request) {
  std::vector<std::byte> all;
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) return all;
  const timeval patience{.tv_sec = 0, .tv_usec = 200'000};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  bool more = send(fd, request.data(), request.size(), 0) == static_cast<ssize_t>(request.size());
  std::vector<std::byte> part(1 << 16);
  while (more) {
    const ssize_t n = recv(fd, part.data(), part.size(), 0);
    if (n <= 0) break;
    const auto got = std::span(part).first(static_cast<std::size_t>(n));
    more = false;
    for_each_message(got, [&](std::uint16_t type, std::span<const std::byte>) {
      more = type == RTM_NEWNEIGH;  // a dump goes on until NLMSG_DONE
    });
    all.insert(all.end(), got.begin(), got.end());
  }
  close(fd);
  return all;
}

std::vector<std::byte> route_request(unsigned interface, std::uint32_t ipv4) {
  struct {
    nlmsghdr header{};
    rtmsg route{};
    rtattr dst{};
    std::uint32_t dst_value = 0;
    rtattr oif{};
    std::uint32_t oif_value = 0;
  } r;
  r.header.nlmsg_len = sizeof r;
  r.header.nlmsg_type = RTM_GETROUTE;
  r.header.nlmsg_flags = NLM_F_REQUEST;
  r.route.rtm_family = AF_INET;
  r.route.rtm_dst_len = 32;
  r.dst = {.rta_len = RTA_LENGTH(4), .rta_type = RTA_DST};
  r.dst_value = htonl(ipv4);
  r.oif = {.rta_len = RTA_LENGTH(4), .rta_type = RTA_OIF};
  r.oif_value = interface;
  const auto bytes = std::as_bytes(std::span(&r, 1));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> neighbour_request(unsigned interface) {
  struct {
    nlmsghdr header{};
    ndmsg neighbour{};
  } r;
  r.header.nlmsg_len = sizeof r;
  r.header.nlmsg_type = RTM_GETNEIGH;
  r.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  r.neighbour.ndm_family = AF_INET;
  r.neighbour.ndm_ifindex = static_cast<int>(interface);
  const auto bytes = std::as_bytes(std::span(&r, 1));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::optional<MacAddress> mac_of_eui64(const Gid& gid) {
  constexpr Gid kPrefix = {0xfe, 0x80};
  if (!std::equal(gid.begin(), gid.begin() + 8, kPrefix.begin()) || gid[11] != 0xff || gid[12] != 0xfe)
    return std::nullopt;
  return MacAddress{static_cast<std::uint8_t>(gid[8] ^ 2), gid[9], gid[10], gid[13], gid[14], gid[15]};
}

std::optional<MacAddress> find_neighbour(std::span<const std::byte> answer, unsigned interface,
                                         std::uint32_t ipv4) {
  std::optional<MacAddress> found;
  for_each_message(answer, [&](std::uint16_t type, std::span<const std::byte> payload) {
    const auto entry = read<ndmsg>(payload);
    if (type != RTM_NEWNEIGH || !entry || entry->ndm_family != AF_INET ||
        entry->ndm_ifindex != static_cast<int>(interface) || (entry->ndm_state & kUsable) == 0)
      return;
    std::optional<std::uint32_t> address;
    std::optional<MacAddress> mac;
    for_each_attribute(payload.subspan(NLMSG_ALIGN(sizeof(ndmsg))), [&](std::uint16_t kind, auto value) {
      if (kind == NDA_DST) address = ipv4_of(value);
      if (kind == NDA_LLADDR) mac = read<MacAddress>(value);
    });
    if (address == ipv4 && mac) found = mac;
  });
  return found;
}

std::optional<std::uint32_t> next_hop(std::span<const std::byte> answer, unsigned interface,
                                      std::uint32_t ipv4) {
  std::optional<std::uint32_t> hop;
  for_each_message(answer, [&](std::uint16_t type, std::span<const std::byte> payload) {
    const auto route = read<rtmsg>(payload);
    if (type != RTM_NEWROUTE || !route || (route->rtm_type != RTN_UNICAST && route->rtm_type != RTN_LOCAL))
      return;
    std::uint32_t gateway = ipv4;
    std::optional<std::uint32_t> out;
    for_each_attribute(payload.subspan(NLMSG_ALIGN(sizeof(rtmsg))), [&](std::uint16_t kind, auto value) {
      if (kind == RTA_GATEWAY) gateway = ipv4_of(value).value_or(gateway);
      if (kind == RTA_OIF) out = read<std::uint32_t>(value);
    });
    if (out == interface) hop = gateway;
  });
  return hop;
}

std::optional<MacAddress> Neighbours::lookup(std::uint32_t ipv4) const {
  return find_neighbour(ask(neighbour_request(interface_)), interface_, ipv4);
}

// The kernel's own way: it resolves what it has something to send to.
void Neighbours::probe(std::uint32_t ipv4) const {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, host_.name, static_cast<socklen_t>(std::strlen(host_.name)));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(kDiscardPort);
  to.sin_addr.s_addr = htonl(ipv4);
  sendto(fd, nullptr, 0, MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  close(fd);
}

std::optional<MacAddress> Neighbours::resolve(const Gid& gid) const {
  if (!is_ipv4_mapped(gid)) return mac_of_eui64(gid);
  const std::uint32_t ipv4 = wire::load32(std::as_bytes(std::span(gid)), 12);
  if (ipv4 == host_.ipv4) return host_.mac;
  const auto hop = next_hop(ask(route_request(interface_, ipv4)), interface_, ipv4);
  if (!hop) return std::nullopt;
  for (int waited = 0;; waited += kStepMs) {
    if (const auto mac = lookup(*hop)) return mac;
    if (waited >= kPatienceMs) return std::nullopt;
    if (waited % 1'000 == 0) probe(ipv4);
    const timespec step{.tv_sec = 0, .tv_nsec = kStepMs * 1'000'000};
    nanosleep(&step, nullptr);
  }
}

}  // namespace rocelab::direct
