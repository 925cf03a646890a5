// ConnectionManager: datagrams that arrive, of connections.
#include <algorithm>

#include "irn_provider/cm/connection_manager.h"
#include "irn_provider/cm/message_fields.h"

namespace rocelab::cm {
namespace {

constexpr std::uint32_t kPsnMask = 0xffffff;

Message mra_of(const Endpoint& e, Answered message, std::uint8_t service_timeout) {
  return Mra{e.local_id, e.remote_id, message, service_timeout, {}};
}

}  // namespace

void ConnectionManager::on_mad(std::span<const std::byte> mad, const Gid& from, const Gid& to, Time now) {
  ++counters_.rx_mads;
  const auto parsed = CmMad::parse(mad);
  if (!parsed) {
    ++counters_.rx_malformed;
    return;
  }
  const Arrival arrival{from, to, parsed->transaction, parsed->modifier, now};
  std::visit([&](const auto& message) { on(message, arrival); }, parsed->message);
}

// --- requests

// IBTA 12.9.8.3: a REQ that is here already, or whose QP is still that of another connection.
bool ConnectionManager::known_request(const Req& m, const Arrival& a) {
  const auto stale = [&] {
    ++counters_.rx_stale;
    answer(a.from, a.to, a.transaction,
           Rej{0, m.local_id, Answered::kReq, 0, RejReason::kStaleConnection, {}, {}});
  };
  if (const auto same = by_peer_id_.find({m.ca_guid, m.local_id}); same != by_peer_id_.end()) {
    Endpoint& e = *by_id(same->second);
    ++counters_.rx_duplicates;
    if (e.state == State::kReqReceived)
      send_again(e, {e.transaction, 0, mra_of(e, Answered::kReq, config_.service_timeout)});
    if (e.state == State::kRepSent) send_again(e, e.last);
    const bool was_rejected = e.state == State::kTimewait && std::holds_alternative<Rej>(e.last.message);
    if (was_rejected) send_again(e, e.last);
    if (e.state == State::kTimewait && !was_rejected) stale();
    return true;
  }
  const auto other = by_peer_qpn_.find({m.ca_guid, m.qpn.value});
  if (other == by_peer_qpn_.end()) return false;
  Endpoint& old = *by_id(other->second);
  stale();
  if (old.state == State::kEstablished) send_dreq(old, a.now);  // Linux, too, tells of its end when answered
  return true;
}

// Where listeners are, but for other addresses, Linux's rdma_cm refuses in the consumer's place.
std::optional<RejReason> ConnectionManager::refusal(const Req& m, const Found& found) const {
  if (found.listener == nullptr && !found.elsewhere) return RejReason::kInvalidServiceId;
  if (m.service != Service::kRc && m.service != Service::kUc) return RejReason::kInvalidTransport;
  if (m.mtu < 1 || m.mtu > config_.max_mtu) return RejReason::kInvalidMtu;
  if (found.elsewhere || (is_ip_service(m.service_id) && !IpHeader::parse(m.private_data)))
    return RejReason::kConsumer;
  return std::nullopt;
}

void ConnectionManager::on(const Req& m, const Arrival& a) {
  if (known_request(m, a)) return;
  const Found found = listener_of(m.service_id, m.private_data);
  Endpoint* listener = found.listener;
  if (const auto refused = refusal(m, found)) {
    ++(listener == nullptr ? counters_.rx_no_listener : counters_.rx_refused);
    return answer(a.from, a.to, a.transaction, Rej{0, m.local_id, Answered::kReq, 0, *refused, {}, {}});
  }
  if (listener->backlog == 0) {  // dropped as Linux drops it: the peer tries again
    ++counters_.rx_backlog_full;
    return;
  }
  take_request(m, a, *listener);
}

void ConnectionManager::take_request(const Req& m, const Arrival& a, Endpoint& listener) {
  --listener.backlog;
  Endpoint& e = add(State::kReqReceived);
  e.listener = listener.handle;
  e.service_id = m.service_id;
  e.remote_id = m.local_id;
  e.transaction = a.transaction;
  e.local_gid = a.to;
  e.remote_gid = a.from;
  e.remote_ca_guid = m.ca_guid;
  e.max_retries = m.max_cm_retries;
  if (const auto ip = IpHeader::parse(m.private_data)) {
    e.remote = {ip->ip_version, ip->source, ip->source_port};
    e.local = {ip->ip_version, ip->destination, port_of(m.service_id)};
  }
  e.qp = {.local_gid = a.to,
          .remote_gid = a.from,
          .flow_label = m.primary.flow_label,
          .traffic_class = m.primary.traffic_class,
          .hop_limit = m.primary.hop_limit,
          .mtu = m.mtu,
          .ack_timeout = m.primary.ack_timeout,
          .remote_qpn = m.qpn,
          .send_psn = m.starting_psn,
          .receive_psn = static_cast<std::uint32_t>(rng_.below(kPsnMask + 1)),
          .responder_resources = m.initiator_depth,  // what one may ask for, the other must serve
          .initiator_depth = m.responder_resources,
          .retry_count = m.retry_count,
          .rnr_retry_count = m.rnr_retry_count};
  by_peer_id_[{m.ca_guid, m.local_id}] = e.local_id;
  by_peer_qpn_[{m.ca_guid, m.qpn.value}] = e.local_id;
  Event& event = raise(e, EventKind::kRequest);
  event.listener = listener.handle;
  event.qpn = m.qpn;
  event.responder_resources = e.qp.responder_resources;
  event.initiator_depth = e.qp.initiator_depth;
  event.retry_count = m.retry_count;
  event.rnr_retry_count = m.rnr_retry_count;
  event.flow_control = m.flow_control;
  event.srq = m.srq;
  event.ece = {m.vendor_id, a.modifier};
  event.private_data =
      is_ip_service(m.service_id) ? behind_ip_header(m.private_data) : all_of(m.private_data);
}

// --- answers

Endpoint* ConnectionManager::partner(CommId local, const Arrival& a) {
  Endpoint* e = by_id(local);
  if (e == nullptr || e->state == State::kListen || e->state == State::kIdle) {
    ++counters_.rx_unknown_id;
    return nullptr;
  }
  if (e->remote_gid == a.from) return e;
  ++counters_.rx_wrong_peer;
  return nullptr;
}

void ConnectionManager::on(const Mra& m, const Arrival& a) {
  Endpoint* e = partner(m.remote_id, a);
  if (e == nullptr) return;
  const bool req = e->state == State::kReqSent && m.message == Answered::kReq;
  const bool rep = e->state == State::kRepSent && m.message == Answered::kRep && m.local_id == e->remote_id;
  if (!req && !rep) return wrong_state();
  arm(*e, a.now + time_of(m.service_timeout) + time_of(config_.packet_lifetime));
}

void ConnectionManager::on(const Rep& m, const Arrival& a) {
  Endpoint* e = partner(m.remote_id, a);
  if (e == nullptr) return;
  if (e->state != State::kReqSent) {
    if (!e->active || m.local_id != e->remote_id) return wrong_state();
    ++counters_.rx_duplicates;
    if (e->state == State::kRepReceived)
      send_again(*e, {e->transaction, 0, mra_of(*e, Answered::kRep, config_.service_timeout)});
    if (e->state == State::kEstablished) send_again(*e, e->last);  // the RTU was lost
    return;
  }
  arm(*e, Time::never());
  e->remote_id = m.local_id;
  e->remote_ca_guid = m.ca_guid;
  e->qp.remote_qpn = m.qpn;
  e->qp.send_psn = m.starting_psn;
  e->qp.responder_resources = m.initiator_depth;
  e->qp.initiator_depth = m.responder_resources;
  e->qp.rnr_retry_count = m.rnr_retry_count;
  e->state = State::kRepReceived;
  if (by_peer_qpn_.contains({m.ca_guid, m.qpn.value})) {  // 12.9.8.3: of a connection that we still have
    ++counters_.rx_stale;
    send_rej(*e, RejReason::kStaleConnection, {});
    raise(*e, EventKind::kRejected).reason = static_cast<std::uint16_t>(RejReason::kStaleConnection);
    return end(*e);
  }
  by_peer_id_[{m.ca_guid, m.local_id}] = e->local_id;
  by_peer_qpn_[{m.ca_guid, m.qpn.value}] = e->local_id;
  Event& event = raise(*e, EventKind::kReply);
  event.qpn = m.qpn;
  event.responder_resources = e->qp.responder_resources;
  event.initiator_depth = e->qp.initiator_depth;
  event.rnr_retry_count = m.rnr_retry_count;
  event.flow_control = m.flow_control;
  event.srq = m.srq;
  event.ece = {m.vendor_id, a.modifier};
  event.private_data = all_of(m.private_data);
}

void ConnectionManager::on(const Rtu& m, const Arrival& a) {
  Endpoint* e = partner(m.remote_id, a);
  if (e == nullptr) return;
  if (m.local_id != e->remote_id) {
    ++counters_.rx_wrong_peer;
  } else if (e->state == State::kEstablished) {
    ++counters_.rx_duplicates;
  } else if (e->state != State::kRepSent) {
    wrong_state();
  } else {
    arm(*e, Time::never());
    e->state = State::kEstablished;
    e->was_connected = true;
    raise(*e, EventKind::kEstablished);
  }
}

// 12.6.7.2: after a timeout a peer that never learned our ID gives its CA GUID and its own ID.
Endpoint* ConnectionManager::rejected(const Rej& m, const Arrival& a) {
  if (m.reason != RejReason::kTimeout || m.remote_id != 0) return partner(m.remote_id, a);
  const std::uint64_t guid = wire::load64(std::as_bytes(std::span(m.ari)), 0);
  const auto found = by_peer_id_.find({guid, m.local_id});
  return partner(found != by_peer_id_.end() ? found->second : 0, a);
}

void ConnectionManager::on(const Rej& m, const Arrival& a) {
  Endpoint* e = rejected(m, a);
  if (e == nullptr) return;
  const auto tell = [&](EventKind kind) {
    Event& event = raise(*e, kind);
    event.reason = static_cast<std::uint16_t>(m.reason);
    event.private_data = all_of(m.private_data);
  };
  if (e->state == State::kReqSent) {
    tell(EventKind::kRejected);
    return end(*e);
  }
  // From here on the peer knows our ID and we know its own.
  if (m.local_id != e->remote_id) {
    ++counters_.rx_wrong_peer;
    return;
  }
  switch (e->state) {
    case State::kReqReceived:
    case State::kRepReceived:
    case State::kRepSent:
      tell(EventKind::kRejected);
      give_back_backlog(*e);
      return enter_timewait(*e, a.now);
    case State::kEstablished:
    case State::kDreqSent:
      tell(EventKind::kDisconnected);
      return enter_timewait(*e, a.now);
    default:
      wrong_state();
  }
}

// --- disconnection

void ConnectionManager::on(const Dreq& m, const Arrival& a) {
  const Endpoint* known = by_id(m.remote_id);
  if (known == nullptr || known->state == State::kIdle) {  // 12.9.8.5: it has ended here
    ++counters_.rx_unknown_id;
    return answer(a.from, a.to, a.transaction, Drep{m.remote_id, m.local_id, {}});
  }
  Endpoint* e = partner(m.remote_id, a);
  if (e == nullptr) return;
  if (m.local_id != e->remote_id || m.remote_qpn != e->local_qpn) {
    ++counters_.rx_wrong_peer;
    return;
  }
  switch (e->state) {
    case State::kRepSent:  // the RTU was lost
    case State::kEstablished:
      arm(*e, Time::never());
      e->state = State::kDreqReceived;
      e->transaction = a.transaction;
      raise(*e, EventKind::kDisconnected);
      return;
    case State::kDreqSent:  // both at once
      say(*e, Drep{e->local_id, e->remote_id, {}});
      raise(*e, EventKind::kDisconnected);
      return enter_timewait(*e, a.now);
    case State::kDreqReceived:
      ++counters_.rx_duplicates;
      return;
    case State::kTimewait:
      ++counters_.rx_duplicates;
      return answer(a.from, a.to, a.transaction, Drep{e->local_id, e->remote_id, {}});
    default:
      wrong_state();
  }
}

void ConnectionManager::on(const Drep& m, const Arrival& a) {
  Endpoint* e = partner(m.remote_id, a);
  if (e == nullptr) return;
  if (e->state != State::kDreqSent || m.local_id != e->remote_id) return wrong_state();
  raise(*e, EventKind::kDisconnected);
  enter_timewait(*e, a.now);
}

}  // namespace rocelab::cm
