// clang-format off
// Shim: all parts that a frame's shim has (base/wire/shim.h), any subset of ShimParts. A new part is a file
// and a line in that list: a type with ==, and
//
//   static constexpr std::uint8_t kId;       // 5 bits, of no other part; 0 and 4 are never given
//   static constexpr std::size_t kMaxBytes;  // with its header
//   static constexpr bool kForHosts;         // a NIC takes it; else a NIC drops a frame that has it
//   static std::uint32_t bytes_of(const Packet&);  // in the packet's frame; 0: the packet has none
//   static T of(const Packet&);              // of a packet of a pool that has one
//   void put(Packet&) const;                 // kForHosts: of a received frame
//   static std::optional<T> read(std::uint16_t info, std::span<const std::byte> value);  // untrusted words
//   std::uint16_t info() const;
//   std::size_t write(std::span<std::byte> value) const;  // whole words; how many bytes
//
// Lengths add up: what one mechanism puts into a frame does not depend on what another does. Parts are written
// in the order of the list and read in any. A shim with an unknown part, a part twice, or one whose value is
// not that of its id is none at all.
// clang-format on
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>

#include "base/packet.h"
#include "base/type_list.h"
#include "base/wire/shim.h"
#include "base/wire/shim_bfc.h"
#include "base/wire/shim_escape.h"
#include "base/wire/shim_hop_times.h"
#include "base/wire/shim_int.h"
#include "base/wire/shim_rcp.h"
#include "base/wire/shim_slack.h"

namespace rocelab {

using ShimParts = TypeList<EscapeHops, EscapeAnnouncement, Int, IntEcho, SlackPart, RcpRequest, RcpEcho,
                           HopTimesPart, BfcPart>;

template <class... P>
class ShimOf {
 public:
  static constexpr std::size_t kMaxBytes = (std::size_t{0} + ... + P::kMaxBytes);
  static_assert(((P::kId > 0 && P::kId < 32 && P::kId != 4) && ...));

  template <class Which>
  std::optional<Which>& part() {
    return std::get<std::optional<Which>>(parts_);
  }
  template <class Which>
  const std::optional<Which>& part() const {
    return std::get<std::optional<Which>>(parts_);
  }
  friend bool operator==(const ShimOf&, const ShimOf&) = default;

  // All that the packet carries.
  static ShimOf of(const Packet& packet) {
    ShimOf shim;
    ((P::bytes_of(packet) != 0 ? void(shim.part<P>() = P::of(packet)) : void()), ...);
    return shim;
  }
  static std::uint32_t bytes_of(const Packet& packet) {
    return (std::uint32_t{0} + ... + P::bytes_of(packet));
  }

  bool for_hosts() const { return ((P::kForHosts || !part<P>()) && ...); }
  // Into a received packet, of a pool. for_hosts().
  void put(Packet& packet) const { (put_part<P>(packet), ...); }

  // Bytes written, 0 for no part at all.
  std::size_t write(std::span<std::byte, kMaxBytes> out) const {
    std::size_t at = 0;
    ((part<P>() ? write_part(*part<P>(), out, at) : void()), ...);
    return at;
  }
  // `parts`: what find_shim() has found.
  static std::optional<ShimOf> read(std::span<const std::byte> parts) {
    ShimOf shim;
    while (!parts.empty()) {
      const auto header = ShimHeader::parse(parts);
      if (!header || header->total_bytes() > parts.size()) return std::nullopt;
      const auto value = parts.subspan(ShimHeader::kSize, header->total_bytes() - ShimHeader::kSize);
      if (!(shim.read_part<P>(*header, value) || ...)) return std::nullopt;
      parts = parts.subspan(header->total_bytes());
    }
    return shim;
  }

 private:
  template <class One>
  void put_part(Packet& packet) const {
    if constexpr (One::kForHosts)
      if (part<One>()) part<One>()->put(packet);
  }
  template <class One>
  static void write_part(const One& part, std::span<std::byte> out, std::size_t& at) {
    const std::size_t value = part.write(out.subspan(at + ShimHeader::kSize));
    ShimHeader{One::kId, static_cast<std::uint8_t>(value / 4), part.info()}.write(
        out.subspan(at).first<ShimHeader::kSize>());
    at += ShimHeader::kSize + value;
  }
  template <class One>
  bool read_part(const ShimHeader& header, std::span<const std::byte> value) {
    if (header.id != One::kId || part<One>()) return false;  // a second one of its id finds no reader
    part<One>() = One::read(header.info, value);
    return part<One>().has_value();
  }
  std::tuple<std::optional<P>...> parts_;
};

template <class... P>
ShimOf<P...> shim_of_parts(TypeList<P...>);
using Shim = decltype(shim_of_parts(ShimParts()));

// Bytes that its shim adds to a packet's length.
inline std::uint32_t shim_bytes_of(const Packet& packet) { return Shim::bytes_of(packet); }

// As insert_shim(); a frame without any part stays as it is.
inline std::optional<std::size_t> insert_parts(std::span<std::byte> buffer, std::size_t frame_length,
                                               const Shim& shim) {
  std::array<std::byte, Shim::kMaxBytes> parts;
  const std::size_t bytes = shim.write(parts);
  if (bytes == 0) return frame_length;
  return insert_shim(buffer, frame_length, std::span(parts).first(bytes));
}

// The parts of a frame's shim, none of a frame without one. Null: the shim is none (see above).
inline std::optional<Shim> parts_in(std::span<const std::byte> frame) {
  const auto place = find_shim(frame);
  return place ? Shim::read(frame.subspan(place->offset, place->bytes)) : Shim();
}

}  // namespace rocelab
