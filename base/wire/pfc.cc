#include "base/wire/pfc.h"

#include <algorithm>

#include "base/wire/bytes.h"
#include "base/wire/ethernet.h"

namespace rocelab {
namespace {

constexpr std::size_t kOpcodeAt = 14, kClassEnableAt = 17, kTimeAt = 18;  // byte 16 is reserved
constexpr std::size_t kMeaningfulBytes = kTimeAt + 2 * kTrafficClasses;   // the rest is padding

}  // namespace

std::optional<PfcFrame> PfcFrame::parse(std::span<const std::byte> bytes) {
  const auto ethernet = EthernetHeader::parse(bytes);
  if (!ethernet || bytes.size() < kMeaningfulBytes) return std::nullopt;
  if (ethernet->ether_type != kEtherType || wire::load16(bytes, kOpcodeAt) != kOpcode) return std::nullopt;
  PfcFrame pfc;
  pfc.class_enable = wire::load8(bytes, kClassEnableAt);
  for (std::size_t tc = 0; tc < kTrafficClasses; ++tc) pfc.time[tc] = wire::load16(bytes, kTimeAt + 2 * tc);
  return pfc;
}

void PfcFrame::write(std::span<std::byte, kSize> out, const std::array<std::uint8_t, 6>& source) const {
  std::ranges::fill(out, std::byte{0});
  EthernetHeader{kMacControlMulticast, source, kEtherType}.write(out.first<EthernetHeader::kSize>());
  wire::store16(out, kOpcodeAt, kOpcode);
  wire::store8(out, kClassEnableAt, class_enable);
  for (std::size_t tc = 0; tc < kTrafficClasses; ++tc) wire::store16(out, kTimeAt + 2 * tc, time[tc]);
}

std::string to_string(const PfcFrame& pfc) {
  std::string text = "PFC";
  for (std::size_t tc = 0; tc < kTrafficClasses; ++tc)
    if ((pfc.class_enable >> tc & 1) != 0)
      text += " TC" + std::to_string(tc) + "=" + std::to_string(pfc.time[tc]);
  return text;
}

}  // namespace rocelab
