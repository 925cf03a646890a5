#include "irn_provider/transport/queue_pair.h"

#include <algorithm>
#include <bit>

#include "irn_provider/transport/gbn_responder.h"
#include "irn_provider/transport/irn_responder.h"
#include "irn_provider/transport/receive_wqe.h"
#include "irn_provider/transport/uc_responder.h"
#include "irn_provider/transport/ud_responder.h"

namespace rocelab {
namespace {

// IBTA Vol 1, figure 125; transitions by software. Any state may go to RESET or ERR.
bool is_transition(QpState from, QpState to) {
  using enum QpState;
  if (to == kReset || to == kErr) return true;
  switch (from) {
    case kReset:
      return to == kInit;
    case kInit:
      return to == kInit || to == kRtr;
    case kRtr:
      return to == kRts;
    case kRts:
      return to == kRts || to == kSqd;
    case kSqd:
      return to == kSqd || to == kRts;
    case kSqe:
      return to == kRts;  // UC, UD
    default:
      return false;  // ERR is left through RESET
  }
}

std::unique_ptr<Responder> make_responder(QpContext& qp, ReceiveQueue& receive_queue) {
  if (qp.init.type == QpType::kUc) return std::make_unique<UcResponder>(qp, receive_queue);
  if (qp.init.type == QpType::kUd) return std::make_unique<UdResponder>(qp, receive_queue);
  if (qp.irn()) return std::make_unique<IrnResponder>(qp, receive_queue);
  return std::make_unique<GbnResponder>(qp, receive_queue);
}

}  // namespace

QueuePair::QueuePair(NicServices& services, Qpn qpn, const QpInit& init, CompletionQueue* send,
                     CompletionQueue* recv, SharedReceiveQueue* srq)
    : context_(services, qpn, init, send, recv),
      receive_queue_(init.pd, init.caps.max_recv_wr, srq),
      requester_(context_),
      responder_(make_responder(context_, receive_queue_)) {
  const CcConfig& cc = services.config.cc;
  holds_back_ = (cc.chosen() && context_.controlled()) || services.config.irn.retransmit_fetch != Duration{};
  if (cc.needs().cnps && context_.controlled()) notification_point_.emplace(cc.cnp_interval());
}

// --- states

bool QueuePair::attributes_are_valid(const QpAttr& attr) const {
  const std::uint32_t mtu = attr.path_mtu;
  return mtu >= 256 && mtu <= context_.nic.config.active_mtu && std::has_single_bit(mtu) &&
         attr.retry_cnt <= 7 && attr.rnr_retry <= 7 && attr.timeout <= 31 && attr.min_rnr_timer <= 31;
}

bool QueuePair::modify(const QpAttr& attr, Time now) {
  const QpState from = context_.attr.state, to = attr.state;
  if (!is_transition(from, to)) return false;
  if (to == QpState::kErr) return enter_error(now), true;
  if (to == QpState::kReset) return enter_reset(now), true;
  if (!attributes_are_valid(attr)) return false;
  const bool path_changes = attr.path != context_.attr.path;
  context_.attr = attr;
  enter(to);
  if (from == QpState::kInit && to == QpState::kRtr) {
    if (attr.plain_roce) choose_mode(TransportMode::kRoce);
    context_.connect(now);
    responder_->start(now);
  } else if (path_changes) {
    context_.path_changed(now);
  }
  if (from >= QpState::kRtr) responder_->refresh();
  if ((from == QpState::kRtr || from == QpState::kSqe) && to == QpState::kRts) requester_.start(now);
  requester_.refresh(now);
  note_state_change(from, attr);
  settle(now);
  return true;
}

// Which packets it takes from here on.
void QueuePair::enter(QpState state) {
  using enum QpState;
  const auto bit = [](Role role) { return 1u << static_cast<unsigned>(role); };
  context_.attr.state = state;
  accepted_ = 0;
  if (state != kRtr && state != kRts && state != kSqd && state != kSqe) return;
  accepted_ = bit(Role::kReadAck) | bit(Role::kNotification);
  if (receives()) accepted_ |= bit(Role::kRequest);
  if (sends() && (state == kRts || state == kSqd)) accepted_ |= bit(Role::kResponse);
}

// IBTA 11.6.3: communication is established by a packet that comes in RTR, of connected types; a drained send
// queue is told of when the move to SQD asked for it.
void QueuePair::note_state_change(QpState from, const QpAttr& attr) {
  if (attr.state == from) return;
  comm_est_due_ = attr.state == QpState::kRtr && context_.init.type != QpType::kUd && receives();
  awaits_drained_ = attr.state == QpState::kSqd && attr.notify_drained;
}

void QueuePair::settle_changes(Time now) {
  const QpContext::Failure failure = context_.take_failure();
  if (failure == QpContext::Failure::kQp) enter_error(now);
  if (failure == QpContext::Failure::kSend) enter_send_error(now);
  if (awaits_drained_ && !requester_.draining()) [[unlikely]]
    awaits_drained_ = false, raise(AsyncEvent::Kind::kSqDrained);
}

// IBTA 10.3.1: all work is flushed; of an SRQ only what the QP has dequeued, and the program is told when
// that was the last (11.6.3.1).
void QueuePair::enter_error(Time now) {
  keep_psns();
  const bool entered = context_.attr.state != QpState::kErr;
  enter(QpState::kErr);
  comm_est_due_ = awaits_drained_ = false;
  requester_.flush(now);
  responder_->flush(now);
  flush_receive_queue(now);
  context_.take_failure();  // of CQEs that found their CQ overrun
  const bool fatal = context_.take_completion_lost();
  if (!entered) return;
  if (fatal) raise(AsyncEvent::Kind::kQpFatal);
  if (context_.init.srq.value != 0) raise(AsyncEvent::Kind::kQpLastWqe);
}

// IBTA 10.3.1: the receive queue goes on; what is posted for sending is flushed until the QP is back in RTS,
// where it goes on with the next PSN.
void QueuePair::enter_send_error(Time now) {
  keep_psns();
  enter(QpState::kSqe);
  awaits_drained_ = false;
  requester_.flush(now);
}

// Before work ends, and with it what knows them.
void QueuePair::keep_psns() {
  const QpProgress at = progress();
  context_.attr.sq_psn = at.sq_psn, context_.attr.rq_psn = at.rq_psn;
}

QpProgress QueuePair::progress() const {
  const QpAttr& attr = context_.attr;
  const bool receiving = attr.state >= QpState::kRtr && attr.state <= QpState::kSqe;
  const std::optional<UnwrappedPsn> next = requester_.next_psn();
  const std::optional<UnwrappedPsn> expected = receiving ? responder_->expected_psn() : std::nullopt;
  return {attr.state == QpState::kSqd && requester_.draining(), next ? wrap(*next).value() : attr.sq_psn,
          expected ? wrap(*expected).value() : attr.rq_psn};
}

// The two ends of a connection may have agreed on another mode than the NIC's. Nothing has been sent or
// taken.
void QueuePair::choose_mode(TransportMode mode) {
  const TransportClass before = context_.transport();
  context_.use_transport_of(mode);
  if (context_.transport() != before) responder_ = make_responder(context_, receive_queue_);
}

// What the QP has left in its CQs goes, too, as the common adapters' libraries have it: a program that
// connects it again sees what is new only.
void QueuePair::enter_reset(Time now) {
  const bool other_mode = context_.attr.plain_roce;
  context_.attr = QpAttr{};
  enter(QpState::kReset);
  comm_est_due_ = awaits_drained_ = false;
  requester_.reset();
  responder_->start(now);  // what is still owed to the peer is forgotten, too
  if (notification_point_) notification_point_.emplace(context_.nic.config.cc.cnp_interval());
  if (other_mode) choose_mode(context_.nic.config.mode);
  receive_queue_.reset();
  context_.take_failure();
  if (context_.init.type == QpType::kXrcTgt) return;  // its SRQs' CQEs are whose the SRQs are
  if (context_.send_cq != nullptr) context_.send_cq->forget(context_.qpn);
  if (context_.recv_cq != nullptr) context_.recv_cq->forget(context_.qpn);
}

void QueuePair::flush_receive_queue(Time now) {
  Cqe cqe;
  cqe.status = WcStatus::kWrFlushErr;
  cqe.opcode = WcOpcode::kRecv;
  while (!receive_queue_.empty()) complete_receive(context_, receive_queue_, cqe, now);
}

// --- work

PostResult QueuePair::post_send(const SendWqe& wqe, Time now) {
  if (context_.attr.state < QpState::kRts || !sends()) return PostResult::kBadState;
  const PostResult result = requester_.post(wqe, now);
  settle(now);
  return result;
}

PostResult QueuePair::check_sends(std::span<const SendWqe> wqes) const {
  if (context_.attr.state < QpState::kRts || !sends()) return PostResult::kBadState;
  return requester_.check(wqes);
}

PostResult QueuePair::post_recv(const RecvWqe& wqe, Time now) {
  const bool own_queue = context_.init.srq.value == 0 && receives() && sends();  // not an XRC target's
  if (context_.attr.state == QpState::kReset || !own_queue) return PostResult::kBadState;
  if (wqe.num_sge > std::min<std::uint32_t>(context_.init.caps.max_recv_sge, kMaxSge))
    return PostResult::kBadSge;
  if (receive_queue_.full()) return PostResult::kQueueFull;
  receive_queue_.post(wqe);
  if (context_.attr.state == QpState::kErr) flush_receive_queue(now);
  return PostResult::kOk;
}

// --- packets and timers

// As Linux rxe (check_addr in rxe_recv.c): both addresses are those of the QP's path, and so of the GID that
// it was given, if a host has several. Virtual time delivers nothing to any node but Packet::dst.
bool QueuePair::may_be_from_peer(const Packet& packet) const {
  if (context_.init.type == QpType::kUd) return true;
  const FrameGids* gids = PacketPool::gids_of(packet);
  const PathAddress& path = context_.attr.path;
  return gids != nullptr && gids->src == path.dst_gid && gids->dst == path.src_gid;
}

void QueuePair::on_packet(const Packet& packet, const OpcodeInfo& info, Time now) {
  if (packet.ecn == Ecn::kCe && notification_point_) notification_point_->on_marked(now);
  switch (info.role) {
    case Role::kRequest:
      if (comm_est_due_) [[unlikely]]
        comm_est_due_ = false, raise(AsyncEvent::Kind::kCommEstablished);
      serves_reads_ = serves_reads_ || !info.has_payload;
      responder_->on_request(packet, info, now);
      break;
    case Role::kReadAck:
      responder_->on_read_ack(packet, info, now);
      break;
    case Role::kResponse:
      requester_.on_response(packet, info, now);
      break;
    case Role::kNotification:
      if (context_.cc) {
        context_.cc->on_cnp(now);
        ++context_.counters().rp_cnp_handled;
      }
      break;
  }
  settle(now);
}

void QueuePair::on_timeout(Time now) {
  requester_.on_timeout(now);
  responder_->on_timeout(now);
  if (notification_point_) notification_point_->on_timeout(now);
  settle(now);
}

// What congestion control paces and what is still being fetched for a resend leaves later; nothing else does.
Time QueuePair::requester_not_before(Time now) const {
  const Time paced = context_.cc ? context_.cc->not_before(now) : Time::zero();
  return std::max(paced, requester_.not_before());
}

Time QueuePair::responder_not_before(Time now) const {
  const bool governed = context_.cc && context_.cc->governs(CcStream::kResponses);
  return std::max(governed ? context_.cc->not_before(now) : Time::zero(), responder_->not_before());
}

Time QueuePair::next_of_all(Time now) const {
  Time next = requester_.next_timeout();
  if (serves_reads_) next = std::min(next, responder_->next_timeout());
  if (notification_point_) next = std::min(next, notification_point_->next_timeout());
  if (!holds_back_ || !transmits()) return next;
  // Of either side that waits; one that may leave at once needs no waking.
  for (const Time held : {requester_.has_data() ? requester_not_before(now) : now,
                          serves_reads_ && responder_->has_data() ? responder_not_before(now) : now})
    if (held > now) next = std::min(next, context_.cc ? context_.cc->wake_at(held) : held);
  return next;
}

void QueuePair::pull_cnp(Packet& packet, Time now) {
  context_.begin_cnp(packet);
  notification_point_->on_cnp_sent(now);
  ++context_.counters().np_cnp_sent;
}

void QueuePair::pull_ack(Packet& packet, Time now) {
  if (responder_acks())
    responder_->pull_ack(packet, now);
  else
    requester_.pull_ack(packet, now);
}

PayloadSource QueuePair::pull_data(Packet& packet, Time now) {
  const bool responder = responder_is_next(now);
  responder_turn_ = !responder;
  const PayloadSource source =
      responder ? responder_->pull_data(packet, now) : requester_.pull_data(packet, now);
  settle(now);
  return source;
}

bool QueuePair::gather(const PayloadSource& source, std::span<std::byte> out) const {
  if (source.sge != nullptr || out.empty()) return rocelab::gather(context_.view(), source, out);
  const auto addr = context_.find_remote(source.rkey, source.pd, source.va, out.size(), kAccessRemoteRead);
  if (addr) context_.nic.memory.read(*addr, out.data(), static_cast<std::uint32_t>(out.size()));
  return addr.has_value();
}

}  // namespace rocelab
