// What the tests of this folder share: packets, a trace that remembers, the bytes' owner that counts, senders
// that obey PFC, and a small net of nodes that advances in windows as the drivers do.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "base/packet.h"
#include "base/trace.h"
#include "base/wire/controls.h"
#include "ovs_patches/switch_model/pfc.h"
#include "ovs_patches/switch_model/switch_node.h"

namespace rocelab::switch_test {

inline PortId port(int n) { return PortId{static_cast<std::uint16_t>(n)}; }
inline Tc tc(int n) { return Tc{static_cast<std::uint8_t>(n)}; }
inline Time at(Duration since_start) { return Time::zero() + since_start; }

// A data packet of `frame` bytes in `tc`, ECN-capable, with payload.
inline PacketRef make_packet(PacketPool& pool, Bytes frame, int traffic_class = 3, std::uint32_t flow = 0,
                             std::uint32_t psn = 0) {
  PacketRef packet = pool.make();
  packet->frame_length = static_cast<std::uint32_t>(frame.count());
  packet->payload_length = packet->frame_length - 58;
  packet->roce.dscp = static_cast<std::uint8_t>(traffic_class << 3);
  packet->tc = tc(traffic_class);
  packet->ecn = Ecn::kEct0;
  packet->flow = flow;
  packet->roce.psn = Psn(psn);
  return packet;
}

inline PacketRef make_pfc(PacketPool& pool, int traffic_class, std::uint16_t quanta) {
  PfcFrame frame;
  frame.class_enable = bit_of(tc(traffic_class));
  frame.time[traffic_class] = quanta;
  PacketRef packet = pool.make();
  put_control(*packet, frame);
  return packet;
}

inline PacketRef make_clcm(PacketPool& pool, const Clcm& message) {
  PacketRef packet = pool.make();
  put_control(*packet, message);
  return packet;
}

class TraceLog final : public TraceSink {
 public:
  TraceLog() : TraceSink(~0u) {}
  std::vector<TraceRecord> records;
  int count(TraceKind kind) const {
    return static_cast<int>(
        std::count_if(records.begin(), records.end(), [&](const TraceRecord& r) { return r.kind == kind; }));
  }
  const TraceRecord& only(TraceKind kind) const {
    EXPECT_EQ(count(kind), 1);
    return *std::find_if(records.begin(), records.end(),
                         [&](const TraceRecord& r) { return r.kind == kind; });
  }

 private:
  void on_record(const TraceRecord& r) override { records.push_back(r); }
};

// References per frame slot: everything must be back at the end.
class CountingOwner final : public FrameOwner {
 public:
  void release(std::uint32_t slot) override {
    EXPECT_GT(references[slot], 0) << "slot " << slot << " was given back too often";
    --references[slot];
  }
  std::uint32_t share(std::uint32_t slot) override {
    if (refuse) return kNoFrame;
    ++references[slot];
    return slot;
  }
  std::map<std::uint32_t, int> references;
  bool refuse = false;
};

// One frame that left a switch.
struct Departure {
  PortId port;
  Time time;
  Time due;
  PacketKind kind;
  std::uint32_t flow;
  std::uint32_t psn;
  std::uint32_t frame_length;
  Ecn ecn;
  PfcFrame pfc;
  Clcm clcm{};
  EscapeToken token{};
  std::uint8_t hops = 0;  // of Escape's shim
};

// A SwitchNode with its surroundings; departures are kept.
struct Bench {
  explicit Bench(const SwitchConfig& config, std::vector<PortConfig> port_configs,
                 FrameOwner* owner = nullptr)
      : node(config, port_configs, Rng(1), pool, trace, owner) {}
  void send(int in, int out, Time due, Bytes frame, int traffic_class = 3, std::uint32_t flow = 0,
            std::uint32_t psn = 0) {
    const PortId outs[] = {port(out)};
    node.deliver(port(in), outs, make_packet(pool, frame, traffic_class, flow, psn), due);
  }
  void send_pfc(int in, Time due, int traffic_class, std::uint16_t quanta) {
    node.deliver(port(in), {}, make_pfc(pool, traffic_class, quanta), due);
  }
  void send_clcm(int in, Time due, const Clcm& message) {
    node.deliver(port(in), {}, make_clcm(pool, message), due);
  }
  void run_until(Time limit) {
    node.run_until(limit, [&](PortId p, PacketRef packet, Time departed, Time due) {
      EXPECT_EQ(packet->due, due);
      const bool is_pfc = packet->kind == kind_of<PfcFrame>;
      sent.push_back({p, departed, due, packet->kind, packet->flow, packet->roce.psn.value(),
                      packet->frame_length, packet->ecn, is_pfc ? control_of<PfcFrame>(*packet) : PfcFrame{},
                      packet->kind == kind_of<Clcm> ? control_of<Clcm>(*packet) : Clcm{},
                      packet->kind == kind_of<EscapeToken> ? control_of<EscapeToken>(*packet) : EscapeToken{},
                      packet->roce.shim_hops});
    });
  }
  void run() { run_until(Time::never()); }
  std::vector<Departure> sent_by(int p) const {
    std::vector<Departure> result;
    std::copy_if(sent.begin(), sent.end(), std::back_inserter(result),
                 [&](const Departure& d) { return d.port == port(p); });
    return result;
  }
  SwitchPortCounters counters(int p) const { return node.model().counters(port(p), Time::zero()); }

  PacketPool pool;
  TraceLog trace;
  SwitchNode node;
  std::vector<Departure> sent;
};

}  // namespace rocelab::switch_test
