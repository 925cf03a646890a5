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
  Time at{};  // since the file's first frame
};

// The project's own captures, and the folders with further ones that ROCELAB_CAPTURES names, by colons.
std::filesystem::path own_captures();
std::vector<std::filesystem::path> further_captures();
// The .pcap and .pcapng files of `folder` in the order of their names.
std::vector<std::filesystem::path> capture_files(const std::filesystem::path& folder);
// Every frame of a file, or of all files of a folder. Throws on a file that is neither.
std::vector<NamedFrame> load_capture(const std::filesystem::path& file);
std::vector<NamedFrame> load_captures(const std::filesystem::path& folder);

// Every opcode over IPv4, IPv6 and with a VLAN tag, a few payload lengths, PSNs next to the wrap, every
// header field different from 0.
std::vector<NamedFrame> made_frames();
RoceHeaders filled_headers(std::uint8_t opcode, std::size_t payload_length);
FrameAddress address_v4();
FrameAddress address_v6();

}  // namespace rocelab::test
