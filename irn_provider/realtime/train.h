// Train: frames of one flow that go through the kernel as one, UDP segmentation offload (GSO): the headers of
// the first, with the lengths of the whole, then the UDP payloads (BTH to ICRC) one behind the other, all of
// one length but the last, which may be shorter. Whoever cannot take it whole (an adapter, a kernel's own
// RoCE) gets frames: the kernel, or the adapter, cuts it, counts the IPv4 IDs up from the first one's, and
// fills in UDP checksums. So frame i of a train is made with IPv4 ID i, and its ICRC holds either way. No
// I/O. Source: Linux, include/linux/virtio_net.h, net/ipv4/udp_offload.c (6.2 and later).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/wire/ethernet.h"
#include "base/wire/frame.h"

namespace rocelab::direct {

// What the kernel wants to know of each frame or train, in front of it: struct virtio_net_hdr, host byte
// order.
struct KernelHeader {
  static constexpr std::uint8_t kNeedsChecksum = 1, kNone = 0, kUdpTrain = 5;
  std::uint8_t flags = 0, type = kNone;
  std::uint16_t header_bytes = 0, segment_bytes = 0, checksum_start = 0, checksum_offset = 0;
};
static_assert(sizeof(KernelHeader) == 10);

inline constexpr std::size_t kMaxHeaders = EthernetHeader::kSize + Ipv6Header::kSize + UdpHeader::kSize;
inline constexpr std::size_t kMaxTrainPayload = 65'000;  // UDP payload bytes: IP and UDP lengths hold 16 bits
inline constexpr std::uint32_t kMaxTrainFrames = 64;     // the kernel's own limit for UDP sockets

// Ethernet, IP and UDP headers of a good frame of ours without 802.1Q tag; 0: too short, or another
// EtherType.
std::size_t header_bytes_of(std::span<const std::byte> frame);

// Headers of the train whose first frame is `frame`, with `payload` UDP payload bytes in all, and what the
// kernel is told: segments of `segment` bytes. `out` holds kMaxHeaders. Returns the headers' length.
std::size_t write_train_headers(std::span<const std::byte> frame, std::size_t payload, std::size_t segment,
                                KernelHeader& kernel, std::span<std::byte> out);

// Sets what differs from frame to frame: lengths, and IPv4's ID, `number` behind the one that is there; and
// no UDP checksum.
void write_frame_lengths(std::span<std::byte> frame, std::size_t headers, std::uint16_t number);

// Calls f(frame) for each frame of a train of untrusted bytes, in order. A frame's headers are written over
// what lies before its payload: it holds until the next call only.
template <class F>
void cut_train(std::span<std::byte> train, std::size_t segment, F&& f) {
  const std::size_t headers = header_bytes_of(train);
  if (headers == 0 || segment == 0) return;
  std::array<std::byte, kMaxHeaders> first;
  std::copy_n(train.begin(), headers, first.begin());
  std::uint16_t number = 0;
  for (std::size_t at = headers; at < train.size(); at += segment, ++number) {
    const std::size_t length = std::min(segment, train.size() - at);
    const std::span<std::byte> frame = train.subspan(at - headers, headers + length);
    std::copy_n(first.begin(), headers, frame.begin());
    write_frame_lengths(frame, headers, number);
    f(frame);
  }
}

}  // namespace rocelab::direct
