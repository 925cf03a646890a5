// ConnectionManager: endpoints, what is sent, timers. What the consumer asks for: cm_calls.cc; datagrams that
// arrive: cm_receive.cc; those of datagram services: cm_sidr.cc.
#include "irn_provider/cm/connection_manager.h"

#include <algorithm>

#include "irn_provider/cm/message_fields.h"

namespace rocelab::cm {
Duration time_of(std::uint8_t code) { return Duration::from_ps(std::int64_t{4'096'000} << code); }

ConnectionManager::ConnectionManager(const CmConfig& config, Rng rng)
    : config_(config), rng_(rng), next_offset_(static_cast<CommId>(rng_.below(1ull << config.id_bits))) {}

// --- endpoints

Endpoint& ConnectionManager::add(State state) {
  const CommId mask = static_cast<CommId>((1ull << config_.id_bits) - 1);
  CommId id = 0;
  do id = config_.first_id | (next_offset_++ & mask);
  while (id == 0 || endpoints_.contains(id));
  auto& e = endpoints_[id] = std::make_unique<Endpoint>();
  e->local_id = id;
  e->transaction = id;
  e->state = state;
  e->handle = Handle{next_handle_++};
  e->max_retries = config_.max_retries;
  by_handle_[e->handle.value] = id;
  return *e;
}

Endpoint* ConnectionManager::by_id(CommId id) {
  const auto found = endpoints_.find(id);
  return found != endpoints_.end() ? found->second.get() : nullptr;
}

Endpoint* ConnectionManager::get(Handle handle) {
  const auto found = by_handle_.find(handle.value);
  return found != by_handle_.end() ? by_id(found->second) : nullptr;
}

const Endpoint* ConnectionManager::find(Handle handle) const {
  return const_cast<ConnectionManager*>(this)->get(handle);
}

const QpSettings* ConnectionManager::settings(Handle handle) const {
  const Endpoint* e = find(handle);
  return e != nullptr ? &e->qp : nullptr;
}

ConnectionManager::Found ConnectionManager::listener_of(std::uint64_t service_id,
                                                        std::span<const std::uint8_t> private_data) {
  const auto ip = is_ip_service(service_id) ? IpHeader::parse(private_data) : std::nullopt;
  Found found;
  for (auto& [id, e] : endpoints_) {
    if (e->state != State::kListen || e->service_id != service_id) continue;
    if (!ip || e->destination.takes(ip->ip_version, ip->destination)) return {e.get(), false};
    found.elsewhere = true;
  }
  return found;
}

void ConnectionManager::arm(Endpoint& e, Time deadline) {
  if (e.deadline != Time::never()) timers_.erase({e.deadline, e.local_id});
  e.deadline = deadline;
  if (deadline != Time::never()) timers_.insert({deadline, e.local_id});
}

void ConnectionManager::forget(PeerIndex& index, const Endpoint& e, std::uint32_t key) {
  const auto found = index.find({e.remote_ca_guid, key});
  if (found != index.end() && found->second == e.local_id) index.erase(found);
}

void ConnectionManager::give_back_backlog(Endpoint& e) {
  if (Endpoint* listener = get(e.listener)) ++listener->backlog;
  e.listener = {};
}

void ConnectionManager::end(Endpoint& e) {
  arm(e, Time::never());
  forget(by_peer_id_, e, e.remote_id);
  forget(by_peer_qpn_, e, e.qp.remote_qpn.value);
  give_back_backlog(e);
  e.state = State::kIdle;
  if (e.orphan) endpoints_.erase(e.local_id);
}

// IBTA 12.9.8.4: longer than a packet of the connection can still be on its way. The peer's QP is free for
// another connection (stale, in 12.9.8.3, is a QP that is connected; so Linux, cm_enter_timewait); the peer's
// ID is kept, by which a REQ that arrives once more is known.
void ConnectionManager::enter_timewait(Endpoint& e, Time now) {
  forget(by_peer_qpn_, e, e.qp.remote_qpn.value);
  e.state = State::kTimewait;
  arm(e, now + time_of(config_.packet_lifetime) * 2 + time_of(config_.ack_delay));
}

Event& ConnectionManager::raise(const Endpoint& e, EventKind kind) {
  if (e.orphan) return discarded_ = Event{};
  Event event;
  event.kind = kind;
  event.handle = e.handle;
  events_.push_back(std::move(event));
  return events_.back();
}

// --- sending

void ConnectionManager::answer(const Gid& from, const Gid& to, std::uint64_t transaction, Message message) {
  OutgoingMad out{to, from, {}, true};
  CmMad{transaction, 0, std::move(message)}.write(out.bytes);
  transmit_.push_back(out);
  ++counters_.tx_mads;
}

void ConnectionManager::send(const Endpoint& e, const CmMad& mad) {
  OutgoingMad out{e.local_gid, e.remote_gid, {}};
  mad.write(out.bytes);
  transmit_.push_back(out);
  ++counters_.tx_mads;
}

void ConnectionManager::send_again(const Endpoint& e, const CmMad& mad) {
  send(e, mad);
  transmit_.back().dispensable = true;
}

void ConnectionManager::say(Endpoint& e, Message message, std::uint32_t modifier) {
  e.last = {e.transaction, modifier, std::move(message)};
  send(e, e.last);
}

// IBTA 12.9.8.2: the peer has its CM response timeout, and the datagrams the way there and back.
void ConnectionManager::await(Endpoint& e, Message message, std::uint32_t modifier, Time now) {
  say(e, std::move(message), modifier);
  e.retries_left = e.max_retries;
  e.wait = time_of(config_.response_timeout) + time_of(config_.packet_lifetime) * 2;
  arm(e, now + e.wait);
}

void ConnectionManager::send_rej(Endpoint& e, RejReason reason, std::span<const std::uint8_t> private_data) {
  Rej rej;
  rej.local_id = e.local_id;
  rej.remote_id = e.remote_id;
  rej.message = e.active && e.state == State::kRepReceived ? Answered::kRep
                : !e.active                                ? Answered::kReq
                                                           : Answered::kOther;
  rej.reason = reason;
  fill(rej.private_data, private_data);
  if (reason == RejReason::kTimeout) {  // 12.6.7.2: the CA GUID, for a peer whose ID we never learned
    rej.ari_length = 8;
    wire::store64(std::as_writable_bytes(std::span(rej.ari)), 0, config_.ca_guid);
  }
  say(e, rej);
}

void ConnectionManager::send_dreq(Endpoint& e, Time now) {
  Dreq dreq;
  dreq.local_id = e.local_id;
  dreq.remote_id = e.remote_id;
  dreq.remote_qpn = e.qp.remote_qpn;
  e.state = State::kDreqSent;
  await(e, dreq, 0, now);
}

// --- timers

void ConnectionManager::give_up(Endpoint& e, Time now) {
  switch (e.state) {
    case State::kReqSent:
      send_rej(e, RejReason::kTimeout, {});
      raise(e, EventKind::kUnreachable);
      return end(e);
    case State::kRepSent:
      send_rej(e, RejReason::kTimeout, {});
      raise(e, EventKind::kUnreachable);
      return enter_timewait(e, now);
    case State::kDreqSent:
      raise(e, EventKind::kDisconnected);
      return enter_timewait(e, now);
    case State::kTimewait:
      if (e.was_connected) raise(e, EventKind::kTimewaitExit);
      return end(e);
    default:  // kSidrReqSent
      raise(e, EventKind::kUnreachable);
      return end(e);
  }
}

void ConnectionManager::on_timeout(Time now) {
  while (next_timeout() <= now) {
    Endpoint& e = *by_id(timers_.begin()->second);
    if (e.state == State::kTimewait || e.retries_left == 0) {
      arm(e, Time::never());
      give_up(e, now);
      continue;
    }
    --e.retries_left;
    ++counters_.retries;
    send(e, e.last);
    arm(e, now + e.wait);
  }
}

// --- outputs

std::optional<OutgoingMad> ConnectionManager::poll_transmit() {
  if (transmit_.empty()) return std::nullopt;
  OutgoingMad mad = transmit_.front();
  transmit_.pop_front();
  return mad;
}

std::optional<Event> ConnectionManager::poll_event() {
  if (events_.empty()) return std::nullopt;
  Event event = std::move(events_.front());
  events_.pop_front();
  return event;
}

}  // namespace rocelab::cm
