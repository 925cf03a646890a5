// A switch whose hosts send to one of them, and the feedback that it makes: what the tests of congestion
// points share.
#pragma once

#include <vector>

#include "ovs_patches/switch_model/test_support.h"

namespace rocelab::switch_test {

inline SwitchConfig feedback_config() {
  SwitchConfig config;
  config.max_frame = 1098_B;
  config.ingress_buffer = 900_KB;
  return config;
}

template <class Body>
struct FeedbackBench {
  static constexpr Bytes kFrame = 1098_B;
  static constexpr int kSink = 3;
  struct Sent {
    int port;
    Time time;
    NodeId to, from;
    std::uint8_t dscp;
    Body body;
  };

  explicit FeedbackBench(const SwitchConfig& config) : node(config, ports(), Rng(1), pool, trace) {}
  static std::vector<PortConfig> ports() {
    std::vector<PortConfig> all(4);
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i].cp_address = kCpNetwork + 1 + static_cast<std::uint32_t>(i);
    return all;
  }
  static Duration gap() { return wire_time(kFrame, 40_Gbps); }

  // A frame of host `in` to the sink and its QPN 100 + in.
  PacketRef frame(int in, int tc = 3) {
    PacketRef packet = make_packet(pool, kFrame, tc, 0, 0);
    packet->src = NodeId{static_cast<std::uint16_t>(in)};
    packet->dst = NodeId{kSink};
    packet->roce.dest = Qpn{static_cast<std::uint32_t>(100 + in)};
    return packet;
  }
  void arrive(PacketRef packet, int in, Time due) {
    const PortId outs[] = {port(kSink)};
    node.deliver(port(in), outs, std::move(packet), due);
  }
  // Back to back from `begin`.
  void stream(int in, int frames, Time begin, int tc = 3) {
    for (int i = 1; i <= frames; ++i) arrive(frame(in, tc), in, begin + gap() * i);
  }
  void run_until(Time limit) {
    node.run_until(limit, [&](PortId p, PacketRef packet, Time departed, Time) {
      if (packet->kind != kind_of<Body>)
        ++others;
      else
        sent.push_back(
            {p.value, departed, packet->dst, packet->src, packet->roce.dscp, control_of<Body>(*packet)});
    });
  }
  SwitchPortCounters counters(int p) const { return node.model().counters(port(p), Time::zero()); }
  std::uint64_t counter(int p, std::string_view name) const {
    const auto names = mechanism_counter_names();
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == name) return counters(p).of_mechanisms[i];
    ADD_FAILURE() << name << " is no counter";
    return 0;
  }

  PacketPool pool;
  TraceLog trace;
  SwitchNode node;
  std::vector<Sent> sent;
  int others = 0;
};

}  // namespace rocelab::switch_test
