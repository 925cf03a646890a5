// ConnectionManager: endpoints, what the consumer asks for, what is sent. Datagrams that arrive and timers:
// cm_receive.cc.
#include "irn_provider/cm/connection_manager.h"

#include <algorithm>

#include "base/check.h"

namespace rocelab::cm {
namespace {

constexpr std::uint16_t kDefaultPkey = 0xffff, kPermissiveLid = 0xffff;
constexpr std::uint8_t kHopLimit = 64;
constexpr std::uint32_t kPsnMask = 0xffffff, kFlowLabelMask = 0xfffff;

template <std::size_t N>
bool fill(PrivateData<N>& field, std::span<const std::uint8_t> data, std::size_t at = 0) {
  if (data.size() > N - at) return false;
  std::copy(data.begin(), data.end(), field.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

IpHeader ip_header(const ConnectParams& p) {
  return {p.local.ip_version, p.local.port, p.local.ip, p.remote.ip};
}

// As Linux computes it for RoCE: it decides the UDP source port of the connection's packets.
std::uint32_t flow_label(const ConnectParams& p) {
  return (p.local.port * 31u + p.remote.port) & kFlowLabelMask;
}

}  // namespace

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

Endpoint* ConnectionManager::listener_of(std::uint64_t service_id) {
  for (auto& [id, e] : endpoints_)
    if (e->state == State::kListen && e->service_id == service_id) return e.get();
  return nullptr;
}

void ConnectionManager::arm(Endpoint& e, Time deadline) {
  if (e.deadline != Time::never()) timers_.erase({e.deadline, e.local_id});
  e.deadline = deadline;
  if (deadline != Time::never()) timers_.insert({deadline, e.local_id});
}

void ConnectionManager::forget_peer(const Endpoint& e) {
  const auto erase = [&](auto& index, std::uint32_t key) {
    const auto found = index.find({e.remote_ca_guid, key});
    if (found != index.end() && found->second == e.local_id) index.erase(found);
  };
  erase(by_peer_id_, e.remote_id);
  erase(by_peer_qpn_, e.qp.remote_qpn.value);
}

void ConnectionManager::give_back_backlog(Endpoint& e) {
  if (Endpoint* listener = get(e.listener)) ++listener->backlog;
  e.listener = {};
}

void ConnectionManager::end(Endpoint& e) {
  arm(e, Time::never());
  forget_peer(e);
  give_back_backlog(e);
  e.state = State::kIdle;
  if (e.orphan) endpoints_.erase(e.local_id);
}

// IBTA 12.9.8.4: longer than a packet of the connection can still be on its way.
void ConnectionManager::enter_timewait(Endpoint& e, Time now) {
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
  OutgoingMad out{to, from, {}};
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

// --- the consumer

Handle ConnectionManager::listen(std::uint64_t service_id, unsigned backlog) {
  Endpoint& e = add(State::kListen);
  e.service_id = service_id;
  e.backlog = backlog;
  return e.handle;
}

Req ConnectionManager::make_req(const Endpoint& e, const ConnectParams& p) {
  Req r;
  r.local_id = e.local_id;
  r.vendor_id = p.ece.vendor_id;
  r.service_id = service_id(p.space, p.remote.port);
  r.ca_guid = config_.ca_guid;
  r.qpn = p.qpn;
  r.responder_resources = p.responder_resources;
  r.initiator_depth = p.initiator_depth;
  r.remote_cm_timeout = r.local_cm_timeout = config_.response_timeout;
  r.service = p.service;
  r.flow_control = p.flow_control;
  r.starting_psn = e.qp.send_psn;
  r.retry_count = p.retry_count;
  r.rnr_retry_count = p.rnr_retry_count;
  r.max_cm_retries = config_.max_retries;
  r.pkey = kDefaultPkey;
  r.mtu = p.mtu;
  r.srq = p.srq;
  r.primary.local_lid = r.primary.remote_lid = kPermissiveLid;
  r.primary.local_gid = p.local_gid;
  r.primary.remote_gid = p.remote_gid;
  r.primary.flow_label = e.qp.flow_label;
  r.primary.traffic_class = p.traffic_class;
  r.primary.hop_limit = kHopLimit;
  r.primary.ack_timeout = e.qp.ack_timeout;
  ip_header(p).write(r.private_data);
  fill(r.private_data, p.private_data, IpHeader::kSize);
  return r;
}

Handle ConnectionManager::connect(const ConnectParams& p, Time now) {
  if (p.private_data.size() > kConnectPrivateBytes) return {};
  Endpoint& e = add(State::kReqSent);
  e.active = true;
  e.local_gid = p.local_gid;
  e.remote_gid = p.remote_gid;
  e.local = p.local;
  e.remote = p.remote;
  e.local_qpn = p.qpn;
  e.qp = {.local_gid = p.local_gid,
          .remote_gid = p.remote_gid,
          .flow_label = flow_label(p),
          .traffic_class = p.traffic_class,
          .hop_limit = kHopLimit,
          .mtu = p.mtu,
          .ack_timeout = p.ack_timeout != 0 ? p.ack_timeout : config_.ack_timeout,
          .remote_qpn = {},
          .send_psn = static_cast<std::uint32_t>(rng_.below(kPsnMask + 1)),
          .receive_psn = 0,
          .responder_resources = p.responder_resources,
          .initiator_depth = p.initiator_depth,
          .retry_count = p.retry_count,
          .rnr_retry_count = p.rnr_retry_count};
  await(e, make_req(e, p), p.ece.options, now);
  return e.handle;
}

Handle ConnectionManager::resolve(const ConnectParams& p, Time now) {
  if (p.private_data.size() > kResolvePrivateBytes) return {};
  Endpoint& e = add(State::kSidrReqSent);
  e.active = true;
  e.local_gid = e.qp.local_gid = p.local_gid;
  e.remote_gid = e.qp.remote_gid = p.remote_gid;
  e.local = p.local;
  e.remote = p.remote;
  e.qp.flow_label = flow_label(p);
  e.qp.traffic_class = p.traffic_class;
  SidrReq r;
  r.request_id = e.local_id;
  r.pkey = kDefaultPkey;
  r.service_id = service_id(p.space, p.remote.port);
  ip_header(p).write(r.private_data);
  fill(r.private_data, p.private_data, IpHeader::kSize);
  await(e, r, 0, now);
  return e.handle;
}

bool ConnectionManager::accept(Handle handle, const AcceptParams& p, Time now) {
  Endpoint* e = get(handle);
  if (e == nullptr) return false;
  if (e->state == State::kSidrReqReceived) {
    SidrRep r;
    r.request_id = e->remote_id;
    r.qpn = p.qpn;
    r.service_id = e->service_id;
    r.qkey = p.qkey;
    if (!fill(r.private_data, p.private_data)) return false;
    e->state = State::kSidrAnswered;
    give_back_backlog(*e);
    say(*e, r);
    return true;
  }
  Rep r;
  if (e->state != State::kReqReceived || !fill(r.private_data, p.private_data)) return false;
  e->local_qpn = p.qpn;
  e->qp.responder_resources = p.responder_resources;
  e->qp.initiator_depth = p.initiator_depth;
  r.local_id = e->local_id;
  r.remote_id = e->remote_id;
  r.qpn = p.qpn;
  r.vendor_id = p.ece.vendor_id;
  r.starting_psn = e->qp.send_psn;
  r.responder_resources = p.responder_resources;
  r.initiator_depth = p.initiator_depth;
  r.target_ack_delay = config_.ack_delay;
  r.flow_control = p.flow_control;
  r.rnr_retry_count = p.rnr_retry_count;
  r.srq = p.srq;
  r.ca_guid = config_.ca_guid;
  e->state = State::kRepSent;
  give_back_backlog(*e);
  await(*e, r, p.ece.options, now);
  return true;
}

bool ConnectionManager::establish(Handle handle, Time /*now*/) {
  Endpoint* e = get(handle);
  if (e == nullptr || e->state != State::kRepReceived) return false;
  e->state = State::kEstablished;
  e->was_connected = true;
  say(*e, Rtu{e->local_id, e->remote_id, {}});
  return true;
}

bool ConnectionManager::reject(Handle handle, RejReason reason, std::span<const std::uint8_t> private_data,
                               Time now) {
  Endpoint* e = get(handle);
  if (e == nullptr || private_data.size() > Rej::kPrivateBytes) return false;
  if (e->state == State::kSidrReqReceived) {
    SidrRep r;
    if (!fill(r.private_data, private_data)) return false;
    r.request_id = e->remote_id;
    r.status = SidrStatus::kRejected;
    r.service_id = e->service_id;
    e->state = State::kSidrAnswered;
    give_back_backlog(*e);
    say(*e, r);
    return true;
  }
  if (e->state != State::kReqReceived && e->state != State::kRepReceived) return false;
  send_rej(*e, reason, private_data);
  give_back_backlog(*e);
  enter_timewait(*e, now);
  return true;
}

bool ConnectionManager::disconnect(Handle handle, Time now) {
  Endpoint* e = get(handle);
  if (e == nullptr) return false;
  if (e->state == State::kEstablished) {
    send_dreq(*e, now);
    return true;
  }
  if (e->state != State::kDreqReceived) return false;
  say(*e, Drep{e->local_id, e->remote_id, {}});
  enter_timewait(*e, now);
  return true;
}

void ConnectionManager::fetched(Handle request) {
  if (Endpoint* e = get(request)) give_back_backlog(*e);
}

void ConnectionManager::destroy(Handle handle, Time now) {
  Endpoint* e = get(handle);
  if (e == nullptr) return;
  std::erase_if(events_, [&](const Event& event) { return event.handle == handle; });
  by_handle_.erase(handle.value);
  e->orphan = true;
  switch (e->state) {
    case State::kReqSent:
      send_rej(*e, RejReason::kTimeout, {});
      return enter_timewait(*e, now);
    case State::kReqReceived:
    case State::kRepSent:
    case State::kRepReceived:
      send_rej(*e, RejReason::kConsumer, {});
      return enter_timewait(*e, now);
    case State::kEstablished:
      return send_dreq(*e, now);
    case State::kDreqReceived:
      say(*e, Drep{e->local_id, e->remote_id, {}});
      return enter_timewait(*e, now);
    case State::kDreqSent:
    case State::kTimewait:
      return;
    default:
      return end(*e);
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
