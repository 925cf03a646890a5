// Classic pcap files as bytes: a reader of Ethernet captures in either byte order, with us or ns time stamps,
// and a writer. No file I/O here. Source: draft-ietf-opsawg-pcap, 4 and 5. What the live engine writes is
// pcapng (base/wire/pcapng.h).
//
// file:   | magic | major 2 | minor 4 | 0 | 0 | snap length | link type 1 = Ethernet |    4, 2, 2, 4, 4, 4, 4
// bytes packet: | seconds | us or ns | bytes kept | bytes on the wire | data ... |             4 bytes each
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/units.h"

namespace rocelab {

// A frame found in a capture. Wall-clock captures count from 1970, which picoseconds in 64 bits do not reach:
// hence the seconds.
struct CapturedFrame {
  std::uint32_t interface = 0;
  std::int64_t seconds = 0;
  std::int64_t picoseconds = 0;  // below 10^12
  std::uint32_t original_length = 0;
  std::span<const std::byte> bytes;  // into the file's bytes
};

class PcapReader {
 public:
  static std::optional<PcapReader> open(
      std::span<const std::byte> file);            // null: not a pcap file of Ethernet frames
  std::optional<CapturedFrame> next();             // null: end, or the rest is cut short
  bool complete() const { return rest_.empty(); }  // after the last: nothing is left over

 private:
  PcapReader(std::span<const std::byte> rest, bool big_endian, std::int64_t unit_ps)
      : rest_(rest), big_endian_(big_endian), unit_ps_(unit_ps) {}
  std::span<const std::byte> rest_;
  bool big_endian_;
  std::int64_t unit_ps_;
};

// Little-endian, nanoseconds. Times are rounded down.
void append_pcap_header(std::vector<std::byte>& out);
void append_pcap_packet(std::vector<std::byte>& out, Time time, std::span<const std::byte> frame);

}  // namespace rocelab
