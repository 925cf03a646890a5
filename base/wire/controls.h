// The control frames that there are, and how drivers handle any of them. A new one is a codec (control.h) and
// a line in this list. Its PacketKind follows from its place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include "base/check.h"
#include "base/packet.h"
#include "base/type_list.h"
#include "base/wire/bfc_pause.h"
#include "base/wire/clcm.h"
#include "base/wire/cnm.h"
#include "base/wire/control.h"
#include "base/wire/etf.h"
#include "base/wire/opcode.h"
#include "base/wire/p4qcn_fbp.h"
#include "base/wire/pfc.h"
#include "base/wire/rocc_cnp.h"

namespace rocelab {

using Controls = TypeList<PfcFrame, EscapeToken, Clcm, RoccFeedback, P4qcnFbp, Cnm, BfcPause>;

template <class T>
constexpr PacketKind control_kind() {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= Packet::kControlBytes);
  static_assert(place_in<T>(Controls{}) < length_of(Controls{}), "is not in the list");
  const PacketKind first = T::kLinkLocal ? PacketKind::kLinkLocal : PacketKind::kFeedback;
  return static_cast<PacketKind>(static_cast<std::size_t>(first) + place_in<T>(Controls{}));
}
template <class T>
inline constexpr PacketKind kind_of = control_kind<T>();
static_assert(length_of(Controls{}) < 0x40, "PacketKind has six bits for the place");

template <class T>
void put_control(Packet& packet, const T& body) {
  packet.kind = kind_of<T>;
  packet.roce.opcode = kNoOpcode;
  packet.frame_length = static_cast<std::uint32_t>(T::kSize);
  if constexpr (requires { body.frame_bytes(); }) packet.frame_length = body.frame_bytes();
  if constexpr (requires { body.label(packet); }) body.label(packet);
  std::memcpy(packet.control_bytes(), &body, sizeof body);
}
// RL_CHECK: the packet is one.
template <class T>
T control_of(const Packet& packet) {
  RL_CHECK(packet.kind == kind_of<T>);
  T body;
  std::memcpy(&body, packet.control_bytes(), sizeof body);
  return body;
}

// f(std::type_identity<T>) for the codec of `kind`. False: none has it.
template <class F, class... T>
bool for_codec(PacketKind kind, F&& f, TypeList<T...> /*list*/) {
  return ((kind == kind_of<T> && (f(std::type_identity<T>()), true)) || ...);
}
template <class F>
bool for_control(PacketKind kind, F&& f) {
  return for_codec(kind, f, Controls());
}

template <class... T>
constexpr std::size_t longest_of(TypeList<T...> /*list*/) {
  return std::max({T::kSize...});
}
inline constexpr std::size_t kMaxControlFrame = longest_of(Controls());  // link-local ones are no longer

// Reads untrusted bytes as a frame of `kind` into `packet`. False: they are none.
bool read_control(std::span<const std::byte> frame, PacketKind kind, Packet& packet,
                  const ControlNodes& nodes);

// Writes the frame of a control packet: packet.frame_length bytes, which are returned. RL_CHECK: `out` has
// room for it, and for kMaxControlFrame.
std::span<const std::byte> write_control(const Packet& packet, const ControlAddresses& run,
                                         std::span<std::byte> out);

// Bytes of a feedback packet that a link's faults damage, and where they begin.
struct DamagedPart {
  std::size_t at = 0, bytes = 0;
};
DamagedPart transport_of(const Packet& feedback);

// A switch's view of a frame that is feedback; null: it is not.
std::optional<FrameView> view_feedback(std::span<const std::byte> frame);

}  // namespace rocelab
