#include "tests/fuzz/wire/wire_properties.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/wire/controls.h"
#include "base/wire/frame.h"
#include "base/wire/pcap.h"
#include "base/wire/pcapng.h"
#include "base/wire/shim_parts.h"

namespace rocelab::fuzz {
namespace {

using ByteVector = std::vector<std::byte>;

// The two ways to write a ones' complement 0 verify alike; ours is one of them.
bool odd_ip_checksum(std::span<const std::byte> frame, std::size_t ip) {
  return wire::load16(frame, ip + Ipv4Header::kChecksum) == 0xffff;
}

std::string check_frame(std::span<const std::byte> bytes) {
  FrameError why = FrameError::kNone;
  const auto frame = parse_frame(bytes, IcrcCheck::kSkip, &why);
  if (to_string(why).empty()) return "a frame error without a name";
  if (!frame) return why == FrameError::kNone ? "refused without a reason" : "";
  const FrameLayout& layout = frame->layout;
  if (layout.icrc + kIcrcBytes > bytes.size() || layout.payload + layout.payload_length > layout.icrc)
    return "the layout leaves the frame";
  ByteVector written(layout.length, std::byte{0xa5});
  if (write_frame(frame->address, frame->roce, frame->payload, written) != layout.length)
    return "another length is written";
  const auto again = parse_frame(written, IcrcCheck::kVerify, &why);
  if (!again) return "a written frame is refused: " + to_string(why);
  if (again->address != frame->address) return "the address changes";
  if (again->roce != frame->roce)
    return "headers change: " + to_string(frame->roce) + " to " + to_string(again->roce);
  if (!std::ranges::equal(again->payload, frame->payload)) return "the payload changes";
  return again->layout == layout ? "" : "the layout changes";
}

std::string check_headers(std::span<const std::byte> bytes) {
  const auto headers = parse_roce_headers(bytes);
  if (!headers) return "";
  std::array<std::byte, kMaxRoceHeaderBytes> written;
  const std::size_t length = write_roce_headers(*headers, written);
  return parse_roce_headers(std::span(written).first(length)) == headers
             ? ""
             : "headers change: " + to_string(*headers);
}

// Any node has addresses, and any address is a node's.
class AnyRun final : public ControlAddresses, public ControlNodes {
 public:
  MacAddress sender() const override { return {2, 0, 0, 0, 0, 1}; }
  MacAddress point(std::uint32_t /*address*/) const override { return sender(); }
  MacAddress mac(NodeId /*host*/) const override { return sender(); }
  std::uint32_t ipv4(NodeId host) const override { return 0x0a000000u | host.value; }
  Gid gid(NodeId /*host*/, bool ipv6) const override {
    return ipv6 ? Gid{0xfe, 0x80} : ipv4_mapped({10, 0, 0, 1});
  }
  NodeId node_of(std::uint32_t ipv4) const override { return NodeId{static_cast<std::uint16_t>(ipv4)}; }
};

template <class T>
std::string check_control(std::span<const std::byte> bytes) {
  const AnyRun run;
  Packet packet, again;
  if (!read_control(bytes, kind_of<T>, packet, run)) return "";
  std::vector<std::byte> room(std::max<std::size_t>(kMaxControlFrame, packet.frame_length));
  const auto written = write_control(packet, run, room);
  const std::string text = to_string(control_of<T>(packet));
  if (!read_control(written, kind_of<T>, again, run)) return "a written control frame is refused: " + text;
  return control_of<T>(again) == control_of<T>(packet) ? "" : "a control frame changes: " + text;
}
template <class... T>
std::string check_each(std::span<const std::byte> bytes, TypeList<T...> /*list*/) {
  std::string complaint;
  static_cast<void>(((complaint = check_control<T>(bytes), !complaint.empty()) || ...));
  return complaint;
}
std::string check_controls(std::span<const std::byte> bytes) { return check_each(bytes, Controls()); }

std::string check_cnp(std::span<const std::byte> bytes) {
  const auto cnp = RoccCnp::parse(bytes);
  if (!cnp) return "";
  std::array<std::byte, RoccCnp::kMaxSize> written;
  cnp->write(written);
  return RoccCnp::parse(written) == cnp ? "" : "a CNP changes: " + to_string(*cnp);
}

std::string check_etf(std::span<const std::byte> bytes) {
  const auto token = EscapeTokenFrame::parse(bytes);
  if (!token) return "";
  std::array<std::byte, EscapeTokenFrame::kSize> written;
  token->write(written, {2, 0, 0, 0, 0, 1});
  return EscapeTokenFrame::parse(written) == token ? "" : "an ETF changes: " + to_string(*token);
}

// A shim that a switch writes from what it has read says the same.
std::string check_parts(std::span<const std::byte> bytes, const ShimPlace& place) {
  const auto shim = Shim::read(bytes.subspan(place.offset, place.bytes));
  if (!shim) return "";
  ByteVector buffer(bytes.begin(), bytes.end());
  const auto bare = remove_shim(buffer);
  if (!bare) return "a shim stays";
  const auto length = insert_parts(buffer, *bare, *shim);
  if (length != bytes.size()) return "a shim does not go in again";
  return parts_in(buffer) == shim ? "" : "a shim changes";
}

std::string check_shim(std::span<const std::byte> bytes) {
  ByteVector buffer(bytes.begin(), bytes.end());
  buffer.resize(bytes.size() + 64, std::byte{0x5a});
  std::array<std::byte, 16> parts{};  // two of them
  ShimHeader{9, 2, 77}.write(std::span(parts).first<4>());
  ShimHeader{30, 0, 78}.write(std::span(parts).last<4>());
  if (const auto length = insert_shim(buffer, bytes.size(), parts)) {
    const auto frame = std::span(buffer).first(*length);
    const auto place = find_shim(frame);
    if (!place || place->bytes != parts.size()) return "an inserted shim is not found";
    if (parts_in(frame)) return "a shim of unknown parts is taken for one";
    const std::size_t ip = place->offset - UdpHeader::kSize - Ipv4Header::kSize;
    if (remove_shim(frame) != bytes.size()) return "a shim cannot be taken out";
    const bool v4 = (std::to_integer<unsigned>(bytes[ip]) == 0x45);
    const bool same = std::ranges::equal(std::span(buffer).first(bytes.size()), bytes);
    if (!same && !(v4 && odd_ip_checksum(bytes, ip))) return "a shim in and out changes the frame";
    return "";
  }
  const auto place = find_shim(bytes);
  if (!place) return "";
  if (place->offset + place->bytes > bytes.size()) return "a shim leaves the frame";
  if (std::string complaint = check_parts(bytes, *place); !complaint.empty()) return complaint;
  const auto length = remove_shim(std::span(buffer).first(bytes.size()));
  return length == bytes.size() - place->bytes ? "" : "a shim stays";
}

// Readers of files: they end, and stay inside.
std::string check_captures(std::span<const std::byte> bytes) {
  std::size_t total = 0;
  if (auto pcap = PcapReader::open(bytes))
    while (const auto frame = pcap->next()) total += frame->bytes.size();
  if (auto pcapng = PcapngReader::open(bytes))
    while (const auto frame = pcapng->next()) total += frame->bytes.size();
  return total <= bytes.size() ? "" : "more bytes come out of a capture than it has";
}

}  // namespace

std::string violated_property(std::span<const std::byte> bytes) {
  for (const auto check :
       {check_frame, check_headers, check_controls, check_cnp, check_etf, check_shim, check_captures})
    if (std::string complaint = check(bytes); !complaint.empty()) return complaint;
  return "";
}

}  // namespace rocelab::fuzz
