// clang-format off
// How a mechanism comes into a switch. It is a class with
//
//   static constexpr std::string_view kName;       // its random stream, and its section [switch.<name>]
//   struct Params;                                 // plain data
//   static Schema<Params> schema();                // the keys of the section (base/schema.h); none: others set them
//   static bool is_on(const Params&);
//   Mechanism(const Params&, SwitchActions, Rng);  // only where is_on()
//
// and any of the following members, which are found by their signatures. A switch in which a mechanism is off has a
// null pointer in its place. Hooks are called in the order of the list (mechanisms/mechanisms.h).
//
//   static constexpr std::string_view kSection;    // where its keys stand, if that is not [switch.<kName>]
//   static void follow(Params&, std::string_view congestion_control, std::string_view preset);  // of the label: before
//                                                  // the section's keys are read
//   static std::optional<SchemaProblem> problem_of(const Params&);  // contradictions between keys
//   static std::optional<SchemaProblem> problem_beside(const Params&, const SwitchConfig&);  // on: with the rest of
//                                                  // [switch]; an empty key: the mechanism as a whole
//   static std::string problem_in(const Params&, const SwitchConfig&, std::span<const PortConfig>);  // on: with a
//                                                  // switch and its ports; empty: none
//   static std::optional<SchemaProblem> problem_of_network(const Params&, const SwitchConfig&, const NetworkFacts&);
//                                                  // on: with the network around the switch (network_facts.h); `why`
//                                                  // is a whole sentence
//   static bool drops(const Params&);              // on: frames of lossless classes, on purpose
//   static Bytes headroom(const Params&, const SwitchConfig&, const PortConfig& link);  // on: that PFC needs for a
//                                                  // link beyond its own
//   struct Counters;                               // of a port: uint64 only, with kNames in their order; those whose
//                                                  // names end in _feedback are part of the metric cnps
//   const Counters& counters(PortId) const;
//   void on_enqueue(PortId out, PortId in, Packet&, Time);        // a frame is about to join a watched queue
//   void on_dequeue(PortId out, PortId in, const Packet&, Time);  // a frame has left a watched queue
//   bool discards(PortId out, const Packet&, Time);  // a frame has left its queue to be sent; true: it is dropped
//   void on_transmit(PortId out, Packet&, Time);   // a frame begins to leave, control frames apart
//   std::int64_t rank(PortId out, const Packet&, Time);           // for queues of QueueOrder::kRanked
//   bool on_arrival(PortId in, std::span<const PortId> outs, PacketRef&, Time);  // watch_arrivals(); true: it has
//                                                  // taken the frame, and will place() it, or has dropped it
//   PortId choose(PortId in, PortId out, const Packet&);  // watch_arrivals(); the output, or another that is as good
//   bool has_room(PortId out, Tc, Bytes frame) const;     // one of these takes the frame
//   void on_placed(PortId in, const Packet&, Time);       // place(): the frame leaves the memory of its ingress port
//   bool takes(PortId out, Tc, Bytes frame) const;        // false: no room for a frame of a lossless class, though
//                                                  // its egress_max, which it needs, leaves some
//   void on_refused(PortId out, Tc, Bytes frame);         // a frame of such a class is dropped for want of room
//   std::optional<SwitchDropReason> admit(PortId in, PortId out, const Packet&, Time);  // watch_admission()
//   void on_pauses(PortId egress, PauseState::Change, Time);      // pauses by the peer began or ended
//   void on_asked(PortId ingress, Tc, Time);       // this switch begins to ask for a pause
//   void on_dropped(PortId egress, Tc, Time);      // drop_queue() of any mechanism is done
//   Time next_timeout(PortId) const; void on_timeout(PortId, Time);
//   PacketRef poll_ahead(PortId egress, Time); bool has_ahead(PortId egress) const;     // send_ahead()
//   std::uint64_t held_frames() const;             // frames that are in no queue
//   static constexpr bool takes(PacketKind);       // kinds of frames that only switches make; with it
//   void on_message(PortId in, std::span<const PortId> outs, PacketRef, Time);  // and
//   static bool ignore(SwitchPortCounters&, const Packet&);  // off: counts the frame; false: it is to be dropped
// clang-format on
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/packet.h"
#include "base/rng.h"
#include "base/tc_mask.h"
#include "base/units.h"
#include "ovs_patches/switch_model/actions.h"
#include "ovs_patches/switch_model/mechanism_table.h"
#include "ovs_patches/switch_model/pfc.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {

template <class M>
concept HasCounters = requires {
  typename M::Counters;
};

template <class M>
constexpr std::size_t counters_of() {
  if constexpr (HasCounters<M>) {
    static_assert(sizeof(typename M::Counters) == M::Counters::kNames.size() * sizeof(std::uint64_t));
    return M::Counters::kNames.size();
  }
  return 0;
}

// The mechanisms that a switch has, one of each type or none.
template <class... M>
class MechanismSet {
 public:
  static constexpr std::size_t kCount = sizeof...(M);

  void make(SwitchCore& core, const SwitchConfig& config, const Rng& rng) {
    std::size_t place = 0;
    (make_one<M>(core, config, rng, place++), ...);
  }
  template <class Which>
  const Which* get() const {
    return std::get<std::unique_ptr<Which>>(all_).get();
  }
  bool any_transmit() {
    bool found = false;
    each([&](auto& m, std::size_t) {
      found |= requires(Packet & p) { m.on_transmit(PortId{}, p, Time{}); };
    });
    return found;
  }
  bool any_discard() {
    bool found = false;
    each([&](auto& m, std::size_t) {
      found |= requires(const Packet& p) { m.discards(PortId{}, p, Time{}); };
    });
    return found;
  }

  // Bytes of the parameters that stand in MechanismParams ahead of those of `Which`; of all, for void.
  template <class Which = void>
  static constexpr std::size_t params_before() {
    std::size_t bytes = 0;
    bool found = false;
    (add_params<Which, M>(bytes, found), ...);
    return bytes;
  }
  // Counters that mechanisms bring, in the order of the list; those of mechanisms that are off are 0.
  static constexpr std::size_t kCounters = (std::size_t{0} + ... + counters_of<M>());
  void write_counters(PortId port, std::uint64_t* values) const { (write_counters_of<M>(port, values), ...); }

  // `watch`: by place, the classes that it watches; of a mechanism that is off none.
  template <class Watch>
  void on_enqueue(const Watch& watch, PortId out, PortId in, Packet& packet, Time now) {
    std::size_t place = 0;
    (joins<M>(watch[place++], out, in, packet, now), ...);
  }
  template <class Watch>
  void on_dequeue(const Watch& watch, PortId out, PortId in, const Packet& packet, Time now) {
    std::size_t place = 0;
    (leaves<M>(watch[place++], out, in, packet, now), ...);
  }
  // The first mechanism that has rank() gives it; without one all ranks are 0.
  std::int64_t rank(PortId out, const Packet& packet, Time now) {
    std::optional<std::int64_t> rank;
    each([&](auto& m, std::size_t) {
      if constexpr (requires { m.rank(out, packet, now); })
        if (!rank) rank = m.rank(out, packet, now);
    });
    return rank.value_or(0);
  }
  void on_transmit(PortId out, Packet& packet, Time now) {
    each([&](auto& m, std::size_t) {
      if constexpr (requires { m.on_transmit(out, packet, now); }) m.on_transmit(out, packet, now);
    });
  }
  bool discards(PortId out, const Packet& packet, Time now) {
    bool found = false;
    each([&](auto& m, std::size_t) {
      if constexpr (requires { m.discards(out, packet, now); }) found |= m.discards(out, packet, now);
    });
    return found;
  }
  // True: a mechanism has taken the frame.
  bool on_arrival(PortId in, std::span<const PortId> outs, PacketRef& packet, Time now) {
    bool taken = false;
    each([&](auto& m, std::size_t) {
      if constexpr (requires { m.on_arrival(in, outs, packet, now); })
        if (!taken) taken = m.on_arrival(in, outs, packet, now);
    });
    return taken;
  }
  PortId choose(PortId in, PortId out, const Packet& packet) {
    each([&](auto& m, std::size_t) {
      if constexpr (requires { m.choose(in, out, packet); }) out = m.choose(in, out, packet);
    });
    return out;
  }
  bool has_room(PortId out, Tc tc, Bytes frame) const {
    bool found = false;
    each([&](auto& m, std::size_t) {
      if constexpr (requires { m.has_room(out, tc, frame); }) found = found || m.has_room(out, tc, frame);
    });
    return found;
  }
  void on_placed(PortId in, const Packet& packet, Time now) {
    each([&](auto& m, std::size_t) {
      if constexpr (requires { m.on_placed(in, packet, now); }) m.on_placed(in, packet, now);
    });
  }
  bool takes(PortId out, Tc tc, Bytes frame) const {
    bool room = true;
    each([&](auto& m, std::size_t) {
      if constexpr (requires { m.takes(out, tc, frame); }) room = room && m.takes(out, tc, frame);
    });
    return room;
  }
  void on_refused(PortId out, Tc tc, Bytes frame) {
    each([&](auto& m, std::size_t) {
      if constexpr (requires { m.on_refused(out, tc, frame); }) m.on_refused(out, tc, frame);
    });
  }
  std::optional<SwitchDropReason> admit(PortId in, PortId out, const Packet& packet, Time now) {
    std::optional<SwitchDropReason> reason;
    each([&](auto& m, std::size_t) {
      if constexpr (requires { m.admit(in, out, packet, now); })
        if (!reason) reason = m.admit(in, out, packet, now);
    });
    return reason;
  }
  void on_pauses(PortId egress, PauseState::Change change, Time now) {
    each([&](auto& m, std::size_t) {
      if constexpr (requires { m.on_pauses(egress, change, now); }) m.on_pauses(egress, change, now);
    });
  }
  void on_asked(PortId ingress, Tc tc, Time now) {
    each([&](auto& m, std::size_t) {
      if constexpr (requires { m.on_asked(ingress, tc, now); }) m.on_asked(ingress, tc, now);
    });
  }
  void on_dropped(PortId egress, Tc tc, Time now) {
    each([&](auto& m, std::size_t) {
      if constexpr (requires { m.on_dropped(egress, tc, now); }) m.on_dropped(egress, tc, now);
    });
  }
  Time next_timeout(PortId port) const {
    Time next = Time::never();
    each([&](auto& m, std::size_t) {
      if constexpr (requires { m.next_timeout(port); }) next = std::min(next, m.next_timeout(port));
    });
    return next;
  }
  void on_timeout(PortId port, Time now) {
    each([&](auto& m, std::size_t) {
      if constexpr (requires { m.on_timeout(port, now); })
        if (m.next_timeout(port) <= now) m.on_timeout(port, now);
    });
  }
  PacketRef poll_ahead(PortId egress, Time now) {
    PacketRef packet;
    each([&](auto& m, std::size_t) {
      if constexpr (requires { m.poll_ahead(egress, now); })
        if (!packet) packet = m.poll_ahead(egress, now);
    });
    return packet;
  }
  bool has_ahead(PortId egress) const {
    bool found = false;
    each([&](auto& m, std::size_t) {
      if constexpr (requires { m.has_ahead(egress); }) found |= m.has_ahead(egress);
    });
    return found;
  }
  std::uint64_t held_frames() const {
    std::uint64_t frames = 0;
    each([&](auto& m, std::size_t) {
      if constexpr (requires { m.held_frames(); }) frames += m.held_frames();
    });
    return frames;
  }
  // A frame or message that only switches make. True: a mechanism has taken it from `packet`, or has counted
  // that it is off and has no use for it. False: no mechanism of this build knows it, or it is to be dropped.
  bool on_message(SwitchPortCounters& counters, PortId in, std::span<const PortId> outs, PacketRef& packet,
                  Time now) {
    return (offer<M>(counters, in, outs, packet, now) || ...);
  }

 private:
  template <class Which>
  [[gnu::always_inline]] void joins(TcMask watched, PortId out, PortId in, Packet& packet, Time now) {
    if constexpr (requires(Which & m) { m.on_enqueue(out, in, packet, now); })
      if ((watched & bit_of(packet.tc)) != 0)
        std::get<std::unique_ptr<Which>>(all_)->on_enqueue(out, in, packet, now);
  }
  template <class Which>
  [[gnu::always_inline]] void leaves(TcMask watched, PortId out, PortId in, const Packet& packet, Time now) {
    if constexpr (requires(Which & m) { m.on_dequeue(out, in, packet, now); })
      if ((watched & bit_of(packet.tc)) != 0)
        std::get<std::unique_ptr<Which>>(all_)->on_dequeue(out, in, packet, now);
  }
  template <class Which, class Next>
  static constexpr void add_params(std::size_t& bytes, bool& found) {
    found = found || std::is_same_v<Which, Next>;
    if (!found) bytes += (sizeof(typename Next::Params) + 7) / 8 * 8;
  }
  template <class Which>
  void write_counters_of(PortId port, std::uint64_t*& values) const {
    if constexpr (HasCounters<Which>) {
      constexpr std::size_t count = counters_of<Which>();
      if (const Which* mechanism = get<Which>())
        std::memcpy(values, &mechanism->counters(port), count * sizeof(std::uint64_t));
      values += count;
    }
  }
  template <class Which>
  void make_one(SwitchCore& core, const SwitchConfig& config, const Rng& rng, std::size_t place) {
    std::unique_ptr<Which>& slot = std::get<std::unique_ptr<Which>>(all_);
    const Rng own = rng.fork(std::string(Which::kName));
    const typename Which::Params& params = config.mechanisms.of<Which>();
    if (Which::is_on(params)) slot = std::make_unique<Which>(params, SwitchActions(core, place), own);
  }
  template <class Which>
  bool offer(SwitchPortCounters& counters, PortId in, std::span<const PortId> outs, PacketRef& packet,
             Time now) {
    if constexpr (requires { Which::takes(packet->kind); }) {
      if (!Which::takes(packet->kind)) return false;
      Which* mechanism = std::get<std::unique_ptr<Which>>(all_).get();
      if (mechanism == nullptr) return Which::ignore(counters, *packet);
      mechanism->on_message(in, outs, std::move(packet), now);
      return true;
    }
    return false;
  }
  template <class F>
  void each(F&& f) {
    std::size_t place = 0;
    std::apply([&](auto&... m) { ((m ? f(*m, place) : void(), ++place), ...); }, all_);
  }
  template <class F>
  void each(F&& f) const {
    std::size_t place = 0;
    std::apply([&](const auto&... m) { ((m ? f(std::as_const(*m), place) : void(), ++place), ...); }, all_);
  }
  std::tuple<std::unique_ptr<M>...> all_;
};

template <class... M>
struct MechanismTypes {
  using Set = MechanismSet<M...>;
};

}  // namespace rocelab
