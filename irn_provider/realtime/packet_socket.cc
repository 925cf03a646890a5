#include "irn_provider/realtime/packet_socket.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "base/check.h"
#include "irn_provider/realtime/frame_filter.h"

namespace rocelab::direct {
namespace {

constexpr int kReceiveBuffer = 32 << 20, kSendBuffer = 8 << 20;
constexpr std::uint16_t kRocePort = 4791;

// What the kernel says of a train that neither it nor the adapter cuts.
bool takes_no_trains(int error) {
  return error == EINVAL || error == EOPNOTSUPP || error == EMSGSIZE || error == EIO;
}

void set(int fd, int level, int option, int value) { setsockopt(fd, level, option, &value, sizeof value); }

// 0 or the errno.
int try_to_attach(int fd, std::vector<sock_filter> code) {
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0 ? 0 : errno;
}

void attach(int fd, const std::vector<sock_filter>& code) {
  if (const int error = try_to_attach(fd, code); error != 0)
    throw std::runtime_error(std::string("cannot filter frames: ") + std::strerror(error));
}

}  // namespace

PacketSocket::PacketSocket(const std::string& interface, const std::vector<sock_filter>& filter,
                           std::uint32_t longest)
    : name_(interface),
      slot_bytes_((longest + 63) / 64 * 64),
      slots_(std::make_unique<std::byte[]>((kFront + slot_bytes_) * kBatch)) {
  try {
    open(interface, filter);
  } catch (const std::exception& e) {
    if (fd_ >= 0) close(fd_);
    throw std::runtime_error("interface " + interface + ": " + e.what());
  }
}

void PacketSocket::open(const std::string& interface, const std::vector<sock_filter>& filter) {
  // Protocol 0: nothing comes before bind(), by when the filter is there.
  fd_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0)
    throw std::runtime_error(std::string("cannot open a packet socket (root or CAP_NET_RAW is needed): ") +
                             std::strerror(errno));
  set(fd_, SOL_SOCKET, SO_RCVBUF, kReceiveBuffer);  // what the system's limit allows,
  set(fd_, SOL_SOCKET, SO_RCVBUFFORCE, kReceiveBuffer);
  set(fd_, SOL_SOCKET, SO_SNDBUF, kSendBuffer);
  set(fd_, SOL_SOCKET, SO_SNDBUFFORCE, kSendBuffer);
  set(fd_, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
  // No PACKET_QDISC_BYPASS: that way the kernel drops what it would have to cut.
  ring_.emplace(fd_);
  attach(fd_, filter);
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = interface_ = static_cast<int>(if_nametoindex(interface.c_str()));
  if (bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error(std::string("cannot listen on it: ") + std::strerror(errno));
}

PacketSocket::~PacketSocket() { close(fd_); }

int PacketSocket::take_groups(bool on, const std::vector<sock_filter>& filter) {
  if (const int error = try_to_attach(fd_, filter); error != 0) return error;
  packet_mreq all{};
  all.mr_ifindex = interface_;
  all.mr_type = PACKET_MR_ALLMULTI;
  // Where that is refused, what comes all the same is taken: a veth and a bridge let groups pass.
  setsockopt(fd_, SOL_PACKET, on ? PACKET_ADD_MEMBERSHIP : PACKET_DROP_MEMBERSHIP, &all, sizeof all);
  return 0;
}

std::uint64_t PacketSocket::dropped() {
  tpacket_stats stats{};
  socklen_t size = sizeof stats;
  if (getsockopt(fd_, SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0) dropped_ += stats.tp_drops;
  return dropped_ + ring_->cut();
}

bool PacketSocket::link_up() const {
  ifreq request{};
  name_.copy(request.ifr_name, sizeof request.ifr_name - 1);
  return ioctl(fd_, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_RUNNING) != 0;
}

// The interface has gone down: link_up() tells.
void PacketSocket::clear_error() {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
}

// --- sending

FramePort::Slot PacketSocket::place(const Flow& flow, std::size_t length, Kind kind) {
  return {slot_of(packer_.frames()), packer_.choose(flow, length, kind)};
}

void PacketSocket::fill() {
  const std::uint32_t slot = packer_.frames();
  packer_.add(slot_of(slot).first(packer_.length(slot)));
  built_ = false;
  if (room() == 0) flush();
}

// sendmmsg's arguments for all trains from next_ on.
void PacketSocket::build() {
  const std::vector<Train>& trains = packer_.trains();
  messages_.clear();
  parts_.clear();
  parts_.reserve(2 * packer_.frames() + 2 * trains.size());  // messages point into it
  const auto add = [&](std::span<const std::byte> bytes) {
    parts_.push_back({const_cast<std::byte*>(bytes.data()), bytes.size()});
  };
  for (std::size_t i = next_; i < trains.size(); ++i) {
    const Train& train = trains[i];
    const std::size_t begin = parts_.size();
    if (train.frames == 1) {
      add(with_kernel_header(train.first));
    } else {
      auto& [kernel, head] = heads_[i];
      const std::span<const std::byte> first = slot_of(train.first).first(packer_.length(train.first));
      const std::size_t headers = write_train_headers(first, train.payload, train.segment, kernel, head);
      add(std::as_bytes(std::span(&kernel, 1)));
      add(std::span(head).first(headers));
      packer_.each_frame(train, [&](std::uint32_t slot) { add(payload_of(slot, train)); });
    }
    mmsghdr message{};
    message.msg_hdr.msg_iov = &parts_[begin];
    message.msg_hdr.msg_iovlen = parts_.size() - begin;
    messages_.push_back(message);
  }
  built_ = true;
}

// What a train is to the kernel, if that is one piece of memory or small enough for a copy; else nothing.
std::span<const std::byte> PacketSocket::in_one_piece(const Train& train) {
  if (train.frames == 1) return with_kernel_header(train.first);
  if (sizeof(KernelHeader) + train.headers + train.payload > kOnePiece) return {};
  std::byte* out = piece_.data() + sizeof(KernelHeader);
  KernelHeader kernel;
  const std::span<const std::byte> first = slot_of(train.first).first(packer_.length(train.first));
  out += write_train_headers(first, train.payload, train.segment, kernel,
                             std::span(piece_).subspan(sizeof kernel));
  std::memcpy(piece_.data(), &kernel, sizeof kernel);
  packer_.each_frame(train, [&](std::uint32_t slot) {
    const std::span<const std::byte> payload = payload_of(slot, train);
    out = std::copy(payload.begin(), payload.end(), out);
  });
  return {piece_.data(), out};
}

// How many trains from next_ on the kernel has taken; -1 with errno: none. A call for one piece of memory
// is the one that costs least.
int PacketSocket::send_some() {
  const std::size_t left = packer_.trains().size() - next_;
  if (left == 1)
    if (const std::span<const std::byte> piece = in_one_piece(packer_.trains()[next_]); !piece.empty())
      return send(fd_, piece.data(), piece.size(), MSG_DONTWAIT) < 0 ? -1 : 1;
  if (!built_) build();
  return sendmmsg(fd_, &messages_[messages_.size() - left], static_cast<unsigned>(left), MSG_DONTWAIT);
}

bool PacketSocket::flush() {
  while (next_ < packer_.trains().size()) {
    if (const int n = send_some(); n > 0) {
      next_ += static_cast<std::size_t>(n);
      continue;
    }
    const std::uint32_t frames = packer_.trains()[next_].frames;
    if (errno == EAGAIN || errno == ENOBUFS) {
      stuck_ = true;
      return false;
    } else if (frames > 1 && takes_no_trains(errno)) {
      packer_.split(next_);  // each goes by itself, complete as it is
      built_ = false;
    } else if (errno != EINTR) {
      refused_ += frames;  // it is down ...: as if the network had lost them
      ++next_;
    }
  }
  stuck_ = false;
  packer_.clear();
  next_ = 0;
  return true;
}

int quiet_udp_socket() {
  const int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const auto close_and_fail = [&] {
    close(fd);
    return -1;
  };
  if (fd >= 0) {
    set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    set(fd, SOL_SOCKET, SO_REUSEADDR, 1);  // several processes of rocelab
    set(fd, SOL_UDP, UDP_GRO, 1);          // trains are thrown away whole
    attach(fd, nothing_filter());
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(kRocePort);
    return bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0 ? fd : close_and_fail();
  }
  const int fd4 = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);  // no IPv6 in this kernel
  if (fd4 < 0) return -1;
  set(fd4, SOL_SOCKET, SO_REUSEADDR, 1);
  set(fd4, SOL_UDP, UDP_GRO, 1);
  attach(fd4, nothing_filter());
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(kRocePort);
  if (bind(fd4, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0) return fd4;
  close(fd4);
  return -1;
}

}  // namespace rocelab::direct
