#include "base/wire/cm/ip_cm.h"

#include <algorithm>

namespace rocelab::cm {

std::optional<IpHeader> IpHeader::parse(std::span<const std::uint8_t> private_data) {
  if (private_data.size() < kSize || private_data[0] != 0) return std::nullopt;
  const std::span<const std::byte> b = std::as_bytes(private_data);
  IpHeader h;
  h.ip_version = load_bits(b, 1, 0, 4);
  if (h.ip_version != 4 && h.ip_version != 6) return std::nullopt;
  h.source_port = wire::load16(b, 2);
  h.source = wire::load_array<16>(b, 4);
  h.destination = wire::load_array<16>(b, 20);
  return h;
}

void IpHeader::write(std::span<std::uint8_t> private_data) const {
  const std::span<std::byte> out = std::as_writable_bytes(private_data);
  wire::store8(out, 0, 0);
  wire::store8(out, 1, bits(ip_version, 0, 4));
  wire::store16(out, 2, source_port);
  wire::store_array(out, 4, source);
  wire::store_array(out, 20, destination);
}

}  // namespace rocelab::cm
