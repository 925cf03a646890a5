// RunPlan: one run (a label with a seed) in full: the world that an engine is given, routes, flows and the
// numbers derived from the topology. Everything random is drawn here or seeded from here, so two plans of
// the same scenario, label and seed are equal.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "emu/runner/scenario.h"
#include "emu/world/live_settings.h"
#include "emu/world/world.h"

namespace rocelab {

// One OpenFlow rule of a switch: destination prefix, and for equal-cost paths a bucket of the masked UDP
// source port. Or, with group_ports, datagrams to multicast groups.
struct Route {
  static constexpr std::uint32_t kAnyPort = 0xffffffff;
  std::uint32_t switch_index = 0;
  std::uint32_t prefix = 0, prefix_length = 32;   // IPv4, host order
  std::uint16_t src_port = 0, src_port_mask = 0;  // mask 0: all traffic to the prefix, management too
  std::uint32_t port_id = 0;                      // within the switch; its OpenFlow number is port_id + 1
  bool to_host =
      false;  // the port is that host's own: what it sends to itself goes back to where it came from
  // Not empty: out of all of these. From a host's port (port_id), back to it, too, whose programs may be
  // members; else (kAnyPort) not to where a frame came from.
  std::vector<std::uint32_t> group_ports = {};
  friend bool operator==(const Route&, const Route&) = default;
};

struct Flow {
  std::uint32_t id = 0;            // from 1, in start order
  std::string group;               // name of its workload
  std::uint32_t src = 0, dst = 0;  // hosts
  FlowOp op = FlowOp::kWrite;
  Bytes size, message_size;
  Time start;
  std::uint32_t qps = 1;
  std::uint32_t connection = 0;  // flows of one number share their queue pairs; 0: it has its own
  bool in_order = false;         // it starts behind the flows of its connection that were drawn before it
  QueuePairs queue_pairs = QueuePairs::kAhead;
  Time connect;                      // kPerFlow: when they are created; zero: before the run
  std::optional<std::uint8_t> dscp;  // of its queue pairs; null: that of programs that set no traffic class
  FlowService service = FlowService::kRc;
  StreamSettings stream = {};       // its messages' times; size is that of all messages
  Time stop = Time::never();        // no message begins behind it
  Duration settle = 10_ms;          // so long after it the receiver waits for what is on its way
  std::vector<FlowEnd> after = {};  // it starts behind after_count of these, not before start; empty: at it
  std::uint32_t after_count = 0;
  std::uint64_t packets = 0;  // with payload, without retransmissions
  Duration alone;             // completion time of this flow on an idle network (formula.h); no stream's
  std::uint32_t request = 0;  // of a periodic incast: which one, of a collective: iteration * groups + group,
                              // of an RPC: its number, from 0
  std::uint32_t step = 0;    // of a collective, from 0; of an RPC: 0 of its request, 1 of its response, which
                             // is `after` the request alone
  Time due = Time::never();  // of an RPC's request of an open loop: when it comes, which may have to wait

  bool is_stream() const { return stream.rate.bps() > 0; }
  // Its messages are counted.
  bool numbered() const { return is_stream() || !stop.is_never() || service != FlowService::kRc; }
  // As they are counted: with UD every packet is one.
  std::int64_t messages() const {
    return service == FlowService::kUd ? static_cast<std::int64_t>(packets)
                                       : (size + message_size - Bytes::from_count(1)) / message_size;
  }
};

// From `at` on the switches named have these rules and no others.
struct RouteChange {
  Time at;
  std::vector<std::uint32_t> switches;  // ascending
  std::vector<Route> routes;            // of these, switch by switch, most specific first
};

// What the report's buffer table says of a port.
struct PortLimits {
  std::string switch_name, interface, peer;
  Rate rate;
  Duration delay;
  Bytes buffer, headroom, xoff, xon;  // zero where the port has no lossless class
};

struct RunPlan {
  std::string scenario, label;
  std::uint64_t seed = 0;
  World world;
  LiveSettings live;
  std::vector<Route> routes;               // of the healthy network, with which a run begins
  std::vector<RouteChange> route_changes;  // in the order of time; a frame's route is that of its arrival
  std::vector<Flow> flows;
  std::vector<PortLimits> limits;  // in the order of world.ports
  Settings settings;
  Bytes wire_mtu;                    // largest frame, Ethernet header to ICRC
  Duration lookahead;                // of world.ports
  Duration base_rtt;                 // of a full frame and its ACK on the longest path, idle network
  std::uint32_t bdp_cap = 0;         // packets; 0 = off
  Time measure_from, measure_until;  // flows that start in [from, until) are measured
  // A program that waits for what comes starts its next flow up to a nanosecond late, since its wait has
  // whole nanoseconds. Not so in a replay and its original, whose packets leave at the same instants.
  bool exact_starts = false;
  std::shared_ptr<const RunPlan> original;  // that this one replays (slack.law = "replay"); null: none
};

// One plan per (label, seed): all seeds of the first label, then the next label. Throws ScenarioError.
std::vector<RunPlan> make_plans(const Scenario& scenario);
RunPlan make_plan(const Scenario& scenario, const Settings& settings, std::uint64_t seed);

}  // namespace rocelab
