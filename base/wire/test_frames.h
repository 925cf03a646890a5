// For tests only: hex text to bytes, the frames of the captures, and one frame of every kind that the
// captures lack.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/wire/frame.h"

namespace rocelab::test {

using ByteVector = std::vector<std::byte>;

ByteVector from_hex(std::string_view hex);  // blanks are skipped
std::string to_hex(std::span<const std::byte> bytes);
ByteVector read_file(const std::filesystem::path& path);

struct NamedFrame {
  std::string name;  // file and frame number as tshark counts
  ByteVector bytes;
};

// The project's own captures, and the folder for further ones that ROCELAB_CAPTURES names (empty: none).
std::filesystem::path own_captures();
std::filesystem::path further_captures();
// Every frame of every .pcap and .pcapng file of `folder`, files in the order of their names. Throws on a
// file that is neither.
std::vector<NamedFrame> load_captures(const std::filesystem::path& folder);

// Every opcode over IPv4, IPv6 and with a VLAN tag, a few payload lengths, PSNs next to the wrap, every
// header field different from 0.
std::vector<NamedFrame> made_frames();
RoceHeaders filled_headers(std::uint8_t opcode, std::size_t payload_length);
FrameAddress address_v4();
FrameAddress address_v6();

}  // namespace rocelab::test
