// QueuePair: one queue pair: its states (IBTA Vol 1, 10.3.1), and the requester and responder behind them.
// It hands packets to the side they concern, offers what either wants to send (answers ahead of data, the two
// sides' data by turns), and turns a fatal error of either into ERR and flushes. No I/O, no clock: `now`
// comes in, packets are pulled. The NIC owns it and asks offers() and next_timeout() after each call.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "irn_provider/cc/dcqcn_np.h"
#include "irn_provider/transport/qp_context.h"
#include "irn_provider/transport/receive_queue.h"
#include "irn_provider/transport/requester.h"
#include "irn_provider/transport/responder.h"

namespace rocelab {

class QueuePair {
 public:
  // `srq`: null, or where its receive WQEs come from.
  // `send`, `recv`: null where the QP's type has none.
  QueuePair(NicServices& services, Qpn qpn, const QpInit& init, CompletionQueue* send, CompletionQueue* recv,
            SharedReceiveQueue* srq);

  const QpContext& context() const { return context_; }
  const QpAttr& attr() const { return context_.attr; }
  const QpInit& init() const { return context_.init; }
  Tc tc() const { return context_.tc(); }
  // Of the packet that pull_ack() would give.
  Tc ack_tc() const {
    return ack_class_varies() ? context_.tc_of_ack_level(next_ack_level()) : context_.ack_tc();
  }
  bool ack_class_varies() const { return context_.rc3(); }
  bool is_datagram() const { return context_.init.type == QpType::kUd; }
  bool data_class_varies() const { return context_.data_class_varies(); }
  // Of the packet that pull_data(now) would give. Precondition: has_data(now).
  Tc next_class(Time now) {
    if (!responder_is_next(now)) return requester_.next_class();
    const unsigned level = responder_->next_data_level();
    return level > 0 ? context_.tc_of_level(level) : context_.read_tc();
  }
  QpProgress progress() const;

  bool modify(const QpAttr& attr, Time now);  // false: no such transition, or an attribute that cannot be
  PostResult post_send(const SendWqe& wqe, Time now);
  PostResult check_sends(
      std::span<const SendWqe> wqes) const;  // what posting them one by one would meet first
  PostResult post_recv(const RecvWqe& wqe, Time now);

  // True if a packet of this role is accepted in the current state.
  bool accepts(Role role) const { return (accepted_ >> static_cast<unsigned>(role) & 1) != 0; }
  // A connected QP hears its peer only: what comes from the address that it sends to, to the one that it
  // sends from. Of UD anybody is one. Precondition: accepts() something, so that the path is known.
  bool is_from_peer(const Packet& packet) const {
    const bool same_node = packet.src == context_.attr.path.dst_node;
    return (same_node && !packet.roce.has_gids) || may_be_from_peer(packet);
  }
  void on_packet(const Packet& packet, const OpcodeInfo& info, Time now);  // precondition: accepts(info.role)
  // Feedback from a switch for what this QP sends.
  FeedbackResult on_feedback(const Packet& feedback, Time now) {
    return context_.cc ? context_.cc->on_feedback(feedback, now) : FeedbackResult{};
  }
  // The queue that its data name is paused, or no longer (BFC).
  void hold(bool on, Time now) {
    if (context_.cc) context_.cc->hold(on, now);
  }
  bool sends_by(Ahn ah) const { return is_datagram() && requester_.sends_by(ah); }
  void on_srq_destroyed(const SharedReceiveQueue& srq) { receive_queue_.forget(srq); }  // an XRC SRQ
  void on_timeout(Time now);
  // Timers, and when data that congestion control holds back may leave.
  Time next_timeout(Time now) const {
    return serves_reads_ || holds_back_ ? next_of_all(now) : requester_.next_timeout();
  }

  // What could leave now.
  struct Offers {
    bool cnp = false, ack = false, data = false;
  };
  Offers offers(Time now) const {
    if (!transmits()) return {};
    return {notification_point_ && notification_point_->cnp_due(),
            responder_->has_ack() || requester_.has_ack(), responder_ready(now) || requester_ready(now)};
  }
  bool has_data(Time now) const { return transmits() && (responder_ready(now) || requester_ready(now)); }
  void pull_cnp(Packet& packet, Time now);            // precondition: offers().cnp
  void pull_ack(Packet& packet, Time now);            // precondition: offers().ack
  PayloadSource pull_data(Packet& packet, Time now);  // precondition: has_data(now)
  bool gather(const PayloadSource& source, std::span<std::byte> out) const;

 private:
  // Of XRC each end does one of both.
  bool sends() const { return context_.init.type != QpType::kXrcTgt; }
  bool receives() const { return context_.init.type != QpType::kXrcIni; }
  bool transmits() const { return context_.attr.state >= QpState::kRtr; }  // in ERR only answers are left
  // Of the two sides' answers, and of their data, the one of the higher level leaves first.
  bool responder_acks() const {
    return responder_->has_ack() && (!ack_class_varies() || !requester_.has_ack() ||
                                     responder_->next_ack_level() <= requester_.next_ack_level());
  }
  unsigned next_ack_level() const {
    return responder_acks()       ? responder_->next_ack_level()
           : requester_.has_ack() ? requester_.next_ack_level()
                                  : 0;
  }
  bool may_be_from_peer(const Packet& packet) const;  // where its node does not say it all
  // Whether a side has data that may leave now, and when data that it has may leave: at or before now, at
  // once.
  bool requester_ready(Time now) const {
    return requester_.has_data() && (!holds_back_ || requester_not_before(now) <= now);
  }
  bool responder_ready(Time now) const {
    return serves_reads_ && responder_->has_data() && (!holds_back_ || responder_not_before(now) <= now);
  }
  bool responder_is_next(Time now) const {
    if (!responder_ready(now) || !requester_ready(now)) return responder_ready(now);
    if (context_.rc3()) [[unlikely]] {
      const unsigned theirs = responder_->next_data_level(), ours = requester_.next_level();
      if (theirs != ours) return theirs < ours;
    }
    return responder_turn_;
  }
  Time next_of_all(Time now) const;
  Time requester_not_before(Time now) const;
  Time responder_not_before(Time now) const;
  bool attributes_are_valid(const QpAttr& attr) const;
  void enter(QpState state);
  void settle(Time now) {  // after each call that may have failed, or completed something
    if (context_.failed() || awaits_drained_) [[unlikely]]
      settle_changes(now);
  }
  void settle_changes(Time now);
  void note_state_change(QpState from, const QpAttr& attr);
  void raise(AsyncEvent::Kind kind) { context_.nic.events.raise({kind, context_.qpn.value}); }
  void enter_error(Time now);
  void enter_send_error(Time now);
  void keep_psns();
  void choose_mode(TransportMode mode);
  void enter_reset(Time now);
  void flush_receive_queue(Time now);

  QpContext context_;
  unsigned accepted_ = 0;  // in its state: a bit for each Role
  ReceiveQueue receive_queue_;
  Requester requester_;
  std::unique_ptr<Responder> responder_;
  std::optional<DcqcnNp> notification_point_;
  bool serves_reads_ = false;  // the peer has asked for data: until then the responder only acknowledges
  bool responder_turn_ = false;
  bool comm_est_due_ = false;    // in RTR, and nothing has come
  bool awaits_drained_ = false;  // an event is owed when the send queue is drained
  bool holds_back_ = false;  // data may have to wait for a time: congestion control, or fetches for resends
};

}  // namespace rocelab
