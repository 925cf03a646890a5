// ConnectionManager: datagram services, found by service ID resolution (SIDR).
#include <algorithm>

#include "irn_provider/cm/connection_manager.h"
#include "irn_provider/cm/message_fields.h"

namespace rocelab::cm {
namespace {

constexpr std::uint16_t kDefaultPkey = 0xffff;

}  // namespace

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

bool ConnectionManager::answer_resolution(Endpoint& e, SidrStatus status, Qpn qpn, std::uint32_t qkey,
                                          std::span<const std::uint8_t> private_data) {
  SidrRep r;
  if (!fill(r.private_data, private_data)) return false;
  r.request_id = e.remote_id;
  r.status = status;
  r.qpn = qpn;
  r.service_id = e.service_id;
  r.qkey = qkey;
  e.state = State::kSidrAnswered;
  give_back_backlog(e);
  say(e, r);
  return true;
}

void ConnectionManager::on(const SidrReq& m, const Arrival& a) {
  for (auto& [id, e] : endpoints_) {
    const bool sidr = e->state == State::kSidrReqReceived || e->state == State::kSidrAnswered;
    if (!sidr || e->remote_id != m.request_id || e->remote_gid != a.from) continue;
    ++counters_.rx_duplicates;
    if (e->state == State::kSidrAnswered) send_again(*e, e->last);
    return;
  }
  const Found found = listener_of(m.service_id, m.private_data);
  Endpoint* listener = found.listener;
  const auto ip = IpHeader::parse(m.private_data);
  if (listener == nullptr || (is_ip_service(m.service_id) && !ip)) {
    ++(listener == nullptr ? counters_.rx_no_listener : counters_.rx_refused);
    SidrRep r;
    r.request_id = m.request_id;
    r.service_id = m.service_id;
    const bool none = listener == nullptr && !found.elsewhere;
    r.status = none ? SidrStatus::kUnsupportedServiceId : SidrStatus::kRejected;
    return answer(a.from, a.to, a.transaction, r);
  }
  if (listener->backlog == 0) {
    ++counters_.rx_backlog_full;
    return;
  }
  --listener->backlog;
  Endpoint& e = add(State::kSidrReqReceived);
  e.listener = listener->handle;
  e.service_id = m.service_id;
  e.remote_id = m.request_id;
  e.transaction = a.transaction;
  e.local_gid = e.qp.local_gid = a.to;
  e.remote_gid = e.qp.remote_gid = a.from;
  if (ip) {
    e.remote = {ip->ip_version, ip->source, ip->source_port};
    e.local = {ip->ip_version, ip->destination, port_of(m.service_id)};
  }
  Event& event = raise(e, EventKind::kRequest);
  event.listener = listener->handle;
  event.private_data = ip ? behind_ip_header(m.private_data) : all_of(m.private_data);
}

void ConnectionManager::on(const SidrRep& m, const Arrival& a) {
  Endpoint* e = partner(m.request_id, a);
  if (e == nullptr) return;
  if (e->state != State::kSidrReqSent) return wrong_state();
  e->qp.remote_qpn = m.qpn;
  const bool found = m.status == SidrStatus::kSuccess;
  Event& event = raise(*e, found ? EventKind::kResolved : EventKind::kRejected);
  event.reason = static_cast<std::uint16_t>(m.status);
  event.qpn = m.qpn;
  event.qkey = m.qkey;
  event.private_data = all_of(m.private_data);
  end(*e);
}

}  // namespace rocelab::cm
