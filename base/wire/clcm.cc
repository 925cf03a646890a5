#include "base/wire/clcm.h"

#include <algorithm>

#include "base/wire/bytes.h"
#include "base/wire/ethernet.h"

namespace rocelab {
namespace {

constexpr std::size_t kOpcodeAt = 14, kClassAt = 16, kHopsAt = 18, kRoundAt = 20, kIdAt = 24, kEnd = 32;

}  // namespace

std::optional<Clcm> Clcm::parse(std::span<const std::byte> bytes) {
  const auto ethernet = EthernetHeader::parse(bytes);
  if (!ethernet || bytes.size() < kEnd) return std::nullopt;
  if (ethernet->ether_type != kEtherType || wire::load16(bytes, kOpcodeAt) != kOpcode) return std::nullopt;
  Clcm message;
  message.tc = Tc{wire::load8(bytes, kClassAt)};
  message.hops = wire::load16(bytes, kHopsAt);
  message.round = wire::load32(bytes, kRoundAt);
  message.id = wire::load64(bytes, kIdAt);
  if (message.tc.value >= kTrafficClasses || message.hops == 0) return std::nullopt;
  return message;
}

void Clcm::write(std::span<std::byte, kSize> out, const std::array<std::uint8_t, 6>& source_mac) const {
  std::ranges::fill(out, std::byte{0});
  EthernetHeader{kMacControlMulticast, source_mac, kEtherType}.write(out.first<EthernetHeader::kSize>());
  wire::store16(out, kOpcodeAt, kOpcode);
  wire::store8(out, kClassAt, tc.value);
  wire::store16(out, kHopsAt, hops);
  wire::store32(out, kRoundAt, round);
  wire::store64(out, kIdAt, id);
}

std::string to_string(const Clcm& message) {
  return "CLCM TC" + std::to_string(message.tc.value) + " hops " + std::to_string(message.hops) + " round " +
         std::to_string(message.round) + " id " + std::to_string(message.id);
}

}  // namespace rocelab
