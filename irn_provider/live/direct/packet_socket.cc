#include "irn_provider/live/direct/packet_socket.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace rocelab::direct {
namespace {

constexpr std::uint32_t kRingBytes = 16 << 20;  // some 10 ms of full frames at 10 Gb/s
constexpr std::uint32_t kFramesPerBlock = 16;   // keeps a block a multiple of a page
constexpr std::uint32_t kFrameAlign = 512;
constexpr int kSendBuffer = 8 << 20;
constexpr std::uint16_t kRocePort = 4791;

void set(int fd, int level, int option, int value) { setsockopt(fd, level, option, &value, sizeof value); }

void attach(int fd, std::vector<sock_filter> code) {
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0)
    throw std::runtime_error(std::string("cannot filter frames: ") + std::strerror(errno));
}

tpacket2_hdr* header_at(std::byte* ring, std::uint32_t frame, std::uint32_t frame_bytes) {
  return reinterpret_cast<tpacket2_hdr*>(ring + std::size_t{frame} * frame_bytes);
}

}  // namespace

PacketSocket::PacketSocket(const std::string& interface, const FilterPlan& filter, std::uint32_t longest)
    : slot_bytes_((longest + 63) / 64 * 64),
      slots_(std::make_unique<std::byte[]>(slot_bytes_ * kBatch)),
      messages_(kBatch),
      parts_(kBatch) {
  const std::uint32_t needed = longest + TPACKET2_HDRLEN + TPACKET_ALIGNMENT;
  frame_bytes_ = (needed + kFrameAlign - 1) / kFrameAlign * kFrameAlign;
  try {
    open(interface, filter);
  } catch (const std::exception& e) {
    if (ring_ != nullptr) munmap(ring_, ring_bytes_);
    if (fd_ >= 0) close(fd_);
    throw std::runtime_error("interface " + interface + ": " + e.what());
  }
}

void PacketSocket::open(const std::string& interface, const FilterPlan& filter) {
  // Protocol 0: nothing comes before bind(), by when the filter is there.
  fd_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0)
    throw std::runtime_error(std::string("cannot open a packet socket (root or CAP_NET_RAW is needed): ") +
                             std::strerror(errno));
  set(fd_, SOL_SOCKET, SO_SNDBUFFORCE, kSendBuffer);
  set(fd_, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
  set(fd_, SOL_PACKET, PACKET_QDISC_BYPASS, 1);
  attach(fd_, frame_filter(filter));
  map_ring();
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(if_nametoindex(interface.c_str()));
  if (bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error(std::string("cannot listen on it: ") + std::strerror(errno));
}

void PacketSocket::map_ring() {
  set(fd_, SOL_PACKET, PACKET_VERSION, TPACKET_V2);
  tpacket_req request{};
  request.tp_frame_size = frame_bytes_;
  request.tp_block_size = frame_bytes_ * kFramesPerBlock;
  request.tp_block_nr = kRingBytes / request.tp_block_size;
  request.tp_frame_nr = request.tp_block_nr * kFramesPerBlock;
  frames_ = request.tp_frame_nr;
  ring_bytes_ = std::size_t{request.tp_block_nr} * request.tp_block_size;
  if (setsockopt(fd_, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) != 0)
    throw std::runtime_error(std::string("no memory for received frames: ") + std::strerror(errno));
  void* ring = mmap(nullptr, ring_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (ring == MAP_FAILED)
    throw std::runtime_error(std::string("cannot map received frames: ") + std::strerror(errno));
  ring_ = static_cast<std::byte*>(ring);
  madvise(ring_, ring_bytes_, MADV_DONTFORK);
}

PacketSocket::~PacketSocket() {
  munmap(ring_, ring_bytes_);
  close(fd_);
}

std::span<std::byte> PacketSocket::next() {
  tpacket2_hdr* header = header_at(ring_, head_, frame_bytes_);
  // The kernel writes the frame first and this word last.
  const std::uint32_t status = std::atomic_ref(header->tp_status).load(std::memory_order_acquire);
  if ((status & TP_STATUS_USER) == 0) return {};
  head_ = head_ + 1 == frames_ ? 0 : head_ + 1;
  return {reinterpret_cast<std::byte*>(header) + header->tp_mac, header->tp_snaplen};
}

void PacketSocket::release() {
  for (; released_ != head_; released_ = released_ + 1 == frames_ ? 0 : released_ + 1)
    std::atomic_ref(header_at(ring_, released_, frame_bytes_)->tp_status)
        .store(TP_STATUS_KERNEL, std::memory_order_release);
}

std::uint64_t PacketSocket::dropped() {
  tpacket_stats stats{};
  socklen_t size = sizeof stats;
  if (getsockopt(fd_, SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0) dropped_ += stats.tp_drops;
  return dropped_;
}

void PacketSocket::fill(std::size_t length) {
  parts_[filled_] = {slot_of(filled_).data(), length};
  messages_[filled_] = {};
  messages_[filled_].msg_hdr.msg_iov = &parts_[filled_];
  messages_[filled_].msg_hdr.msg_iovlen = 1;
  ++filled_;
}

bool PacketSocket::flush() {
  while (sent_ < filled_) {
    const int n = sendmmsg(fd_, &messages_[sent_], filled_ - sent_, MSG_DONTWAIT);
    if (n > 0) {
      sent_ += static_cast<std::uint32_t>(n);
    } else if (errno == EAGAIN || errno == ENOBUFS) {
      return false;
    } else if (errno != EINTR) {
      ++refused_;  // this one frame: as if the network had lost it
      ++sent_;
    }
  }
  filled_ = sent_ = 0;
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
    attach(fd, nothing_filter());
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(kRocePort);
    return bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0 ? fd : close_and_fail();
  }
  const int fd4 = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);  // no IPv6 in this kernel
  if (fd4 < 0) return -1;
  set(fd4, SOL_SOCKET, SO_REUSEADDR, 1);
  attach(fd4, nothing_filter());
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(kRocePort);
  if (bind(fd4, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0) return fd4;
  close(fd4);
  return -1;
}

}  // namespace rocelab::direct
