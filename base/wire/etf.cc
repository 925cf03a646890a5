#include "base/wire/etf.h"

#include <algorithm>

#include "base/check.h"
#include "base/wire/bytes.h"
#include "base/wire/controls.h"
#include "base/wire/ethernet.h"

namespace rocelab {
namespace {

constexpr std::size_t kOpcodeAt = 14, kClassAt = 16, kFormAt = 17, kHopsAt = 18, kSourceAt = 20;
constexpr std::uint8_t kIpv4Form = 0, kIpv6Form = 1;

// Where what follows the source address stands.
struct Layout {
  std::size_t address;  // bytes of one
  std::size_t destination() const { return kSourceAt + address; }
  std::size_t qpn() const { return destination() + address + 1; }
  std::size_t number() const { return qpn() + 3; }
  std::size_t end() const { return number() + 4; }
};
constexpr Layout layout_of(std::uint8_t form) {
  return {form == kIpv4Form ? sizeof(Ipv4Address) : sizeof(Ipv6Address)};
}
static_assert(kSourceAt + 2 * sizeof(Ipv6Address) + 8 <= EscapeTokenFrame::kSize);

// The last bytes of a GID: an IPv4-mapped one ends in the address.
void load_address(std::span<const std::byte> bytes, std::size_t at, std::size_t size, Gid& gid) {
  if (size == sizeof(Ipv4Address)) gid = ipv4_mapped({});
  for (std::size_t i = 0; i < size; ++i) gid[gid.size() - size + i] = wire::load8(bytes, at + i);
}
void store_address(std::span<std::byte> bytes, std::size_t at, std::size_t size, const Gid& gid) {
  for (std::size_t i = 0; i < size; ++i) wire::store8(bytes, at + i, gid[gid.size() - size + i]);
}

}  // namespace

std::optional<EscapeTokenFrame> EscapeTokenFrame::parse(std::span<const std::byte> bytes) {
  const auto ethernet = EthernetHeader::parse(bytes);
  if (!ethernet || bytes.size() < kSourceAt) return std::nullopt;
  if (ethernet->ether_type != kEtherType || wire::load16(bytes, kOpcodeAt) != kOpcode) return std::nullopt;
  const std::uint8_t form = wire::load8(bytes, kFormAt);
  const Layout layout = layout_of(form);
  if (form > kIpv6Form || bytes.size() < layout.end()) return std::nullopt;
  EscapeTokenFrame token;
  token.tc = Tc{wire::load8(bytes, kClassAt)};
  token.hops = wire::load16(bytes, kHopsAt);
  load_address(bytes, kSourceAt, layout.address, token.source);
  load_address(bytes, layout.destination(), layout.address, token.destination);
  token.dest = Qpn{wire::load24(bytes, layout.qpn())};
  const std::uint8_t mark = wire::load8(bytes, layout.qpn() - 1);
  token.mark = static_cast<EscapeTokenMark>(mark);
  token.number = wire::load32(bytes, layout.number());
  if (mark > static_cast<std::uint8_t>(EscapeTokenMark::kNoPlace) || (mark != 0 && token.number == 0))
    return std::nullopt;
  if (token.tc.value >= kTrafficClasses || token.hops == 0) return std::nullopt;
  if (form == kIpv6Form && (is_ipv4_mapped(token.source) || is_ipv4_mapped(token.destination)))
    return std::nullopt;
  return token;
}

void EscapeTokenFrame::write(std::span<std::byte, kSize> out,
                             const std::array<std::uint8_t, 6>& source_mac) const {
  std::ranges::fill(out, std::byte{0});
  EthernetHeader{kMacControlMulticast, source_mac, kEtherType}.write(out.first<EthernetHeader::kSize>());
  wire::store16(out, kOpcodeAt, kOpcode);
  RL_CHECK(is_ipv4_mapped(source) == is_ipv4_mapped(destination));
  const std::uint8_t form = is_ipv4_mapped(source) ? kIpv4Form : kIpv6Form;
  const Layout layout = layout_of(form);
  wire::store8(out, kClassAt, tc.value);
  wire::store8(out, kFormAt, form);
  wire::store16(out, kHopsAt, hops);
  store_address(out, kSourceAt, layout.address, source);
  store_address(out, layout.destination(), layout.address, destination);
  wire::store8(out, layout.qpn() - 1, static_cast<std::uint8_t>(mark));
  wire::store24(out, layout.qpn(), dest.value);
  wire::store32(out, layout.number(), number);
}

std::string to_string(const EscapeTokenFrame& token) {
  return "ETF TC" + std::to_string(token.tc.value) + " hops " + std::to_string(token.hops) + " QPN " +
         std::to_string(token.dest.value) +
         (token.number != 0 ? " number " + std::to_string(token.number) : "") +
         (token.mark != EscapeTokenMark::kAsks ? " comes back" : "");
}

void EscapeToken::label(Packet& packet) const {
  packet.tc = tc;
  packet.flow = dest.value;
  packet.src = source;
  packet.dst = destination;
  packet.roce.dest = dest;
  packet.roce.ipv6 = ipv6;
}

bool EscapeToken::read(std::span<const std::byte> frame, Packet& packet, const ControlNodes& /*nodes*/) {
  const auto token = EscapeTokenFrame::parse(frame);
  if (!token) return false;
  put_control(packet, EscapeToken{.tc = token->tc,
                                  .hops = token->hops,
                                  .source = kNoNode,
                                  .destination = kNoNode,
                                  .dest = token->dest,
                                  .ipv6 = !is_ipv4_mapped(token->source),
                                  .mark = token->mark,
                                  .number = token->number});
  return true;
}

void EscapeToken::write(const Packet& packet, const ControlAddresses& run, std::span<std::byte, kSize> out) {
  const auto token = control_of<EscapeToken>(packet);
  EscapeTokenFrame frame{token.tc, token.hops, {}, {}, token.dest, token.mark, token.number};
  frame.source = run.gid(token.source, token.ipv6);
  frame.destination = run.gid(token.destination, token.ipv6);
  frame.write(out, run.sender());
}

std::string to_string(const EscapeToken& token) {
  return "Escape token TC" + std::to_string(token.tc.value) + " hops " + std::to_string(token.hops) +
         " of nodes " + std::to_string(token.source.value) + " to " +
         std::to_string(token.destination.value) + " QPN " + std::to_string(token.dest.value);
}

}  // namespace rocelab
