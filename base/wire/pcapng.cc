#include "base/wire/pcapng.h"

#include <array>

#include "base/wire/bytes.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kSectionHeader = 0x0a0d0d0a, kInterface = 1, kEnhancedPacket = 6;
constexpr std::uint32_t kByteOrder = 0x1a2b3c4d, kEthernet = 1, kSnapLength = 262144;
constexpr std::uint16_t kEndOfOptions = 0, kUserApplication = 4, kIfName = 2, kIfSpeed = 8, kIfTsresol = 9;
constexpr std::uint16_t kPacketFlags = 2;  // epb_flags: bits 0-1 are the direction
constexpr std::uint8_t kPicoseconds = 12;  // if_tsresol: units of 10^-12 s
constexpr std::uint64_t kPsPerSecond = 1'000'000'000'000;

std::uint16_t load_le16(std::span<const std::byte> b, std::size_t at) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(b[at]) | std::to_integer<unsigned>(b[at + 1])
                                                                           << 8);
}
constexpr std::size_t padded(std::size_t n) { return (n + 3) & ~std::size_t{3}; }

// Appends one block; its length fields are filled in when it ends.
class BlockWriter {
 public:
  BlockWriter(std::vector<std::byte>& out, std::uint32_t type) : out_(out), start_(out.size()) {
    put32(type);
    put32(0);
  }
  ~BlockWriter() {
    const auto length = static_cast<std::uint32_t>(out_.size() - start_ + 4);
    put32(length);
    wire::store_le32(out_, start_ + 4, length);
  }
  BlockWriter(const BlockWriter&) = delete;
  BlockWriter& operator=(const BlockWriter&) = delete;
  void put32(std::uint32_t value) {
    out_.resize(out_.size() + 4);
    wire::store_le32(out_, out_.size() - 4, value);
  }
  void put_padded(std::span<const std::byte> bytes) {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
    out_.resize(out_.size() + padded(bytes.size()) - bytes.size());
  }
  void put_option(std::uint16_t code, std::span<const std::byte> value) {
    put32(static_cast<std::uint32_t>(value.size()) << 16 | code);
    put_padded(value);
  }
  void end_options() { put32(kEndOfOptions); }

 private:
  std::vector<std::byte>& out_;
  std::size_t start_;
};

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// Units per second of an if_tsresol byte; 0: finer than 64-bit arithmetic takes.
std::uint64_t resolution(std::uint8_t tsresol) {
  if ((tsresol & 0x80) != 0) return (tsresol & 0x7f) < 40 ? std::uint64_t{1} << (tsresol & 0x7f) : 0;
  std::uint64_t units = 1;
  for (int i = 0; i < tsresol; ++i) {
    if (units >= kPsPerSecond) return 0;
    units *= 10;
  }
  return units;
}

}  // namespace

void append_pcapng_header(std::vector<std::byte>& out, std::string_view application) {
  BlockWriter block(out, kSectionHeader);
  block.put32(kByteOrder);
  block.put32(1);           // version 1.0
  block.put32(0xffffffff);  // section length: not given
  block.put32(0xffffffff);
  block.put_option(kUserApplication, bytes_of(application));
  block.end_options();
}

void append_pcapng_interface(std::vector<std::byte>& out, std::string_view name, Rate speed) {
  BlockWriter block(out, kInterface);
  block.put32(kEthernet);
  block.put32(kSnapLength);
  block.put_option(kIfName, bytes_of(name));
  std::array<std::byte, 8> bps;
  wire::store_le32(bps, 0, static_cast<std::uint32_t>(speed.bps()));
  wire::store_le32(bps, 4, static_cast<std::uint32_t>(speed.bps() >> 32));
  block.put_option(kIfSpeed, bps);
  const std::array<std::byte, 1> tsresol{std::byte{kPicoseconds}};
  block.put_option(kIfTsresol, tsresol);
  block.end_options();
}

void append_pcapng_packet(std::vector<std::byte>& out, std::uint32_t interface, Time time,
                          std::span<const std::byte> frame, PcapngDirection direction) {
  BlockWriter block(out, kEnhancedPacket);
  block.put32(interface);
  block.put32(static_cast<std::uint32_t>(time.ps() >> 32));
  block.put32(static_cast<std::uint32_t>(time.ps()));
  block.put32(static_cast<std::uint32_t>(frame.size()));
  block.put32(static_cast<std::uint32_t>(frame.size()));
  block.put_padded(frame);
  if (direction == PcapngDirection::kUnknown) return;
  std::array<std::byte, 4> flags{};
  wire::store_le32(flags, 0, static_cast<std::uint32_t>(direction));
  block.put_option(kPacketFlags, flags);
  block.end_options();
}

std::optional<PcapngReader> PcapngReader::open(std::span<const std::byte> file) {
  PcapngReader reader(file);
  const auto block = reader.take_block();
  if (!block || block->type != kSectionHeader || block->body.size() < 16) return std::nullopt;
  if (wire::load_le32(block->body, 0) != kByteOrder) return std::nullopt;
  return reader;
}

std::optional<CapturedFrame> PcapngReader::next() {
  while (const auto block = take_block()) {
    if (block->type == kEnhancedPacket) return packet(block->body);
    if (block->type == kSectionHeader || (block->type == kInterface && !add_interface(block->body)))
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<PcapngReader::Block> PcapngReader::take_block() {
  if (rest_.size() < 12) return std::nullopt;
  const std::uint32_t length = wire::load_le32(rest_, 4);
  if (length < 12 || length % 4 != 0 || length > rest_.size() || wire::load_le32(rest_, length - 4) != length)
    return std::nullopt;
  const Block block{wire::load_le32(rest_, 0), rest_.subspan(8, length - 12)};
  rest_ = rest_.subspan(length);
  return block;
}

bool PcapngReader::add_interface(std::span<const std::byte> body) {
  if (body.size() < 8 || load_le16(body, 0) != kEthernet) return false;
  std::string name;
  std::uint64_t units = 1'000'000;  // without if_tsresol: microseconds
  for (auto options = body.subspan(8); options.size() >= 4;) {
    const std::uint16_t code = load_le16(options, 0);
    const std::size_t length = load_le16(options, 2);
    if (code == kEndOfOptions || 4 + padded(length) > options.size()) break;
    const auto value = options.subspan(4, length);
    if (code == kIfName)
      name = std::string(reinterpret_cast<const char*>(value.data()), length);
    else if (code == kIfTsresol && length == 1)
      units = resolution(wire::load8(value, 0));
    options = options.subspan(4 + padded(length));
  }
  if (units == 0) return false;
  names_.push_back(name);
  units_per_second_.push_back(units);
  return true;
}

std::optional<CapturedFrame> PcapngReader::packet(std::span<const std::byte> body) const {
  if (body.size() < 20) return std::nullopt;
  CapturedFrame frame;
  frame.interface = wire::load_le32(body, 0);
  const std::uint32_t kept = wire::load_le32(body, 12);
  if (frame.interface >= names_.size() || kept > body.size() - 20) return std::nullopt;
  const std::uint64_t stamp = std::uint64_t{wire::load_le32(body, 4)} << 32 | wire::load_le32(body, 8);
  const std::uint64_t units = units_per_second_[frame.interface];
  frame.seconds = static_cast<std::int64_t>(stamp / units);
  frame.picoseconds =
      static_cast<std::int64_t>(static_cast<unsigned __int128>(stamp % units) * kPsPerSecond / units);
  frame.original_length = wire::load_le32(body, 16);
  frame.bytes = body.subspan(20, kept);
  return frame;
}

}  // namespace rocelab
