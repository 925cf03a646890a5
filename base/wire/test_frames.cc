#include "base/wire/test_frames.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "base/wire/pcap.h"
#include "base/wire/pcapng.h"

namespace rocelab::test {
namespace {

template <class Reader>
std::vector<NamedFrame> frames_of(Reader reader, const std::string& file) {
  constexpr std::int64_t kSecond = 1'000'000'000'000;  // ps
  std::vector<NamedFrame> frames;
  std::optional<CapturedFrame> first;
  while (const auto frame = reader.next()) {
    if (!first) first = frame;
    const Time at =
        Time::from_ps((frame->seconds - first->seconds) * kSecond + frame->picoseconds - first->picoseconds);
    frames.push_back({file + " frame " + std::to_string(frames.size() + 1),
                      {frame->bytes.begin(), frame->bytes.end()},
                      at});
  }
  if (!reader.complete())
    throw std::runtime_error(file + ": cut short behind frame " + std::to_string(frames.size()));
  return frames;
}

}  // namespace

ByteVector from_hex(std::string_view hex) {
  ByteVector bytes;
  std::string digits;
  for (const char c : hex) {
    if (c == ' ' || c == '\n') continue;
    digits += c;
    if (digits.size() < 2) continue;
    bytes.push_back(static_cast<std::byte>(std::stoi(digits, nullptr, 16)));
    digits.clear();
  }
  return bytes;
}

std::string to_hex(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte b : bytes) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

ByteVector read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  const std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(chars));
  return {bytes.begin(), bytes.end()};
}

std::filesystem::path own_captures() {
  return std::filesystem::path(ROCELAB_SOURCE_DIR) / "tests/data/captures";
}

std::vector<std::filesystem::path> further_captures() {
  const char* folders = std::getenv("ROCELAB_CAPTURES");
  std::vector<std::filesystem::path> all;
  std::istringstream list(folders == nullptr ? "" : folders);
  for (std::string folder; std::getline(list, folder, ':');)
    if (!folder.empty()) all.emplace_back(folder);
  return all;
}

std::vector<std::filesystem::path> capture_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".pcap" || entry.path().extension() == ".pcapng")
      files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::vector<NamedFrame> load_capture(const std::filesystem::path& path) {
  const ByteVector file = read_file(path);
  if (const auto pcap = PcapReader::open(file)) return frames_of(*pcap, path.filename());
  if (const auto pcapng = PcapngReader::open(file)) return frames_of(*pcapng, path.filename());
  throw std::runtime_error(path.string() + ": neither pcap nor pcapng of Ethernet frames");
}

std::vector<NamedFrame> load_captures(const std::filesystem::path& folder) {
  std::vector<NamedFrame> frames;
  for (const auto& path : capture_files(folder))
    for (NamedFrame& frame : load_capture(path)) frames.push_back(std::move(frame));
  return frames;
}

FrameAddress address_v4() {
  FrameAddress a;
  a.dst_mac = {2, 0, 0, 0, 0, 2};
  a.src_mac = {2, 0, 0, 0, 0, 1};
  a.src_gid = ipv4_mapped({10, 0, 0, 1});
  a.dst_gid = ipv4_mapped({10, 0, 0, 2});
  a.dscp = 26;
  a.ecn = Ecn::kEct0;
  a.udp_src_port = 0xc001;
  return a;
}

FrameAddress address_v6() {
  FrameAddress a = address_v4();
  a.is_ipv4 = false;
  a.dont_fragment = false;
  a.src_gid = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  a.dst_gid = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
  a.flow_label = 0x12345;
  return a;
}

RoceHeaders filled_headers(std::uint8_t opcode, std::size_t payload_length) {
  const OpcodeInfo& info = opcode_info(opcode);
  RoceHeaders r;
  r.opcode = opcode;
  r.solicited = r.ack_req = r.becn = true;
  r.pad = pad_bytes(payload_length);
  r.dest = Qpn{0x123456};
  r.psn = Psn(0xfffff0);
  if (info.has(Header::kReth) || info.has(Header::kAtomicEth)) {
    r.va = 0x1122334455667788;
    r.rkey = RKey{0x99aabbcc};
  }
  if (info.has(Header::kReth)) r.dma_length = 0x80000000;
  if (info.has(Header::kAtomicEth) || info.has(Header::kAtomicAckEth)) r.swap_or_add = 0xfedcba9876543210;
  if (info.has(Header::kAtomicEth)) r.compare = 0x0f1e2d3c4b5a6978;
  if (info.has(Header::kAeth)) {
    r.syndrome = 0x63;
    r.msn = Msn{0xabcdef};
  }
  if (info.has(Header::kDeth)) {
    r.qkey = 0x80010000;
    r.src_qpn = Qpn{0x654321};
  }
  if (info.has(Header::kXrcEth)) r.src_qpn = Qpn{0x654321};
  if (info.has(Header::kImmDt) || info.has(Header::kIeth) || info.has(Header::kFeth)) r.imm = 0xdeadbeef;
  if (info.has(Header::kIrnSend) || info.has(Header::kIrnWqeSn)) r.wqe_sn = 0xfffffe;
  if (info.has(Header::kIrnSend)) r.offset = 0x800001;
  if (info.has(Header::kIrnSack)) r.sack = Psn(0x00000f);
  if (info.has(Header::kIrnBlocks))
    put_irn_blocks(r,
                   {Psn(0x000010), {{{Psn(0x000010), Psn(0x000012)}, {Psn(0xfffff8), Psn(0x000003)}, {}}}});
  return r;
}

std::vector<NamedFrame> made_frames() {
  std::vector<NamedFrame> frames;
  FrameAddress tagged = address_v4();
  tagged.vlan = VlanTag{3, true, 0xabc};
  const std::pair<const char*, FrameAddress> addresses[] = {
      {"IPv4", address_v4()}, {"IPv6", address_v6()}, {"VLAN", tagged}};
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    const OpcodeInfo& info = opcode_info(static_cast<std::uint8_t>(opcode));
    for (const std::size_t length : {0, 61, 1024}) {
      const bool fits = info.has_payload ? info.ends_message() || length % 4 == 0 : length == 0;
      if (!info.known() || !fits) continue;
      ByteVector payload(length);
      for (std::size_t i = 0; i < length; ++i) payload[i] = static_cast<std::byte>(7 * i + 1);
      for (const auto& [kind, address] : addresses) {
        ByteVector bytes(2048);
        bytes.resize(
            write_frame(address, filled_headers(static_cast<std::uint8_t>(opcode), length), payload, bytes));
        frames.push_back({std::string(info.name) + " " + kind + " " + std::to_string(length) + " B", bytes});
      }
    }
  }
  return frames;
}

}  // namespace rocelab::test
