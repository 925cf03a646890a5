#include "irn_provider/realtime/train.h"

#include "base/check.h"

namespace rocelab::direct {
namespace {

constexpr std::size_t kIp = EthernetHeader::kSize, kTypeAt = 12;
constexpr std::size_t kIpv6Length = 4, kIpv6Addresses = 8, kIpv6AddressBytes = 32;

bool is_ipv4(std::span<const std::byte> frame) { return wire::load16(frame, kTypeAt) == kEtherTypeIpv4; }

// Ones' complement sum of the pseudo-header, not inverted: what the kernel adds the payload to (RFC 768,
// 8200).
std::uint16_t pseudo_header_sum(std::span<const std::byte> headers, std::size_t udp_length) {
  std::uint32_t sum = static_cast<std::uint32_t>(udp_length) + Ipv4Header::kUdp;
  const std::size_t begin = kIp + (is_ipv4(headers) ? Ipv4Header::kSrc : kIpv6Addresses);
  const std::size_t bytes = is_ipv4(headers) ? 8 : kIpv6AddressBytes;
  for (std::size_t at = begin; at < begin + bytes; at += 2) sum += wire::load16(headers, at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

void write_lengths(std::span<std::byte> headers, std::size_t udp_length) {
  const auto udp = static_cast<std::uint16_t>(udp_length);
  wire::store16(headers, headers.size() - UdpHeader::kSize + UdpHeader::kLength, udp);
  if (!is_ipv4(headers)) return wire::store16(headers, kIp + kIpv6Length, udp);
  wire::store16(headers, kIp + Ipv4Header::kTotalLength, static_cast<std::uint16_t>(udp + Ipv4Header::kSize));
  Ipv4Header::write_checksum(headers.subspan(kIp).first<Ipv4Header::kSize>());
}

}  // namespace

std::size_t header_bytes_of(std::span<const std::byte> frame) {
  if (frame.size() < kMaxHeaders) return 0;
  const std::uint16_t type = wire::load16(frame, kTypeAt);
  if (type == kEtherTypeIpv4) return kIp + Ipv4Header::kSize + UdpHeader::kSize;
  return type == kEtherTypeIpv6 ? kIp + Ipv6Header::kSize + UdpHeader::kSize : 0;
}

std::size_t write_train_headers(std::span<const std::byte> frame, std::size_t payload, std::size_t segment,
                                KernelHeader& kernel, std::span<std::byte> out) {
  const std::size_t bytes = header_bytes_of(frame);
  RL_CHECK(bytes != 0 && payload <= kMaxTrainPayload);
  const std::span<std::byte> headers = out.first(bytes);
  std::copy_n(frame.begin(), bytes, headers.begin());
  const std::size_t udp = bytes - UdpHeader::kSize;
  write_lengths(headers, UdpHeader::kSize + payload);
  wire::store16(headers, udp + UdpHeader::kChecksum, pseudo_header_sum(headers, UdpHeader::kSize + payload));
  kernel = {.flags = KernelHeader::kNeedsChecksum,
            .type = KernelHeader::kUdpTrain,
            .header_bytes = static_cast<std::uint16_t>(bytes),
            .segment_bytes = static_cast<std::uint16_t>(segment),
            .checksum_start = static_cast<std::uint16_t>(udp),
            .checksum_offset = UdpHeader::kChecksum};
  return bytes;
}

void write_frame_lengths(std::span<std::byte> frame, std::size_t headers, std::uint16_t number) {
  if (is_ipv4(frame)) {
    const std::uint16_t id = wire::load16(frame, kIp + Ipv4Header::kId);
    wire::store16(frame, kIp + Ipv4Header::kId, static_cast<std::uint16_t>(id + number));
  }
  write_lengths(frame.first(headers), UdpHeader::kSize + frame.size() - headers);
  wire::store16(frame, headers - UdpHeader::kSize + UdpHeader::kChecksum, 0);
}

}  // namespace rocelab::direct
