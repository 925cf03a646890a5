#include "emu/runner/metric_table.h"

#include <type_traits>

#include "emu/runner/metrics.h"

namespace rocelab {
namespace {

constexpr ShownUnit kPlain{"", 1}, kMs{"ms", 1e3}, kUs{"us", 1e6}, kGbps{"Gb/s", 1e-9}, kPercent{"%", 100},
    kFlows{"flows", 1}, kMessages{"messages", 1}, kPackets{"packets", 1}, kFrames{"frames", 1},
    kTimes{"times", 1};

template <auto kMember>
MetricValue flows(const FlowSums& sums) {
  return sums.*kMember;
}
template <auto kMember>
MetricValue nics(const RunSums& sums) {
  return sums.nics.*kMember;
}
template <auto kMember>
MetricValue ports(const RunSums& sums) {
  return sums.ports.*kMember;
}

template <auto kMember>
MetricValue mean_of(const FlowSums& sums) {
  return mean(sums.*kMember);
}
template <auto kMember, int kPercentile>
MetricValue percentile_of(const FlowSums& sums) {
  return percentile(sums.*kMember, kPercentile);
}

// Mean over collectives.
template <auto kMember>
MetricValue of_collectives(const FlowSums& sums) {
  std::vector<double> values;
  for (const CollectiveResult& c : sums.collectives) {
    if constexpr (std::is_member_function_pointer_v<decltype(kMember)>)
      values.push_back((c.*kMember)());
    else
      values.push_back(c.*kMember);
  }
  return mean(values);
}
MetricValue mean_step(const FlowSums& sums) {
  StepTimes all;
  for (const CollectiveResult& c : sums.collectives) {
    all.ranks += c.all_steps().ranks;
    all.sum = all.sum + c.all_steps().sum;
  }
  return all.mean_s();
}
MetricValue longest_step(const FlowSums& sums) {
  std::vector<double> values;
  for (const CollectiveResult& c : sums.collectives) values.push_back(c.all_steps().longest.seconds());
  return percentile(values, 100);
}

// Of RPCs.
MetricValue rpcs(const FlowSums& sums) { return std::uint64_t{sums.rpcs.latency_s.size()}; }
template <auto kMember>
MetricValue mean_of_rpcs(const FlowSums& sums) {
  return mean(sums.rpcs.*kMember);
}
template <auto kMember, int kPerMille>
MetricValue percentile_of_rpcs(const FlowSums& sums) {
  return percentile(sums.rpcs.*kMember, kPerMille / 10.0);
}
template <auto kMember>
MetricValue rate_of_rpcs(const FlowSums& sums) {
  return sums.rpcs.*kMember;
}

MetricValue lost_messages(const FlowSums& sums) { return sums.messages.lost(); }
MetricValue message_latency(const FlowSums& sums) { return sums.messages.avg_latency_s(); }
MetricValue longest_latency(const FlowSums& sums) { return sums.messages.max_latency_s; }
MetricValue completion(const FlowSums& sums) { return sums.span.length().seconds(); }
MetricValue goodput(const FlowSums& sums) { return rate_of(sums.bytes, sums.span.length()); }
MetricValue bottleneck(const RunSums& sums) { return sums.bottleneck_utilization; }

MetricValue drops(const RunSums& s) {
  return s.ports.drops + s.links.lost_frames + s.links.malformed_frames + s.links.undeliverable_frames +
         s.nics.rx_icrc_encapsulated;
}
MetricValue data_drops(const RunSums& s) { return s.ports.data_drops + s.links.lost_data_frames; }
MetricValue pushed_out(const RunSums& s) { return s.ports.drops_pushed_out + s.ports.drops_displaced; }
MetricValue down_drops(const RunSums& s) { return s.links.down_frames; }
MetricValue undeliverable(const RunSums& s) { return s.links.undeliverable_frames; }

MetricValue timeouts(const RunSums& s) {
  return s.nics.rto_low_timeouts + s.nics.rto_high_timeouts + s.nics.read_responder_timeouts +
         s.nics.local_ack_timeout_err;
}
MetricValue cnps(const RunSums& s) {
  std::uint64_t sent = s.nics.np_cnp_sent + s.ports.rocc_cnps;
  const auto names = mechanism_counter_names();
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::string_view(names[i]).ends_with("_feedback")) sent += s.ports.of_mechanisms[i];
  return sent;
}
template <auto kMember>
MetricValue of_slack(const RunSums& s) {
  const std::uint64_t all = s.nics.rx_slack_packets;
  return all == 0 ? 0.0 : static_cast<double>(s.nics.*kMember) / static_cast<double>(all);
}
MetricValue unknown_dscp(const RunSums& s) { return s.ports.unknown_dscp + s.nics.rx_unknown_dscp; }

MetricValue pause_frames(const RunSums& s) {
  std::uint64_t frames = 0;
  for (const std::uint64_t of_class : s.ports.xoff_sent) frames += of_class;
  return frames;
}
MetricValue paused(const RunSums& s) {
  double seconds = static_cast<double>(s.nics.rx_pause_duration_ns) * 1e-9;
  for (const std::uint64_t ps : s.ports.paused_ps) seconds += static_cast<double>(ps) * 1e-12;
  return seconds;
}
MetricValue longest_pause(const RunSums& s) { return s.longest_pause.seconds(); }

using enum Better;
using enum Shown;
using Nic = NicCounters;
using Port = SwitchPortCounters;

// Name, title, unit, direction, where it is shown, of flows, of a run, text.
constexpr char kWaited[] =
    "data packets with slack that waited at so many switches, their congestion points / all that arrived";
constexpr Metric kTable[] = {
    {"flows", "flows", kFlows, kNeither, kNever, flows<&FlowSums::flows>, nullptr,
     "flows that started in the measuring window"},
    {"completed", "completed", kFlows, kHigher, kNever, flows<&FlowSums::completed>, nullptr,
     "of these, flows that completed"},
    {"rct_s", "completion", kMs, kLower, kAlways, completion, nullptr,
     "first start to last end of the completed flows; stopped ones, and streams, end at their stop, others "
     "over UC "
     "and UD with their last arrival"},
    {"goodput_bps", "goodput", kGbps, kHigher, kAlways, goodput, nullptr,
     "payload of these that was delivered / `rct_s`"},
    {"avg_fct_s", "mean FCT", kMs, kLower, kAlways, mean_of<&FlowSums::fct_s>, nullptr,
     "mean over completed flows but streams of first work request to last byte in place"},
    {"median_fct_s", "median FCT", kMs, kLower, kNever, percentile_of<&FlowSums::fct_s, 50>, nullptr,
     "median of FCT"},
    {"p99_fct_s", "99th % FCT", kMs, kLower, kAlways, percentile_of<&FlowSums::fct_s, 99>, nullptr,
     "99th percentile of FCT, nearest rank: the smallest value that at least 99 % do not exceed"},
    {"max_fct_s", "longest FCT", kMs, kLower, kNever, percentile_of<&FlowSums::fct_s, 100>, nullptr,
     "the largest FCT"},
    {"avg_slowdown", "slowdown", kPlain, kLower, kAlways, mean_of<&FlowSums::slowdown>, nullptr,
     "mean over completed flows of FCT / FCT alone on an idle network"},
    {"p99_slowdown", "99th % slowdown", kPlain, kLower, kNever, percentile_of<&FlowSums::slowdown, 99>,
     nullptr, "99th percentile of slowdown, nearest rank"},
    {"collective_s", "collective", kMs, kLower, kIfAny, of_collectives<&CollectiveResult::completion_s>,
     nullptr,
     "mean over collectives (`kind = \"collective\"`) of the first rank's first work request to the last "
     "byte in "
     "place"},
    {"step_avg_s", "mean step", kUs, kLower, kNever, mean_step, nullptr,
     "mean over ranks and steps of collectives: a rank's first work request of a step to the last byte in "
     "place "
     "of all that it sends in it"},
    {"step_max_s", "longest step", kUs, kLower, kIfAny, longest_step, nullptr, "the longest of these"},
    {"algbw_bps", "algorithm bandwidth", kGbps, kHigher, kNever,
     of_collectives<&CollectiveResult::algorithm_bps>, nullptr,
     "mean over collectives of size / completion time, with the size of docs/explanation/collectives.md"},
    {"busbw_bps", "bus bandwidth", kGbps, kHigher, kIfAny, of_collectives<&CollectiveResult::bus_bps>,
     nullptr,
     "the same times 2(n-1)/n (all-reduce), (n-1)/n (all-gather, reduce-scatter, all-to-all) or 1 "
     "(broadcast), n "
     "ranks"},
    {"straggler_ratio", "straggler", kPlain, kLower, kIfAny,
     of_collectives<&CollectiveResult::straggler_ratio>, nullptr,
     "mean over collectives of the time in steps of the rank with most of it / that of a rank on average"},
    {"rpcs", "RPCs", kTimes, kHigher, kIfAny, rpcs, nullptr,
     "completed RPCs (`kind = \"rpc\"`) whose request came in the measuring window"},
    {"rpc_offered_bps", "RPCs offered", kGbps, kNeither, kIfAny, rate_of_rpcs<&RpcSums::offered_bps>, nullptr,
     "payload per second, of requests and responses, of the RPCs whose requests came while an open loop's "
     "clients sent, in the measuring window"},
    {"rpc_accepted_bps", "RPCs accepted", kGbps, kHigher, kIfAny, rate_of_rpcs<&RpcSums::accepted_bps>,
     nullptr,
     "the same of the RPCs that completed in this time; without an open loop those of closed ones, until a "
     "place "
     "of theirs has no more requests"},
    {"avg_rpc_s", "mean RPC", kUs, kLower, kNever, mean_of_rpcs<&RpcSums::latency_s>, nullptr,
     "mean over RPCs of the time from the request's first work request to the last byte of the response"},
    {"median_rpc_s", "median RPC", kUs, kLower, kIfAny, percentile_of_rpcs<&RpcSums::latency_s, 500>, nullptr,
     "median of these"},
    {"p99_rpc_s", "99th % RPC", kUs, kLower, kIfAny, percentile_of_rpcs<&RpcSums::latency_s, 990>, nullptr,
     "99th percentile of these, nearest rank"},
    {"p999_rpc_s", "99.9th % RPC", kUs, kLower, kIfAny, percentile_of_rpcs<&RpcSums::latency_s, 999>, nullptr,
     "99.9th percentile of these, nearest rank"},
    {"avg_rpc_wait_s", "mean wait", kUs, kLower, kNever, mean_of_rpcs<&RpcSums::wait_s>, nullptr,
     "mean over RPCs of an open loop of the time from a request's time until it was posted, which "
     "`outstanding` delays; not in their latency"},
    {"p99_rpc_wait_s", "99th % wait", kUs, kLower, kNever, percentile_of_rpcs<&RpcSums::wait_s, 990>, nullptr,
     "99th percentile of these, nearest rank"},
    {"delivered_data_packets", "delivered", kPackets, kHigher, kNever, flows<&FlowSums::packets>, nullptr,
     "packets with payload of completed flows, without retransmissions"},
    {"bottleneck_utilization", "port busy", kPercent, kHigher, kAlways, nullptr, bottleneck,
     "the largest over switch ports (`bottleneck_port`) of wire bytes sent, 24 a frame added / (rate x "
     "`rct_s`)"},
    {"data_drops", "dropped", kPackets, kLower, kAlways, nullptr, data_drops,
     "packets with payload that a switch or a link's fault dropped; a corrupted one counts in "
     "`corrupted_frames`"},
    {"retransmitted_packets", "retx", kPackets, kLower, kAlways, nullptr, nics<&Nic::retransmitted_packets>,
     "packets that a sender retransmitted"},
    {"timeout_retransmissions", "timeout retx", kPackets, kLower, kIfAny, nullptr,
     nics<&Nic::timeout_retransmissions>, "retransmitted in recovery that a timer began"},
    {"spurious_retransmissions", "spurious", kPackets, kLower, kIfAny, nullptr,
     nics<&Nic::spurious_retransmissions>,
     "data packets that arrived although they were there, counted at the receiver"},
    {"low_priority_packets", "low priority", kPackets, kNeither, kIfAny, nullptr, nics<&Nic::rlp_packets>,
     "data packets that RC3 (`irn.rc3`) sent ahead of TCP at its lower levels"},
    {"low_priority_repeated", "repeated", kPackets, kLower, kIfAny, nullptr, nics<&Nic::rlp_repeated>,
     "of these, packets that TCP sent, too, because nothing had said that they had arrived"},
    {"timeouts", "timeouts", kTimes, kLower, kNever, nullptr, timeouts,
     "expiries of RTO_low, RTO_high, the READ responder's timer, and periods of the verbs timeout"},
    {"pfc_pause_frames", "pauses", kFrames, kLower, kAlways, nullptr, pause_frames,
     "XOFF frames sent by switches, refreshes included"},
    {"pfc_paused_s", "paused", kMs, kLower, kIfAny, nullptr, paused,
     "time in which NICs and switch ports might not send a class, summed"},
    {"pfc_longest_pause_s", "longest pause", kMs, kLower, kNever, nullptr, longest_pause,
     "the longest time without a break in which a switch port might not send a class"},
    {"pfc_depth", "depth of pauses", kPlain, kLower, kNever, nullptr, nullptr,
     "how far pauses spread: a port's XOFF is one deeper than the pause of another port of its switch, in "
     "the "
     "same class, within which it is sent, else its depth is 1; a chain that comes back to a link that it "
     "has "
     "passed gets no deeper; the largest. Switches have no record of which frame waits for which port, so "
     "that "
     "it is an upper bound. null without traces"},
    {"pfc_storms", "PFC storms", kTimes, kLower, kNever, nullptr, ports<&Port::pfc_storms>,
     "queues that the watchdog (`switch.pfc.watchdog`) found paused for too long"},
    {"loops_broken", "loops broken", kTimes, kNeither, kNever, nullptr, ports<&Port::loops_broken>,
     "how often a queue found by Loop Breaker (`switch.loop_breaker`) that it was the master of a loop, and "
     "dropped; messages are in the ports' `clcms_sent` and `clcms_ignored`"},
    {"overdue", "overdue", kPercent, kLower, kIfAny, nullptr, of_slack<&Nic::rx_overdue_packets>,
     "data packets with slack (`[slack]`) that had waited longer than it allowed / all that arrived"},
    {"overdue_beyond", "overdue > T", kPercent, kLower, kIfAny, nullptr, of_slack<&Nic::rx_overdue_beyond>,
     "of the same, those by more than the time of a full frame on the slowest link"},
    {"waited_1", "waited at 1 switch", kPercent, kNeither, kNever, nullptr, of_slack<&Nic::rx_waited_at_1>,
     kWaited},
    {"waited_2", "at 2", kPercent, kNeither, kNever, nullptr, of_slack<&Nic::rx_waited_at_2>, kWaited},
    {"waited_3", "at 3", kPercent, kNeither, kNever, nullptr, of_slack<&Nic::rx_waited_at_3>, kWaited},
    {"waited_more", "at 4 or more", kPercent, kNeither, kNever, nullptr, of_slack<&Nic::rx_waited_at_more>,
     kWaited},
    {"ecn_marks", "ECN marks", kPackets, kNeither, kIfAny, nullptr, ports<&Port::ecn_marked>,
     "packets marked CE"},
    {"cnps", "CNPs", kFrames, kNeither, kIfAny, nullptr, cnps,
     "CNPs sent by NICs, and feedback to flows' sources by switches"},
    {"avg_rtt_s", "mean RTT", kUs, kLower, kIfAny, nullptr, nullptr,
     "mean over all segments whose round trip was taken (`congestion_control.rtt_segment`, and TIMELY's "
     "own): "
     "first packet out to the ACK of the last, without their serialisation at the NIC's rate; a segment of "
     "which a packet was retransmitted gives none. null where nobody took any, or without traces"},
    {"p99_rtt_s", "99th % RTT", kUs, kLower, kIfAny, nullptr, nullptr,
     "99th percentile of these round trips, nearest rank"},
    {"escaped_frames", "escaped", kFrames, kNeither, kIfAny, nullptr, ports<&Port::escaped_frames>,
     "frames that left paused queues by Escape's tokens, counted where they were taken out"},
    {"escape_tokens_at_hosts", "tokens at hosts", kFrames, kLower, kNever, nullptr,
     nics<&Nic::rx_escape_tokens>,
     "Escape's tokens that reached a host, where they end; 0 unless the fix `hosts` is off. Of a switch's "
     "port: `escape_tokens_sent`, `_ignored` (could not be used there), `_returned` (came back and freed a "
     "place), `escape_announcements_sent`, `_received`, `_ignored` (forged, or without one way on)"},
    {"drops", "dropped frames", kFrames, kLower, kIfAny, nullptr, drops,
     "frames lost anywhere: dropped by switches, lost by links' faults, malformed, with a wrong ICRC, "
     "without "
     "a receiver"},
    {"declared_drops", "declared drops", kFrames, kLower, kIfAny, nullptr, ports<&Port::drops_egress_max>,
     "of `drops`: lossless frames beyond a declared limit (`switch.class.N.egress_max`)"},
    {"pushed_out", "pushed out", kFrames, kLower, kIfAny, nullptr, pushed_out,
     "of `drops`: lossy frames that gave way in a full queue (`switch.class.N.when_full`) or at a full port "
     "(`switch.port_when_full`)"},
    {"down_link_drops", "down links", kFrames, kLower, kNever, nullptr, down_drops,
     "of `drops`: frames that a link carried, or began to carry, while it was down (`[[link_event]]`)"},
    {"corrupted_frames", "corrupted", kFrames, kLower, kNever, nullptr, nics<&Nic::rx_icrc_encapsulated>,
     "of `drops`: frames that arrived with a wrong ICRC"},
    {"undeliverable_frames", "undeliverable", kFrames, kLower, kNever, nullptr, undeliverable,
     "of `drops`: frames to a host on which nobody was there to receive them"},
    {"stopped", "stopped", kFlows, kNeither, kIfAny, flows<&FlowSums::stopped>, nullptr,
     "flows that their stop ended before all was sent"},
    {"lost_messages", "lost", kMessages, kLower, kIfAny, lost_messages, nullptr,
     "of streams, flows with a stop, and flows over UC and UD: messages (UD: datagrams) sent that did not "
     "arrive"},
    {"avg_message_latency_s", "message latency", kUs, kLower, kIfAny, message_latency, nullptr,
     "mean latency of these messages: from the time of a message (of a flow that is no stream: its start) "
     "until it "
     "was in place. null where none is counted"},
    {"max_message_latency_s", "longest", kUs, kLower, kIfAny, longest_latency, nullptr,
     "the largest of these latencies"},
    {"unknown_dscp", "unknown DSCP", kFrames, kLower, kIfAny, nullptr, unknown_dscp,
     "frames that reached a switch or NIC whose class map leaves their DSCP out: they were of class 0 there"},
    {"lossless_drops", "lossless drops", kFrames, kLower, kIfAny, nullptr, ports<&Port::lossless_drops>,
     "drops in a lossless class: an error, always. Frames that a PFC watchdog, Loop Breaker, a declared "
     "`egress_max` or a mechanism drops on purpose are not among them: counters `drops_watchdog`, "
     "`drops_loop_breaker`, `drops_egress_max`, `drops_mechanism`"},
};

}  // namespace

std::span<const Metric> metric_table() { return kTable; }

}  // namespace rocelab
