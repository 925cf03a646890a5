// pcapng files as bytes, in experiment time: one section, an interface per port with its name and speed,
// packets stamped in picoseconds (if_tsresol 12; Wireshark shows nanoseconds). No file I/O here: append to a
// buffer, write the buffer somewhere. Source: draft-ietf-opsawg-pcapng, 4.1 section header, 4.2 interface
// description, 4.3 enhanced packet block.
//
//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// +---------------------------------------------------------------+
// |                          block type                           |
// +---------------------------------------------------------------+
// |      block total length (a multiple of 4, both fields count)  |
// +---------------------------------------------------------------+
// |        body, padded to 4 bytes; options at its end            |
// +---------------------------------------------------------------+
// |                   block total length again                    |
// +---------------------------------------------------------------+
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "base/wire/pcap.h"

namespace rocelab {

// First the header, then all interfaces (they are numbered from 0 in this order), then packets in any order
// of interfaces.
void append_pcapng_header(std::vector<std::byte>& out, std::string_view application);
void append_pcapng_interface(std::vector<std::byte>& out, std::string_view name, Rate speed);
enum class PcapngDirection : std::uint8_t { kUnknown = 0, kInbound = 1, kOutbound = 2 };
void append_pcapng_packet(std::vector<std::byte>& out, std::uint32_t interface, Time time,
                          std::span<const std::byte> frame,
                          PcapngDirection direction = PcapngDirection::kUnknown);

// Reads little-endian pcapng of one section with Ethernet interfaces: what the functions above write and what
// tools on the same machine do.
class PcapngReader {
 public:
  static std::optional<PcapngReader> open(std::span<const std::byte> file);  // null: not such a file
  std::optional<CapturedFrame> next();  // null: end, or a block that makes no sense
  bool complete() const { return rest_.empty(); }
  const std::vector<std::string>& interfaces() const { return names_; }  // of those read so far

 private:
  struct Block {
    std::uint32_t type = 0;
    std::span<const std::byte> body;
  };
  explicit PcapngReader(std::span<const std::byte> rest) : rest_(rest) {}
  std::optional<Block> take_block();
  bool add_interface(std::span<const std::byte> body);
  std::optional<CapturedFrame> packet(std::span<const std::byte> body) const;
  std::span<const std::byte> rest_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> units_per_second_;  // per interface
};

}  // namespace rocelab
