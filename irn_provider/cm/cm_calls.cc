// ConnectionManager: what the consumer asks for.
#include <algorithm>

#include "irn_provider/cm/connection_manager.h"
#include "irn_provider/cm/message_fields.h"

namespace rocelab::cm {
namespace {

constexpr std::uint16_t kDefaultPkey = 0xffff, kPermissiveLid = 0xffff;
constexpr std::uint8_t kHopLimit = 64;
constexpr std::uint32_t kPsnMask = 0xffffff;

}  // namespace

Handle ConnectionManager::listen(std::uint64_t service_id, unsigned backlog, const Destination& destination) {
  Endpoint& e = add(State::kListen);
  e.service_id = service_id;
  e.backlog = backlog;
  e.destination = destination;
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
  r.starting_psn = e.qp.receive_psn;
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
          .send_psn = 0,
          .receive_psn = static_cast<std::uint32_t>(rng_.below(kPsnMask + 1)),
          .responder_resources = p.responder_resources,
          .initiator_depth = p.initiator_depth,
          .retry_count = p.retry_count,
          .rnr_retry_count = p.rnr_retry_count};
  await(e, make_req(e, p), p.ece.options, now);
  return e.handle;
}

bool ConnectionManager::accept(Handle handle, const AcceptParams& p, Time now) {
  Endpoint* e = get(handle);
  if (e == nullptr) return false;
  if (e->state == State::kSidrReqReceived)
    return answer_resolution(*e, SidrStatus::kSuccess, p.qpn, p.qkey, p.private_data);
  Rep r;
  if (e->state != State::kReqReceived || !fill(r.private_data, p.private_data)) return false;
  e->local_qpn = p.qpn;
  e->qp.responder_resources = p.responder_resources;
  e->qp.initiator_depth = p.initiator_depth;
  r.local_id = e->local_id;
  r.remote_id = e->remote_id;
  r.qpn = p.qpn;
  r.vendor_id = p.ece.vendor_id;
  r.starting_psn = e->qp.receive_psn;
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

bool ConnectionManager::established(Handle handle) {
  Endpoint* e = get(handle);
  if (e == nullptr || e->state != State::kRepSent) return false;
  arm(*e, Time::never());
  e->state = State::kEstablished;
  e->was_connected = true;
  raise(*e, EventKind::kEstablished);
  return true;
}

bool ConnectionManager::reject(Handle handle, RejReason reason, std::span<const std::uint8_t> private_data,
                               Time now) {
  Endpoint* e = get(handle);
  if (e == nullptr || private_data.size() > Rej::kPrivateBytes) return false;
  if (e->state == State::kSidrReqReceived)
    return answer_resolution(*e, SidrStatus::kRejected, {}, 0, private_data);
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

}  // namespace rocelab::cm
