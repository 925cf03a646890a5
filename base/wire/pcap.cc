#include "base/wire/pcap.h"

#include "base/wire/bytes.h"

namespace rocelab {
namespace {

constexpr std::size_t kFileHeader = 24, kPacketHeader = 16;
constexpr std::uint32_t kMagicUs = 0xa1b2c3d4, kMagicNs = 0xa1b23c4d, kEthernet = 1, kSnapLength = 262144;

std::uint32_t load(std::span<const std::byte> b, std::size_t at, bool big_endian) {
  return big_endian ? wire::load32(b, at) : wire::load_le32(b, at);
}

void append_le32(std::vector<std::byte>& out, std::uint32_t value) {
  out.resize(out.size() + 4);
  wire::store_le32(out, out.size() - 4, value);
}

}  // namespace

std::optional<PcapReader> PcapReader::open(std::span<const std::byte> file) {
  if (file.size() < kFileHeader) return std::nullopt;
  for (const bool big_endian : {false, true}) {
    const std::uint32_t magic = load(file, 0, big_endian);
    if (magic != kMagicUs && magic != kMagicNs) continue;
    if ((load(file, 20, big_endian) & 0xffff) != kEthernet) return std::nullopt;
    return PcapReader(file.subspan(kFileHeader), big_endian, magic == kMagicUs ? 1'000'000 : 1'000);
  }
  return std::nullopt;
}

std::optional<CapturedFrame> PcapReader::next() {
  if (rest_.size() < kPacketHeader) return std::nullopt;
  const std::uint32_t kept = load(rest_, 8, big_endian_);
  if (kept > rest_.size() - kPacketHeader) return std::nullopt;
  CapturedFrame frame;
  frame.seconds = load(rest_, 0, big_endian_);
  frame.picoseconds = load(rest_, 4, big_endian_) * unit_ps_;
  frame.original_length = load(rest_, 12, big_endian_);
  frame.bytes = rest_.subspan(kPacketHeader, kept);
  rest_ = rest_.subspan(kPacketHeader + kept);
  return frame;
}

void append_pcap_header(std::vector<std::byte>& out) {
  append_le32(out, kMagicNs);
  append_le32(out, 4u << 16 | 2u);
  append_le32(out, 0);
  append_le32(out, 0);
  append_le32(out, kSnapLength);
  append_le32(out, kEthernet);
}

void append_pcap_packet(std::vector<std::byte>& out, Time time, std::span<const std::byte> frame) {
  constexpr std::int64_t kSecond = 1'000'000'000'000;
  append_le32(out, static_cast<std::uint32_t>(time.ps() / kSecond));
  append_le32(out, static_cast<std::uint32_t>(time.ps() % kSecond / 1'000));
  append_le32(out, static_cast<std::uint32_t>(frame.size()));
  append_le32(out, static_cast<std::uint32_t>(frame.size()));
  out.insert(out.end(), frame.begin(), frame.end());
}

}  // namespace rocelab
