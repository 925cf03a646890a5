// Nic: packets, timers, work, transmission. Resources: nic_resources.cc.
#include "irn_provider/nic/nic.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/wire/controls.h"
#include "base/wire/multicast.h"
#include "base/wire/sent_kinds.h"
#include "irn_provider/cc/cc_limiter.h"
#include "irn_provider/nic/between_switches.h"
#include "irn_provider/nic/nic_impl.h"

namespace rocelab {

Nic::Impl::Impl(const NicConfig& configuration, Qpn first, PacketPool& packets, Memory& memory,
                TraceSink& sink)
    : config(configuration),
      cnp_tc(configuration.cnp_tc()),
      knows_all(std::ranges::count(configuration.class_map.classes, ClassMap::kUnknown) == 0),
      first_qpn(first),
      pool(packets),
      trace(sink),
      regions(configuration.max_mrs),
      windows(regions, kMaxMws),
      address_handles(kMaxAhs),
      services{config, counters, regions, windows, address_handles, srqs, memory, trace, completions, events},
      pause(configuration.link_rate, counters, sink),
      scheduler(configuration.qp_burst),
      own_turns(configuration.class_turns()),
      class_turns(configuration.strict_classes != kAllClasses ? &own_turns : nullptr),
      slacks(configuration.slack),
      edge(configuration.slack.edge, configuration.slack.beyond),
      shares_limiters(shares_limiter(configuration.cc)),
      pds(kMaxPds),
      xrcds(kMaxXrcds),
      cqs(configuration.max_cqs),
      srqs(kMaxSrqs) {}

// Recovery and scheduling draw nothing: the Rng is for congestion control.
Nic::Nic(const NicConfig& config, Qpn first_qpn, Rng rng, PacketPool& pool, Memory& memory, TraceSink& trace)
    : impl_(std::make_unique<Impl>(config, first_qpn, pool, memory, trace)) {
  impl_->services.rng = rng;
}
Nic::~Nic() = default;

void Nic::Impl::touch(QueuePair& qp, Time now) {
  using Kind = QpScheduler::Kind;
  const std::uint32_t slot = slot_of(qp);
  const auto [cnp, ack, data] = qp.offers(now);
  const unsigned kinds = cnp * QpScheduler::bit_of(Kind::kCnp) | ack * QpScheduler::bit_of(Kind::kAck) |
                         data * QpScheduler::bit_of(Kind::kData);
  if (kinds != scheduler.ready_kinds(slot)) {
    scheduler.set_ready(slot, cnp_tc, Kind::kCnp, cnp);
    scheduler.set_ready(slot, qp.ack_tc(), Kind::kAck, ack);
    scheduler.set_ready(slot, qp.tc(), Kind::kData, data);
  }
  if (qp.data_class_varies()) [[unlikely]] {  // as where that of answers does
    if (data) scheduler.move(slot, qp.next_class(now), Kind::kData);
    if (ack && qp.ack_class_varies()) scheduler.move(slot, qp.ack_tc(), Kind::kAck);
  }
  timers.wake_by(slot, qp.next_timeout(now));
}

// --- inputs

NicDropReason Nic::Impl::check(const Packet& packet, const OpcodeInfo& info, QueuePair*& qp) {
  constexpr std::uint16_t kPartitionMask = 0x7fff;  // the upper bit is membership (IBTA 10.9.3)
  const RoceHeaders& h = packet.roce;
  if (packet.kind == PacketKind::kDamaged) [[unlikely]]
    return NicDropReason::kBadIcrc;
  if (!info.known() || h.transport_version != 0 ||
      (h.pkey & kPartitionMask) != (kDefaultPkey & kPartitionMask) ||
      (packet.payload_length > 0 && !info.has_payload))
    return NicDropReason::kMalformed;
  qp = find(h.dest);
  if (qp == nullptr) return NicDropReason::kUnknownQp;
  if (info.transport != qp->context().transport() && info.transport != TransportClass::kCnp)
    return NicDropReason::kWrongMode;
  if (!qp->accepts(info.role)) return NicDropReason::kWrongState;
  return qp->is_from_peer(packet) ? NicDropReason::kNone : NicDropReason::kWrongPeer;
}

void Nic::Impl::drop(const Packet& packet, NicDropReason reason, Time now) {
  if (reason == NicDropReason::kMalformed) ++counters.rx_malformed;
  if (reason == NicDropReason::kBadIcrc) ++counters.rx_icrc_encapsulated;
  if (reason == NicDropReason::kUnknownQp) ++counters.rx_unknown_qp;
  if (reason == NicDropReason::kNotInGroup) ++counters.rx_not_in_group;
  if (reason == NicDropReason::kWrongMode) ++counters.rx_wrong_mode;
  if (reason == NicDropReason::kWrongState) ++counters.rx_wrong_state;
  if (reason == NicDropReason::kWrongPeer) ++counters.rx_wrong_peer;
  TraceRecord record{now, TraceKind::kDrop, static_cast<std::uint8_t>(reason)};
  record.flow = packet.flow;
  record.bytes = packet.frame_length;
  record.psn = packet.roce.psn.value();
  record.peer = packet.roce.dest.value;
  trace.record(record);
}

void Nic::Impl::accept(const Packet& packet, Time now) {
  ++counters.rx_packets;
  counters.rx_bytes += packet.frame_length;
  if (packet.ecn == Ecn::kCe) ++counters.np_ecn_marked_roce_packets;
  if (!knows_all) [[unlikely]]
    counters.rx_unknown_dscp += !config.class_map.knows(packet.roce.dscp);
  if (packet.roce.has_slack) [[unlikely]]
    note_slack(packet, now);
  if (!trace.wants(TraceKind::kDeliver)) return;
  TraceRecord record{now, TraceKind::kDeliver, static_cast<std::uint8_t>(packet.ecn)};
  record.flow = packet.flow;
  record.bytes = packet.frame_length;
  record.psn = packet.roce.psn.value();
  record.peer = packet.roce.dest.value;
  trace.record(record);
}

// Menikkumbura, 3.3.3: "correctly match the feedback message to the relevant" flow.
void Nic::Impl::on_feedback(Packet& packet, Time now) {
  const auto found = flows.find(flow_key(packet.src, packet.roce.dest));
  if (config.cc.needs().feedback && found == flows.end()) {
    ++counters.rp_fair_rates_unknown_flow;
    return drop(packet, NicDropReason::kFeedbackOfNoFlow, now);
  }
  const FeedbackResult result =
      found == flows.end() ? FeedbackResult{} : qps[found->second]->on_feedback(packet, now);
  if (!result.accepted) {
    ++counters.rp_fair_rates_refused;
    return drop(packet, NicDropReason::kBadFeedback, now);
  }
  ++counters.rp_fair_rates_handled;
  QueuePair& qp = *qps[found->second];
  packet.flow = qp.context().qpn.value;  // it concerns this end of the flow
  packet.tc = config.class_map.of(packet.roce.dscp);
  accept(packet, now);
  if (result.computed)
    trace.record({.time = now,
                  .kind = TraceKind::kFairRate,
                  .mark = packet.tc.value,
                  .flow = packet.flow,
                  .bytes = static_cast<std::uint64_t>(result.rate.bps()),
                  .psn = result.queue,
                  .peer = result.point});
  touch(qp, now);
}

// BFC's pause from the switch at the other end of the link: of exactly these queues.
void Nic::Impl::on_queue_pauses(const BfcQueues& paused, Time now) {
  ++counters.rx_queue_pauses;
  const BfcQueues before = std::exchange(paused_queues, paused);
  for (std::size_t n = 0; n < BfcQueues::kWords; ++n)
    for (std::uint64_t left = before.word(n) ^ paused.word(n); left != 0; left &= left - 1) {
      const std::size_t queue = 64 * n + static_cast<std::size_t>(std::countr_zero(left));
      for (std::size_t slot = (queue - first_qpn.value) % BfcQueues::kMost; slot < qps.size();
           slot += BfcQueues::kMost) {
        if (qps[slot] == nullptr || slot == gsi_slot) continue;
        qps[slot]->hold(paused.has(queue), now);
        touch(*qps[slot], now);
      }
    }
}

void Nic::on_packet(PacketRef packet, Time now) {
  if (is_from_switches(packet->kind)) [[unlikely]] {
    if (is_feedback(packet->kind)) return impl_->on_feedback(*packet, now);
    if (packet->kind == kind_of<BfcPause> && impl_->config.cc.needs().queue_pauses)
      return impl_->on_queue_pauses(control_of<BfcPause>(*packet).queues, now);
    return count_between_switches(impl_->counters, packet->kind);
  }
  const OpcodeInfo& info = opcode_info(packet->roce.opcode);
  QueuePair* qp = nullptr;
  const NicDropReason reason = impl_->check(*packet, info, qp);
  if (reason != NicDropReason::kNone) {
    if (reason == NicDropReason::kUnknownQp && packet->roce.dest == kMulticastQpn)
      return impl_->on_group(*packet, info, now);
    impl_->drop(*packet, reason, now);
    return;
  }
  if (packet->roce.has_slack && impl_->edge.on() && !impl_->passes_edge(*packet, *qp, now)) [[unlikely]]
    return;
  impl_->accept(*packet, now);
  qp->on_packet(*packet, info, now);
  impl_->touch(*qp, now);
}

void Nic::on_pfc(const PfcFrame& frame, Time now) {
  if (impl_->config.pfc_enabled) impl_->pause.on_pfc(frame, now);
}

void Nic::on_link(bool up, Time /*now*/) { impl_->link.set(up); }

void Nic::expect_link_changes(std::vector<LinkChange> changes, Time now) {
  impl_->link.expect(std::move(changes), now);
}

void Nic::on_timeout(Time now) {
  impl_->pause.on_timeout(now);
  impl_->link.on_timeout(now);
  if (impl_->shares_limiters) [[unlikely]]
    return impl_->wake_in_turn(now);
  while (impl_->timers.next() <= now) {
    QueuePair& qp = *impl_->qps[impl_->timers.pop()];
    qp.on_timeout(now);
    impl_->touch(qp, now);
  }
}

// QPs that share a limiter are woken together, and the first one sends: whose last data packet was the
// longest ago; of those that have sent none, the smallest number.
void Nic::Impl::wake_in_turn(Time now) {
  last_turns.resize(qps.size());
  while (timers.next() <= now) {
    waking.clear();
    while (timers.next() <= now) waking.push_back(timers.pop());
    std::ranges::sort(waking, {}, [&](std::uint32_t slot) { return std::pair(last_turns[slot], slot); });
    for (const std::uint32_t slot : waking) {
      qps[slot]->on_timeout(now);
      touch(*qps[slot], now);
    }
  }
}

// --- work

PostResult Nic::post_send(Qpn qpn, const SendWqe& wqe, Time now) {
  QueuePair* qp = impl_->find(qpn);
  if (qp == nullptr) return PostResult::kBadHandle;
  const PostResult result = qp->post_send(wqe, now);
  if (result == PostResult::kOk) ++impl_->posts;
  impl_->touch(*qp, now);
  return result;
}

PostResult Nic::check_sends(Qpn qpn, std::span<const SendWqe> wqes) const {
  const QueuePair* qp = impl_->find(qpn);
  return qp != nullptr ? qp->check_sends(wqes) : PostResult::kBadHandle;
}

PostResult Nic::post_recv(Qpn qpn, const RecvWqe& wqe, Time now) {
  QueuePair* qp = impl_->find(qpn);
  if (qp == nullptr) return PostResult::kBadHandle;
  const PostResult result = qp->post_recv(wqe, now);
  impl_->touch(*qp, now);
  return result;
}

// --- outputs

bool Nic::has_more() const { return impl_->scheduler.has_ready(impl_->pause.open_classes()); }

PacketRef Nic::poll_transmit(Time now, TcMask of) { return impl_->poll(now, of); }

void Nic::share_port(ClassTurns& turns, TcMask ready_elsewhere) {
  impl_->class_turns = &turns;
  impl_->ready_elsewhere = ready_elsewhere;
}

void Nic::announce_flow(Qpn qpn, std::uint32_t packets) {
  if (const QueuePair* qp = impl_->find(qpn)) impl_->slacks.announce(impl_->slot_of(*qp), packets);
}
void Nic::use_replay(ReplayPort& port) { impl_->replay = &port; }

PacketRef Nic::Impl::poll(Time now, TcMask of) {
  const auto open = static_cast<TcMask>(pause.open_classes() & of);
  return scheduler.has_ready(open) ? transmit(now, open, of) : PacketRef();
}

PacketRef Nic::Impl::transmit(Time now, TcMask open, TcMask of) {
  ClassTurns* const turns = of == kAllClasses ? class_turns : nullptr;
  if (turns) [[unlikely]]
    open = turns->take(static_cast<TcMask>(scheduler.ready_classes() & open));
  const QpScheduler::Turn turn = scheduler.take_turn(open);
  QueuePair& qp = *qps[turn.slot];
  // A rate that fell by itself since the last look may hold back data that could leave then, and another side
  // of the QP may be the first to send.
  if (turn.kind == QpScheduler::Kind::kData && (config.cc.chosen() || qp.data_class_varies()) &&
      !still_sends(qp, turn, now)) {
    touch(qp, now);
    if (turns) turns->passed(scheduler.ready_classes() | ready_elsewhere);
    return poll(now, of);
  }
  PacketRef packet = pool.make();
  if (turn.kind != QpScheduler::Kind::kData) pulled_source = PayloadSource{};
  switch (turn.kind) {
    case QpScheduler::Kind::kCnp:
      qp.pull_cnp(*packet, now);
      break;
    case QpScheduler::Kind::kAck:
      qp.pull_ack(*packet, now);
      break;
    case QpScheduler::Kind::kData:
      pulled_source = qp.pull_data(*packet, now);
      break;
  }
  if (config.slack.on()) [[unlikely]]
    write_slack(qp, turn, *packet, now);
  pulled = &*packet;
  pulled_qp = &qp;
  ++counters.tx_packets;
  counters.tx_bytes += packet->frame_length;
  if (turn.kind != QpScheduler::Kind::kData || packet->payload_length == 0) count_control(*packet);
  touch(qp, now);
  if (turns) [[unlikely]]
    turns->sent(packet->frame(), scheduler.ready_classes() | ready_elsewhere);
  return packet;
}

// A packet leaves that may be no data.
void Nic::Impl::count_control(const Packet& packet) {
  const auto add = [&](std::uint64_t& frames, std::uint64_t& bytes) {
    ++frames;
    bytes += packet.frame_length;
  };
  switch (sent_kind(packet)) {
    case SentKind::k_request:
      return add(counters.tx_request_frames, counters.tx_request_bytes);
    case SentKind::k_ack:
      return add(counters.tx_ack_frames, counters.tx_ack_bytes);
    case SentKind::k_nack:
      return add(counters.tx_nack_frames, counters.tx_nack_bytes);
    case SentKind::k_cnp:
      return add(counters.tx_cnp_frames, counters.tx_cnp_bytes);
    default:  // a message of no bytes is data
      return;
  }
}

// The packet begins to leave.
void Nic::Impl::write_slack(const QueuePair& qp, const QpScheduler::Turn& turn, Packet& packet, Time now) {
  const std::uint32_t slot = slot_of(qp);
  const bool data = turn.kind == QpScheduler::Kind::kData;
  const std::int64_t ps =
      data ? slacks.of_data(slot, pulled_source.packets, pulled_source.left, packet.frame(), now)
           : slacks.of_answer(slot, packet.frame(), now);
  Slack slack{ps, ps, 0};
  if (data && replay != nullptr) {
    const Replayed replayed = replay->departs(packet, now);
    if (config.slack.replays()) slack.current = slack.initial = replayed.slack.ps();
    if (config.slack.law == SlackLaw::kReplayExit) slack.initial = replayed.out.ps();
    if (config.slack.law == SlackLaw::kOmniscient)
      PacketPool::hop_times(packet) = HopTimes::scheduled(replayed.hops);
  }
  PacketPool::slack(packet) = slack;
}

// False: queue management at the edge has dropped it.
bool Nic::Impl::passes_edge(Packet& packet, const QueuePair& qp, Time now) {
  if (packet.kind != PacketKind::kData) return true;
  const EdgeAqm::Verdict verdict = edge.judge(slot_of(qp), PacketPool::slack(packet), now);
  if (verdict == EdgeAqm::Verdict::kDrop) {
    ++counters.rx_edge_drops;
    drop(packet, NicDropReason::kEdgeAqm, now);
    return false;
  }
  if (verdict == EdgeAqm::Verdict::kMark && packet.ecn != Ecn::kNotEct) {
    ++counters.rx_edge_marks;
    packet.ecn = Ecn::kCe;
  }
  return true;
}

// Of data: what has waited longer than its slack allowed has a negative rest.
void Nic::Impl::note_slack(const Packet& packet, Time now) {
  if (packet.kind != PacketKind::kData) return;
  const Slack& slack = PacketPool::slack(packet);
  ++counters.rx_slack_packets;
  constexpr std::uint64_t NicCounters::*kWaited[] = {
      &NicCounters::rx_waited_at_1, &NicCounters::rx_waited_at_2, &NicCounters::rx_waited_at_3,
      &NicCounters::rx_waited_at_more};
  if (slack.waits > 0) ++(counters.*kWaited[std::min<int>(slack.waits, 4) - 1]);
  counters.rx_overdue_packets += slack.current < 0;
  counters.rx_overdue_beyond += slack.current < -config.slack.beyond.ps();
  if (replay != nullptr) replay->arrives(packet, now);
  trace.record({.time = now,
                .kind = TraceKind::kSlack,
                .mark = slack.current < 0,
                .port = slack.waits,
                .flow = packet.flow,
                .bytes = static_cast<std::uint64_t>(std::abs(slack.current)),
                .psn = packet.roce.psn.value(),
                .peer = static_cast<std::uint32_t>(std::clamp<std::int64_t>(
                    slack.used().ps() / 1'000, 0, std::numeric_limits<std::uint32_t>::max()))});
}

// Whether the data for which the QP was listed may leave now.
bool Nic::Impl::still_sends(QueuePair& qp, const QpScheduler::Turn& turn, Time now) {
  if (!qp.has_data(now)) return false;
  if (qp.data_class_varies() && qp.next_class(now) != scheduler.class_of(turn.slot, turn.kind)) return false;
  if (shares_limiters) {
    last_turns.resize(qps.size());
    last_turns[turn.slot] = counters.tx_packets + 1;
  }
  return true;
}

bool Nic::gather(const Packet& packet, std::span<std::byte> out) const {
  if (&packet != impl_->pulled || out.size() != packet.payload_length) return false;
  return impl_->pulled_qp->gather(impl_->pulled_source, out);
}

const PathAddress* Nic::path_of(const Packet& packet) const {
  if (&packet != impl_->pulled) return nullptr;
  const PathAddress* datagram = impl_->pulled_source.path;
  return datagram != nullptr ? datagram : &impl_->pulled_qp->attr().path;
}

Time Nic::next_timeout() const {
  return std::min({impl_->timers.next(), impl_->pause.next_timeout(), impl_->link.next_change()});
}
bool Nic::link_up() const { return impl_->link.up(); }
std::uint64_t Nic::completions() const { return impl_->completions; }
std::uint64_t Nic::posts() const { return impl_->posts; }
void Nic::wake_driver() { ++impl_->completions; }
const NicCounters& Nic::counters() const { return impl_->counters; }

}  // namespace rocelab
