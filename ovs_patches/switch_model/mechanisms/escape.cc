#include "ovs_patches/switch_model/mechanisms/escape.h"

#include <algorithm>
#include <utility>

#include "base/wire/controls.h"
#include "base/wire/shim_escape.h"
#include "ovs_patches/switch_model/counters.h"
#include "ovs_patches/switch_model/network_facts.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {
namespace {

// The frame is data again.
void end_escape(Packet& packet) {
  packet.kind = PacketKind::kData;
  packet.roce.shim_hops = kShimToRemove;
  packet.frame_length -= kEscapeShimBytes;
}

constexpr std::string_view kFixes[] = {"pool", "order", "reclaim", "headroom", "hosts"};  // by bit
constexpr std::string_view kFlows[] = {"connection", "hosts"};

constexpr auto kFields = fields(
    field<&EscapeParams::enabled>("enabled",
                                  "Escape: frames of flows whose way on is open leave paused queues by "
                                  "tokens (docs/explanation/escape.md)"),
    classes<&EscapeParams::classes>("classes",
                                    "which classes it serves: all that are lossless, or some of them, such "
                                    "as `[3]`. They share a port's pool and its dedicated queue")
        .or_word("lossless", EscapeParams::kLossless),
    set_of<&EscapeParams::fixes>("fixes", kFixes,
                                 "what the printed algorithm lacks, each by itself; `[]` is its letter "
                                 "(DEVIATIONS.md, escape)"),
    field<&EscapeParams::tokens>("tokens", "pool of a port: so many frames escape at once").within(1, 1024),
    field<&EscapeParams::flows>(
        "flows",
        "flows in a port's table: as many as tokens (the paper's), or a number. With fewer than go through a "
        "port, flows may be left in a deadlock (docs/explanation/escape.md)")
        .within(1, 4096)
        .or_word("by-pool"),
    choice<&EscapeParams::by_hosts>(
        "flow", kFlows,
        "what tokens are for: a connection, or all that one host sends to another, which also moves "
        "connections of which no frame has got through yet. Refused where two hosts have several paths"),
    field<&EscapeParams::period>("period", "how often tokens are sent while a port asks for a pause")
        .positive()
        .or_word("2-link-delays"),
    field<&EscapeParams::reclaim>("reclaim",
                                  "after which unused tokens are missed, at least as long as a token and its "
                                  "frame can be on the way")
        .positive(),
    field<&EscapeParams::announce>(
        "announce",
        "ours, not the chapter's: flows that wait behind a paused port are made known to the switches behind "
        "it, so that tokens come for new ones, too (docs/explanation/escape.md)"),
    field<&EscapeParams::return_tokens>("return_tokens",
                                        "ours: tokens that nobody can use come back, and their places are "
                                        "free at once. Needs the fixes `pool` and `reclaim`"),
    field<&EscapeParams::open_below>(
        "open_below",
        "ours: tokens are sent for flows of a port whose queue is not longer, since what escapes to a long "
        "queue passes frames that keep the pause up; `any`: the chapter's, for all ports that are not paused")
        .or_word("any"));

}  // namespace

Schema<EscapeParams> EscapeMechanism::schema() { return kFields; }

std::optional<SchemaProblem> EscapeMechanism::problem_of(const Params& p) {
  if (p.classes == 0) return SchemaProblem{"classes", "names none; \"lossless\" is all that are"};
  if (p.return_tokens && !(p.has(EscapeFix::kPool) && p.has(EscapeFix::kReclaim)))
    return SchemaProblem{"return_tokens", "needs the fixes \"pool\" and \"reclaim\", which know who is away"};
  return std::nullopt;
}

std::optional<SchemaProblem> EscapeMechanism::problem_beside(const Params& p, const SwitchConfig& config) {
  if (!config.pfc.enabled)
    return SchemaProblem{{}, "needs PFC: give the label a transport with it, such as \"roce+pfc\""};
  bool serves = false;
  for (std::size_t tc = 0; tc < config.classes.size(); ++tc) {
    if ((p.classes >> tc & 1) == 0) continue;
    const ClassConfig& c = config.classes[tc];
    serves |= c.lossless;
    if (p.classes != EscapeParams::kLossless && !c.lossless)
      return SchemaProblem{"classes",
                           "names class " + std::to_string(tc) + ", which is not in lossless_classes"};
    if (c.order != QueueOrder::kFifo || c.full != FullRule::kRefuse)
      return SchemaProblem{{},
                           "takes frames out of FIFO queues only, and class " + std::to_string(tc) +
                               " has another order or full rule"};
  }
  if (!serves) return SchemaProblem{"classes", "has no lossless class"};
  return std::nullopt;
}

std::string EscapeMechanism::problem_in(const Params& p, const SwitchConfig&,
                                        std::span<const PortConfig> ports) {
  for (std::size_t i = 0; i < ports.size() && p.period == 0_ps; ++i)
    if (ports[i].delay == 0_ps)
      return "port " + std::to_string(i) + ": delay 0, of which Escape's period is twice: give a period";
  return {};
}

// A place that is free again while its token or its frame is on the way would be promised twice, and one of
// two frames dropped: not before it can have come, at the latest behind a full dedicated queue at each
// switch. A token reserves places along the way of its flow, so that connections of two hosts must not go
// different ways.
std::optional<SchemaProblem> EscapeMechanism::problem_of_network(const Params& p, const SwitchConfig& config,
                                                                 const NetworkFacts& network) {
  if (p.by_hosts && !network.several_paths_to.empty())
    return SchemaProblem{"flow", "switch.escape.flow = \"hosts\", but \"" + std::string(network.name) +
                                     "\" has several paths to \"" + std::string(network.several_paths_to) +
                                     "\": use \"connection\""};
  if (!p.has(EscapeFix::kReclaim)) return std::nullopt;
  const auto frames = static_cast<std::int64_t>(p.tokens) * static_cast<std::int64_t>(network.most_links - 1);
  const Duration least = network.base_rtt + wire_time(config.longest_frame(), network.slowest_link) * frames;
  if (p.reclaim >= least) return std::nullopt;
  const Duration shown = 1_us * ((least.ps() + (1_us).ps() - 1) / (1_us).ps());
  return SchemaProblem{"reclaim", "switch.escape.reclaim of " + to_string(p.reclaim) +
                                      " is shorter than a token and its frame can be on the way, " +
                                      to_string(shown) +
                                      ": places would be promised twice, and frames dropped"};
}

Bytes EscapeMechanism::headroom(const Params& p, const SwitchConfig& config, const PortConfig& link) {
  const bool more = p.has(EscapeFix::kHeadroom) && link.peer == PeerKind::kSwitch;
  return more ? config.max_frame * p.tokens : 0_B;
}

EscapeMechanism::Port::Port(const Params& c)
    : pool(c.tokens, c.reclaim, c.has(EscapeFix::kReclaim)),
      flows(c.flows > 0 ? c.flows : c.tokens, c.flow_bits(), c.return_tokens),
      issued(c.tokens, c.reclaim, c.flow_bits()) {}

EscapeMechanism::EscapeMechanism(const Params& params, SwitchActions actions, Rng rng)
    : actions_(actions),
      params_(params),
      classes_(static_cast<TcMask>(params_.classes & actions.lossless())),
      rng_(rng) {
  actions_.tell_flows_by(params_.flow_bits());
  ports_.reserve(actions_.ports());
  for (std::uint16_t p = 0; p < actions_.ports(); ++p) {
    ports_.emplace_back(params_);
    actions_.watch(PortId{p}, classes_);
  }
}

// Out of line: most frames are of a flow that the port knows.
[[gnu::noinline]] void EscapeMechanism::forget_at_others(PortId out, std::uint64_t key) {
  for (std::uint16_t p = 0; p < ports_.size(); ++p)
    if (p != out.value) ports_[p].flows.forget_flow(key);
}

// A frame joins a queue that Escape looks after.
void EscapeMechanism::on_enqueue(PortId out, PortId in, const Packet& packet, Time now) {
  if (packet.kind != PacketKind::kData || packet.dst == kNoNode) return;
  note(out, flow_of(packet, in));
  if (params_.announce || params_.return_tokens) on_enqueued_more(out, packet, now);
}

void EscapeMechanism::on_message(PortId in, std::span<const PortId> outs, PacketRef packet, Time now) {
  if (packet->kind == kind_of<EscapeToken>) return receive_token(in, *packet, now);
  if (packet->kind == PacketKind::kEscaping) return receive_frame(in, outs, std::move(packet), now);
  receive_announcement(in, outs, std::move(packet));
}

bool EscapeMechanism::ignore(SwitchPortCounters& counters, const Packet& packet) {
  if (packet.kind == PacketKind::kEscaping) return false;
  ++(packet.kind == kind_of<EscapeToken> ? counters.escape_tokens_ignored
                                         : counters.escape_announcements_ignored);
  return true;
}

bool EscapeMechanism::between_switches(PortId port) const {
  return actions_.port(port).peer == PeerKind::kSwitch;
}

Duration EscapeMechanism::period_of(PortId port) const {
  return params_.period > 0_ps ? params_.period : actions_.port(port).delay * 2;  // 4.3.2
}

// --- event e1: while a port asks its peer switch to pause, every Delta^esc

void EscapeMechanism::on_asked(PortId ingress, Tc tc, Time now) {
  Port& port = at(ingress);
  if (!serves(tc) || !takes_tokens(ingress) || !port.next.is_never()) return;
  port.period = period_of(ingress);
  port.next = Time::zero() + port.period * ((now - Time::zero()) / port.period + 1);
  actions_.set_timer(ingress);
}

void EscapeMechanism::on_pauses(PortId egress, PauseState::Change change, Time now) {
  if (params_.announce && (change.paused & classes_) != 0)
    wait_to_announce(egress, actions_.waiting(egress), now);
}

Time EscapeMechanism::next_timeout(PortId port) const {
  const Port& at = ports_[port.value];
  return std::min({at.next, at.announce_next, at.pool.next_reclaim()});
}

void EscapeMechanism::on_timeout(PortId port, Time now) {
  Port& escape = at(port);
  if (escape.next <= now) {
    bool asks = false;
    for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc) {
      if (!serves(Tc{tc}) || !actions_.asks(port, Tc{tc})) continue;
      asks = true;
      clear_hol_block(port, Tc{tc}, now);
    }
    escape.next = asks ? escape.next + escape.period : Time::never();
  }
  if (escape.pool.next_reclaim() <= now) escape.pool.reclaim(now);
  if (escape.announce_next <= now) announce(port, now);
}

// Line 13: "to upstream switch". Without the fix hosts get them, too, where they end (4.4.5, 3).
bool EscapeMechanism::takes_tokens(PortId port) const {
  return between_switches(port) || !params_.has(EscapeFix::kHosts);
}

// Lines 5 to 14.
void EscapeMechanism::clear_hol_block(PortId ingress, Tc tc, Time now) {
  for (std::uint16_t p = 0; p < ports_.size(); ++p) {
    if ((actions_.paused(PortId{p}) & bit_of(tc)) != 0) continue;
    if (params_.open_below > 0_B && actions_.queued(PortId{p}, tc) > params_.open_below) continue;
    Port& escape = ports_[p];
    std::size_t left = escape.flows.all().size();
    while (escape.pool.size() > 0) {
      const SwitchFlow* flow = escape.flows.next_from(ingress, left, now);
      if (flow == nullptr) break;
      const std::uint32_t number = take_token(PortId{p}, {*flow, tc, 1, 0, now});
      send_token(ingress, *flow, tc, 1, number);
    }
  }
}

// The number that the token carries, if it is to come back unused: whose place it took, and which token of
// that port it is.
std::uint32_t EscapeMechanism::take_token(PortId port_id, const EscapeIssued::Token& token) {
  Port& port = at(port_id);
  const bool set = port.pool.next_reclaim().is_never();
  port.pool.take(token.sent);
  if (set) actions_.set_timer(port_id);
  return params_.return_tokens ? (port_id.value + 1u) << 16 | port.issued.add(token) : 0;
}

void EscapeMechanism::send_token(PortId ingress, const SwitchFlow& flow, Tc tc, std::uint16_t hops,
                                 std::uint32_t number) {
  PacketRef token = actions_.make_packet();
  put_control(*token, EscapeToken{.tc = tc,
                                  .hops = hops,
                                  .source = flow.source,
                                  .destination = flow.destination,
                                  .dest = flow.dest,
                                  .ipv6 = flow.ipv6,
                                  .number = number});
  ++actions_.counters(ingress).escape_tokens_sent;
  actions_.send_control(ingress, std::move(token));
}

// --- event e2, lines 15 to 28: a token from the switch behind this egress port

void EscapeMechanism::receive_token(PortId egress, const Packet& packet, Time now) {
  Port& port = at(egress);
  const EscapeToken token =
      control_of<EscapeToken>(packet);  // a host's is not believed: nothing is blocked there
  if (token.mark != EscapeTokenMark::kAsks) return receive_returned(egress, token, now);
  const std::uint64_t key = SwitchFlow{token.source, token.destination, token.dest, PortId{0}}.key();
  if (!between_switches(egress) || !serves(token.tc) || token.hops >= kMostEscapeHops)
    return refuse_token(egress, token, EscapeTokenMark::kNothingWaits);
  if (port.pool.size() == 0) return refuse_token(egress, token, EscapeTokenMark::kNoPlace);
  if (auto frame = actions_.extract(egress, token.tc, key, now))
    return let_escape(egress, std::move(*frame), static_cast<std::uint8_t>(token.hops), false);
  const SwitchFlow* flow = port.flows.find(key);
  if (flow == nullptr || !takes_tokens(flow->in) || !actions_.asks(flow->in, token.tc))
    return refuse_token(egress, token, EscapeTokenMark::kNothingWaits);
  const SwitchFlow next = *flow;
  const auto hops = static_cast<std::uint16_t>(token.hops + 1);
  const std::uint32_t number = take_token(egress, {next, token.tc, hops, token.number, now});
  send_token(next.in, next, token.tc, hops, number);
}

// Without a reserved place the frame keeps its own in the ingress accounting until it has left.
void EscapeMechanism::let_escape(PortId egress, QueuedFrame frame, std::uint8_t hops, bool reserved) {
  const Bytes charged = reserved ? 0_B : frame.packet->frame();
  frame.packet->kind = PacketKind::kEscaping;
  frame.packet->roce.shim_hops = hops;
  frame.packet->frame_length += kEscapeShimBytes;
  ++actions_.counters(egress).escaped_frames;
  queue_frame(egress, {std::move(frame.packet), frame.in, frame.share, charged, reserved});
}

// EscapeFix::kOrder. Earlier frames of the flow wait here, on their way when the token passed: the first of
// them and the newcomer change places, in the queues and in the buffer. So in each port the dedicated queue
// has the flow's earlier frames and the own queue its later ones, and order holds.
void EscapeMechanism::exchange(PortId in, PortId out, QueuedFrame older, PacketRef packet, Time now) {
  const Tc tc = packet->tc;
  const PortId older_in = older.in;
  const Bytes freed = older.packet->frame();
  const std::uint32_t share = std::exchange(older.share, kNoShare);
  const std::uint8_t hops = packet->roce.shim_hops;
  end_escape(*packet);
  actions_.store_reserved(in, out, std::move(packet), now);
  let_escape(out, std::move(older), hops, true);
  actions_.give_back(older_in, tc, freed, share, now);
  actions_.check_xoff(in, tc, now);
}

void EscapeMechanism::queue_frame(PortId egress, Frame frame) {
  at(egress).reserved += frame.reserved;
  at(egress).queue.push_back(std::move(frame));
  ++held_frames_;
  actions_.send_ahead(egress);
}

// An escaping frame from the switch upstream: into the dedicated queue, whose place its token has reserved.
void EscapeMechanism::receive_frame(PortId in, std::span<const PortId> outs, PacketRef packet, Time now) {
  actions_.count_received(in, *packet);
  if (!between_switches(in))  // only switches let frames escape
    return actions_.drop(in, in, *packet, SwitchDropReason::kForged, now);
  if (outs.empty() || !serves(packet->tc) || packet->roce.shim_hops == 0)
    return actions_.drop(in, in, *packet, SwitchDropReason::kNoRoute, now);
  if (at(outs[0]).reserved == params_.tokens)
    return actions_.drop(outs[0], in, *packet, SwitchDropReason::kEscapeQueue, now);
  if (params_.return_tokens) at(outs[0]).flows.served(flow_of(*packet, in).key());
  actions_.trace({.time = now,
                  .kind = TraceKind::kDeliver,
                  .mark = static_cast<std::uint8_t>(packet->ecn),
                  .port = in.value,
                  .flow = packet->flow,
                  .bytes = packet->frame_length,
                  .psn = packet->roce.psn.value(),
                  .peer = outs[0].value});
  if (params_.has(EscapeFix::kOrder)) {
    if (auto older = actions_.extract(outs[0], packet->tc, flow_of(*packet, in).key(), now))
      return exchange(in, outs[0], std::move(*older), std::move(packet), now);
  }
  queue_frame(outs[0], {std::move(packet), in, kNoShare, 0_B, true});
}

// --- event e3, lines 29 to 32

PacketRef EscapeMechanism::poll_ahead(PortId egress, Time now) {
  Port& escape = at(egress);
  if (escape.queue.empty()) return {};
  Frame frame = escape.queue.take_front();
  --held_frames_;
  Packet& packet = *frame.packet;
  escape.reserved -= frame.reserved;
  if (frame.reserved || !params_.has(EscapeFix::kPool)) {
    escape.pool.give();
    --packet.roce.shim_hops;
  }
  if (packet.roce.shim_hops == 0 || !between_switches(egress)) end_escape(packet);
  if (frame.charged > 0_B) actions_.give_back(frame.in, packet.tc, frame.charged, frame.share, now);
  return std::move(frame.packet);
}

}  // namespace rocelab
