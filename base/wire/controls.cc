#include "base/wire/controls.h"

#include "base/wire/frame_view.h"

namespace rocelab {
namespace {

template <class T>
bool read(std::span<const std::byte> frame, Packet& packet, const ControlNodes& nodes) {
  if constexpr (requires { T::read(frame, packet, nodes); }) {
    return T::read(frame, packet, nodes);
  } else {
    const std::optional<T> body = T::parse(frame);
    if (body) put_control(packet, *body);
    return body.has_value();
  }
}

template <class T>
void write(const Packet& packet, const ControlAddresses& run, std::span<std::byte> out) {
  const auto longest = out.first<T::kSize>();
  if constexpr (requires { T::write(packet, run, out); })
    T::write(packet, run, out.first(packet.frame_length));
  else if constexpr (requires { T::write(packet, run, longest); })
    T::write(packet, run, longest);
  else
    control_of<T>(packet).write(longest, run.sender());
}

template <class... T>
bool view_any(std::span<const std::byte> frame, FrameView& view, TypeList<T...> /*list*/) {
  const auto try_one = [&]<class One>(std::type_identity<One>) {
    if constexpr (One::kLinkLocal)
      return false;
    else
      return One::view(frame, view) && (view.kind = kind_of<One>, true);
  };
  return (try_one(std::type_identity<T>()) || ...);
}

}  // namespace

bool read_control(std::span<const std::byte> frame, PacketKind kind, Packet& packet,
                  const ControlNodes& nodes) {
  bool good = false;
  for_control(kind, [&]<class T>(std::type_identity<T>) { good = read<T>(frame, packet, nodes); });
  return good;
}

std::span<const std::byte> write_control(const Packet& packet, const ControlAddresses& run,
                                         std::span<std::byte> out) {
  RL_CHECK(out.size() >= std::max<std::size_t>(kMaxControlFrame, packet.frame_length));
  const bool written =
      for_control(packet.kind, [&]<class T>(std::type_identity<T>) { write<T>(packet, run, out); });
  RL_CHECK(written);
  return out.first(packet.frame_length);
}

DamagedPart transport_of(const Packet& feedback) {
  DamagedPart part;
  for_control(feedback.kind, [&]<class T>(std::type_identity<T>) {
    if constexpr (!T::kLinkLocal) part = {T::kTransportAt, control_of<T>(feedback).transport_bytes()};
  });
  return part;
}

std::optional<FrameView> view_feedback(std::span<const std::byte> frame) {
  FrameView view;
  if (!view_any(frame, view, Controls())) return std::nullopt;
  return view;
}

}  // namespace rocelab
