#include "tests/fuzz/wire/wire_properties.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/wire/clcm.h"
#include "base/wire/etf.h"
#include "base/wire/frame.h"
#include "base/wire/pcap.h"
#include "base/wire/pcapng.h"
#include "base/wire/pfc.h"
#include "base/wire/rocc_cnp.h"
#include "base/wire/shim.h"
#include "base/wire/switch_shim.h"

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

std::string check_pfc(std::span<const std::byte> bytes) {
  const auto pfc = PfcFrame::parse(bytes);
  if (!pfc) return "";
  std::array<std::byte, PfcFrame::kSize> written;
  pfc->write(written, {2, 0, 0, 0, 0, 1});
  return PfcFrame::parse(written) == pfc ? "" : "PFC changes: " + to_string(*pfc);
}

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

std::string check_clcm(std::span<const std::byte> bytes) {
  const auto message = Clcm::parse(bytes);
  if (!message) return "";
  std::array<std::byte, Clcm::kSize> written;
  message->write(written, {2, 0, 0, 0, 0, 1});
  return Clcm::parse(written) == message ? "" : "a CLCM changes: " + to_string(*message);
}

// What a shim of a switch says is said again by the one that a switch would write.
std::string check_switch_shim(std::span<const std::byte> bytes, const ShimPlace& place) {
  const auto shim = switch_shim_of(bytes, place);
  if (!shim || shim->bytes() == 0) return "";
  ByteVector buffer(bytes.begin(), bytes.end());
  const auto bare = remove_shim(buffer);
  buffer.resize(bytes.size() + SwitchShim::bytes(Telemetry::kMaxHops, true));
  if (!bare) return "a switch's shim stays";
  if (ShimHeader::parse(std::span(buffer).subspan(place.offset))) return "";  // another one behind it
  const auto length = insert_switch_shim(buffer, *bare, *shim);
  if (!length || *length != *bare + shim->bytes()) return "a switch's shim does not go in again";
  const auto again = find_shim(std::span(buffer).first(*length));
  return again && switch_shim_of(buffer, *again) == shim ? "" : "a switch's shim changes";
}

std::string check_shim(std::span<const std::byte> bytes) {
  ByteVector buffer(bytes.begin(), bytes.end());
  buffer.resize(bytes.size() + 64, std::byte{0x5a});
  const std::array<std::byte, 8> value{};
  if (const auto length = insert_shim(buffer, bytes.size(), 9, 77, value)) {
    const auto frame = std::span(buffer).first(*length);
    const auto place = find_shim(frame);
    if (!place || place->header != ShimHeader{9, 2, 77}) return "an inserted shim is not found";
    const std::size_t ip = place->offset - UdpHeader::kSize - Ipv4Header::kSize;
    if (remove_shim(frame) != bytes.size()) return "a shim cannot be taken out";
    const bool v4 = (std::to_integer<unsigned>(bytes[ip]) == 0x45);
    const bool same = std::ranges::equal(std::span(buffer).first(bytes.size()), bytes);
    if (!same && !(v4 && odd_ip_checksum(bytes, ip))) return "a shim in and out changes the frame";
    return "";
  }
  const auto place = find_shim(bytes);
  if (!place) return "";
  if (place->value_offset + place->value_bytes > bytes.size()) return "a shim leaves the frame";
  if (std::string complaint = check_switch_shim(bytes, *place); !complaint.empty()) return complaint;
  const auto length = remove_shim(std::span(buffer).first(bytes.size()));
  return length == bytes.size() - place->header.total_bytes()
             ? ""
             : "a shim of " + to_string(place->header) + " stays";
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
       {check_frame, check_headers, check_pfc, check_cnp, check_etf, check_clcm, check_shim, check_captures})
    if (std::string complaint = check(bytes); !complaint.empty()) return complaint;
  return "";
}

}  // namespace rocelab::fuzz
