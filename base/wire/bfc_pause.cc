#include "base/wire/bfc_pause.h"

#include <algorithm>

#include "base/wire/bytes.h"
#include "base/wire/ethernet.h"

namespace rocelab {
namespace {

constexpr std::size_t kOpcodeAt = 14, kClassAt = 16, kQueuesAt = 18, kEnd = kQueuesAt + 8 * BfcQueues::kWords;

}  // namespace

std::optional<BfcPause> BfcPause::parse(std::span<const std::byte> bytes) {
  const auto ethernet = EthernetHeader::parse(bytes);
  if (!ethernet || bytes.size() < kEnd) return std::nullopt;
  if (ethernet->ether_type != kEtherType || wire::load16(bytes, kOpcodeAt) != kOpcode) return std::nullopt;
  BfcPause pause;
  pause.tc = Tc{wire::load8(bytes, kClassAt)};
  if (pause.tc.value >= kTrafficClasses) return std::nullopt;
  for (std::size_t n = 0; n < BfcQueues::kWords; ++n)
    pause.queues.set_word(n, wire::load64(bytes, kQueuesAt + 8 * n));
  return pause;
}

void BfcPause::write(std::span<std::byte, kSize> out, const std::array<std::uint8_t, 6>& source_mac) const {
  std::ranges::fill(out, std::byte{0});
  EthernetHeader{kMacControlMulticast, source_mac, kEtherType}.write(out.first<EthernetHeader::kSize>());
  wire::store16(out, kOpcodeAt, kOpcode);
  wire::store8(out, kClassAt, tc.value);
  for (std::size_t n = 0; n < BfcQueues::kWords; ++n) wire::store64(out, kQueuesAt + 8 * n, queues.word(n));
}

std::string to_string(const BfcPause& pause) {
  std::string text = "BFC pause TC" + std::to_string(pause.tc.value) + " queues";
  for (std::size_t queue = 0; queue < BfcQueues::kMost; ++queue)
    if (pause.queues.has(queue)) text += " " + std::to_string(queue);
  return text;
}

}  // namespace rocelab
