#include "emu/gateway/interface.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "base/wire/bytes.h"

namespace rocelab {
namespace {

constexpr int kReceiveBuffer = 32 << 20;  // some 10 ms of 1 KB frames at 25 Gb/s
constexpr std::size_t kAddresses = 12, kTag = 4;

void set(int fd, int level, int option, int value) { setsockopt(fd, level, option, &value, sizeof value); }

[[noreturn]] void fail(const std::string& name, const std::string& why) {
  throw std::runtime_error(name + ": " + why);
}

// The kernel takes the tag out of a frame and hands it over beside it.
const tpacket_auxdata* tag_of(msghdr& message) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA) continue;
    const auto* data = reinterpret_cast<const tpacket_auxdata*>(CMSG_DATA(c));
    return (data->tp_status & TP_STATUS_VLAN_VALID) != 0 ? data : nullptr;
  }
  return nullptr;
}

}  // namespace

Interface::Interface(const std::string& name) {
  const unsigned index = if_nametoindex(name.c_str());
  if (index == 0) fail(name, "there is no such network device in the host's namespace (ip link)");
  fd_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);  // protocol 0: nothing before bind()
  if (fd_ < 0)
    fail(name, std::string("cannot open a packet socket (root is needed): ") + std::strerror(errno));
  set(fd_, SOL_SOCKET, SO_RCVBUFFORCE, kReceiveBuffer);
  set(fd_, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
  set(fd_, SOL_PACKET, PACKET_AUXDATA, 1);
  packet_mreq promiscuous{};
  promiscuous.mr_ifindex = static_cast<int>(index);
  promiscuous.mr_type = PACKET_MR_PROMISC;
  setsockopt(fd_, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof promiscuous);
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(index);
  if (bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return;
  const int error = errno;
  close(fd_);
  fail(name, std::string("cannot listen on it: ") + std::strerror(error));
}

Interface::~Interface() { close(fd_); }

std::optional<std::size_t> Interface::read(std::span<std::byte> buffer) {
  iovec part{buffer.data(), buffer.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(tpacket_auxdata))> control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t n = recvmsg(fd_, &message, 0);
  if (n <= 0) return std::nullopt;
  const auto length = static_cast<std::size_t>(n);
  const tpacket_auxdata* tag = tag_of(message);
  if (tag == nullptr || length < kAddresses || length + kTag > buffer.size()) return length;
  std::memmove(buffer.data() + kAddresses + kTag, buffer.data() + kAddresses, length - kAddresses);
  const bool has_type = (tag->tp_status & TP_STATUS_VLAN_TPID_VALID) != 0;
  wire::store16(buffer, kAddresses, has_type ? tag->tp_vlan_tpid : std::uint16_t{ETH_P_8021Q});
  wire::store16(buffer, kAddresses + 2, tag->tp_vlan_tci);
  return length + kTag;
}

bool Interface::write(std::span<const std::byte> frame) {
  return send(fd_, frame.data(), frame.size(), 0) == static_cast<ssize_t>(frame.size());
}

std::uint64_t Interface::dropped() {
  tpacket_stats stats{};
  socklen_t size = sizeof stats;
  if (getsockopt(fd_, SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0) dropped_ += stats.tp_drops;
  return dropped_;
}

}  // namespace rocelab
