#include "base/wire/etf.h"

#include <algorithm>

#include "base/wire/bytes.h"
#include "base/wire/ethernet.h"

namespace rocelab {
namespace {

constexpr std::size_t kOpcodeAt = 14, kClassAt = 16, kHopsAt = 18, kSourceAt = 20, kDestinationAt = 24,
                      kQpnAt = 29, kEnd = 32;
constexpr MacAddress kMacControlMulticast{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};

}  // namespace

std::optional<EscapeTokenFrame> EscapeTokenFrame::parse(std::span<const std::byte> bytes) {
  const auto ethernet = EthernetHeader::parse(bytes);
  if (!ethernet || bytes.size() < kEnd) return std::nullopt;
  if (ethernet->ether_type != kEtherType || wire::load16(bytes, kOpcodeAt) != kOpcode) return std::nullopt;
  EscapeTokenFrame token;
  token.tc = Tc{wire::load8(bytes, kClassAt)};
  token.hops = wire::load16(bytes, kHopsAt);
  token.source = wire::load32(bytes, kSourceAt);
  token.destination = wire::load32(bytes, kDestinationAt);
  token.dest = Qpn{wire::load24(bytes, kQpnAt)};
  if (token.tc.value >= kTrafficClasses || token.hops == 0) return std::nullopt;
  return token;
}

void EscapeTokenFrame::write(std::span<std::byte, kSize> out,
                             const std::array<std::uint8_t, 6>& source_mac) const {
  std::ranges::fill(out, std::byte{0});
  EthernetHeader{kMacControlMulticast, source_mac, kEtherType}.write(out.first<EthernetHeader::kSize>());
  wire::store16(out, kOpcodeAt, kOpcode);
  wire::store8(out, kClassAt, tc.value);
  wire::store16(out, kHopsAt, hops);
  wire::store32(out, kSourceAt, source);
  wire::store32(out, kDestinationAt, destination);
  wire::store24(out, kQpnAt, dest.value);
}

std::string to_string(const EscapeTokenFrame& token) {
  return "ETF TC" + std::to_string(token.tc.value) + " hops " + std::to_string(token.hops) + " QPN " +
         std::to_string(token.dest.value);
}

}  // namespace rocelab
