// What a queueing policy decides, carried out: its frames are in the queues of their (egress port, class)
// like all others, so that lengths, pauses and mechanisms see them; the policy has their orders.
#include <algorithm>
#include <optional>
#include <utility>

#include "ovs_patches/switch_model/switch_flow.h"
#include "ovs_patches/switch_model/switch_path.h"

namespace rocelab {
namespace {

constexpr auto kPolicyOwner = static_cast<unsigned>(PauseOwner::kPolicy);

}  // namespace

// Before the first frame.
void SwitchCore::set_policy(std::shared_ptr<const PolicyProgram> first, const Rng& rng) {
  RL_CHECK(problem_of_policies(config).empty() && queues.frames() == 0);
  // Class queues out of which any frame can be taken.
  for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc)
    queues.set_rules(Tc{tc}, {.order = QueueOrder::kFifo, .full = FullRule::kPushOutLast}, rng);
  policy = std::make_unique<SwitchPolicy>(std::move(first), rng);
  dequeues_apart = true;
  ++arrival_watchers;
  ++no_short_cut;
  for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc)
    if (config.classes[tc].ecn.enabled) marking_classes |= bit_of(Tc{tc});
  apply_program();
}

// Of a class whose program marks, the configured marking is off.
void SwitchCore::apply_program() {
  const PolicyProgram& program = policy->current().program();
  const TcMask by_program = program.marks;
  for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc)
    config.classes[tc].ecn.enabled = (marking_classes & ~by_program & bit_of(Tc{tc})) != 0;
  departs_apart = std::any_of(program.ports.begin(), program.ports.end(), [](const PolicyPort& port) {
    return port.cycle > 0 || port.share.part != port.share.whole;
  });
}

void SwitchCore::change_policy(const PolicyChange& change, Time now) {
  at(PortId{0}).counters.policy_requeued += policy->change(change, now);
  apply_program();
  for (std::uint16_t port = 0; port < port_count; ++port)  // frames may have come from an internal port
    if (ports[port].sendable() != 0) list_ready(PortId{port}, ports[port]);
  for (std::uint16_t port = 0; port < port_count; ++port)
    for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc)
      request_pause(kPolicyOwner, PortId{port}, Tc{tc}, false, now);
  if (policy->moves()) run_moves(now);
}

void SwitchCore::store_by_policy(PortId in, std::span<const PortId> outs, PacketRef packet, Time now) {
  const Tc tc = packet->tc;
  const Bytes frame = packet->frame();
  if (lossless(tc)) {
    if (outs.size() == 1 && !egress_takes(outs[0], tc, frame))
      return drop(outs[0], in, *packet, SwitchDropReason::kEgressMax, now);
    if (!buffer.admit_lossless(in, tc, frame))
      return drop(in, outs[0], *packet, SwitchDropReason::kHeadroom, now);
  }
  if (outs.size() > 1) return receive_copies(in, outs, std::move(packet), true, now);
  const Packet& stored = *packet;  // stays where it is while the queue holds it
  if (offer(in, outs[0], packet, kNoShare, now)) return note_stored(in, outs[0], stored, now);
  if (lossless(tc)) buffer.release_lossless(in, tc, frame);
  drop(outs[0], in, *packet, SwitchDropReason::kEgressLimit, now);
}

// receive_copies(): the last output gets the original. `share`: kGivenBack, or a new one for a frame that
// counts at its ingress port while a copy of it waits.
void SwitchCore::copies_by_policy(PortId in, std::span<const PortId> outs, PacketRef packet,
                                  std::uint32_t share, Time now) {
  const Tc tc = packet->tc;
  const Bytes frame = packet->frame();
  const bool counts = share < kGivenBack;
  const bool charges = counts && !lossless(tc);
  if (charges) buffer.charge_lossy(in, tc, frame);
  if (counts) shares[share].copies = 1;  // ours, until all outputs have been asked
  std::optional<TraceRecord> last;       // of those that were stored
  for (std::size_t i = 0; i < outs.size(); ++i) {
    if (lossless(tc) && !egress_takes(outs[i], tc, frame)) {
      note_drop(outs[i], in, *packet, full_reason(outs[i], tc, frame), now);
      if (i + 1 == outs.size()) release_frame(*packet);
      continue;
    }
    PacketRef copy = i + 1 == outs.size() ? std::move(packet) : copy_of(*packet);
    if (!copy) {
      note_drop(outs[i], in, *packet, SwitchDropReason::kNoCopy, now);
      continue;
    }
    const Packet& one = *copy;  // stays where it is while the queue holds it
    if (offer(in, outs[i], copy, share, now))
      last = delivery(in, outs[i], one, now);
    else
      drop(outs[i], in, one, SwitchDropReason::kEgressLimit, now);
  }
  if (last && trace.wants(TraceKind::kDeliver)) trace.record(*last);
  if (!counts) return;
  if (last && lossless(tc) && buffer.above_xoff(in, tc)) request_pause(kBufferOwner, in, tc, true, now);
  give_back(in, tc, frame, share, now);
}

// Asks the policy. False: it refuses the frame, which the caller still has; what it evicted is gone.
bool SwitchCore::offer(PortId in, PortId out, PacketRef& packet, std::uint32_t share, Time now) {
  const Tc tc = packet->tc;
  const Bytes frame = packet->frame();
  const bool charges = share == kNoShare && !lossless(tc);
  const PfcThresholds& limits = buffer.thresholds(in);
  PolicyPacket seen{.flow = flow_of(*packet, in).key(),
                    .held = (buffer.held(in, tc) + (charges ? frame : 0_B)).count(),
                    .xoff = limits.xoff.count(),
                    .xon = limits.xon.count(),
                    .size = packet->frame_length,
                    .in = in,
                    .out = out,
                    .tc = tc,
                    .dscp = packet->roce.dscp,
                    .ecn = static_cast<std::uint8_t>(packet->ecn)};
  if (packet->roce.has_slack) seen.slack = PacketPool::slack(*packet).current;
  const std::uint32_t node = queues.reserve();
  policy->arrive(node, seen, now, outcome);
  const bool refused = outcome.refused;
  std::vector<std::uint32_t> evicted;  // apart: what is done below may ask the policy again
  if (!outcome.evicted.empty()) [[unlikely]]
    evicted.swap(outcome.evicted);
  if (refused) {
    queues.release(node);
  } else {
    const PolicyDecision decided = outcome;
    carry_out(in, out, *packet, decided, now);
    if (charges) buffer.charge_lossy(in, tc, frame);
    enqueue(in, out, std::move(packet), share, now, node);
  }
  for (const std::uint32_t victim : evicted) evict(victim, now);
  if (policy->moves()) run_moves(now);
  return !refused;
}

void SwitchCore::evict(std::uint32_t node, Time now) {
  const PortId out = policy->packet(node).out;
  const Tc tc = policy->packet(node).tc;
  EgressQueues::Queue& queue = queues.at(out, tc);
  const QueuedFrame victim = queues.pop_node(queue, node);
  left(out, at(out), queue, tc, victim, now);
  give_back(victim.in, tc, victim.packet->frame(), victim.share, now);
  drop(out, victim.in, *victim.packet, SwitchDropReason::kPushedOut, now);
}

// Marks and messages that a policy has decided on for a frame that arrives or leaves.
void SwitchCore::carry_out(PortId in, PortId out, Packet& packet, const PolicyDecision& decided, Time now) {
  if (decided.mark && packet.ecn != Ecn::kNotEct && packet.ecn != Ecn::kCe)
    mark(out, in, packet, queues.bytes(out, packet.tc), now);
  at(out).counters.policy_notified += decided.notified;
  if ((decided.pause_upstream || decided.resume_upstream) && lossless(packet.tc))
    request_pause(kPolicyOwner, in, packet.tc, decided.pause_upstream, now);
}

PacketRef SwitchCore::dequeue_by_policy(PortId port_id, Port& port, Time now) {
  while (port.sendable() != 0) {
    const auto node = policy->pick(port_id, port.pauses.paused(), now);
    RL_CHECK(node || policy->moves());
    if (!node) return {};  // all that waits is at internal ports
    const Tc tc = policy->packet(*node).tc;
    EgressQueues::Queue& queue = queues.at(port_id, tc);
    EgressQueues::Frame frame = queues.pop_node(queue, *node);
    left(port_id, port, queue, tc, frame, now);
    give_back(frame.in, tc, frame.packet->frame(), frame.share, now);
    const Bytes held = buffer.held(frame.in, tc);
    policy->leave(*node, held.count(), now, outcome);
    carry_out(frame.in, port_id, *frame.packet, outcome, now);
    if (held == 0_B && lossless(tc)) request_pause(kPolicyOwner, frame.in, tc, false, now);
    if (policy->moves()) run_moves(now);
    if (mechanisms.discards(port_id, *frame.packet, now)) {
      drop(port_id, frame.in, *frame.packet, SwitchDropReason::kMechanism, now);
      continue;
    }
    count_sent(port, *frame.packet);
    return std::move(frame.packet);
  }
  return {};
}

// What internal ports have done and begin to do, and when there is more.
void SwitchCore::run_moves(Time now) {
  PolicyInstance::Move what;
  while (policy->move(now, what)) {
    const PortId out = policy->packet(what.node).out;
    if (!what.outcome.refused)
      carry_out(queues.frame(what.node).in, out, *queues.frame(what.node).packet, what.outcome, now);
    for (const std::uint32_t victim : what.outcome.evicted) evict(victim, now);
    if (what.outcome.refused)
      evict(what.node, now);
    else if (what.arrived)
      list_ready(out, at(out));
  }
  set_timer(PortId{0}, at(PortId{0}));
}

}  // namespace rocelab
