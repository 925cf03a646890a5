// Ucma: events of the connection manager, as librdmacm reads them.
#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "emu/world/host_identity.h"
#include "irn_provider/verbs/limits.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/rdma_cm/ucma.h"

namespace rocelab::verbs {
namespace {

std::uint8_t copy_private(const std::vector<std::uint8_t>& from, std::uint8_t (&to)[RDMA_MAX_PRIVATE_DATA]) {
  const std::size_t length = std::min<std::size_t>(from.size(), 255);
  std::copy_n(from.begin(), length, to);
  return static_cast<std::uint8_t>(length);
}

void fill(const cm::Event& from, rdma_ucm_conn_param& to) {
  to.private_data_len = copy_private(from.private_data, to.private_data);
  to.qp_num = from.qpn.value;
  to.srq = from.srq;
  to.responder_resources = from.responder_resources;
  to.initiator_depth = from.initiator_depth;
  to.flow_control = from.flow_control;
  to.retry_count = from.retry_count;
  to.rnr_retry_count = from.rnr_retry_count;
}

void fill(const HostEntry& host, const cm::Event& from, const cm::QpSettings& settings,
          rdma_ucm_ud_param& to) {
  to.private_data_len = copy_private(from.private_data, to.private_data);
  to.qp_num = from.qpn.value;
  to.qkey = from.qkey;
  to.ah_attr.is_global = 1;
  to.ah_attr.port_num = kPorts;
  std::copy(settings.remote_gid.begin(), settings.remote_gid.end(), to.ah_attr.grh.dgid);
  to.ah_attr.grh.flow_label = settings.flow_label;
  to.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(index_of(host, settings.local_gid));
  to.ah_attr.grh.hop_limit = settings.hop_limit;
  to.ah_attr.grh.traffic_class = settings.traffic_class;
}

// What the peer says and this host has, too.
std::uint32_t agreed_on(const cm::Ece& ece, const HostEntry& host) {
  return ece.vendor_id == kEceVendor ? ece.options & ece_options(host) : 0;
}

struct Told {
  std::uint32_t event;
  int status;
};

// Linux's event and status. A datagram service that is refused is unreachable there.
Told told(const cm::Event& e, bool datagram) {
  switch (e.kind) {
    case cm::EventKind::kReply:
      return {kConnectResponse, 0};
    case cm::EventKind::kEstablished:
    case cm::EventKind::kResolved:
      return {kEstablished, 0};
    case cm::EventKind::kRejected:
      return {datagram ? kUnreachable : kRejected, e.reason};
    case cm::EventKind::kUnreachable:
      return {kUnreachable, -ETIMEDOUT};
    case cm::EventKind::kDisconnected:
      return {kDisconnected, 0};
    default:
      return {kTimewaitExit, 0};
  }
}

}  // namespace

UcmaEvent Ucma::event_of(const UcmaId& id, std::uint32_t kind, int status) const {
  UcmaEvent event;
  event.id = id.number;
  event.response.uid = id.uid;
  event.response.id = id.number;
  event.response.event = kind;
  event.response.status = static_cast<std::uint32_t>(status);
  return event;
}

void Ucma::push(UcmaFile& file, const UcmaEvent& event) {
  file.ready.push_back(event);
  file.events.raise();
}

void Ucma::tell(UcmaId& id, std::uint32_t kind, int status) { push(*id.file, event_of(id, kind, status)); }

void Ucma::on_event(std::size_t nic, const cm::Event& e) {
  if (e.kind == cm::EventKind::kRequest) return on_request(nic, e);
  const auto known = by_handle_.find({nic, e.handle.value});
  if (known == by_handle_.end()) return;
  UcmaId& id = *ids_.at(known->second);
  // A request that the program has not accepted, which the library does not know: as Linux's
  // ucma_event_handler, nobody is told that it has gone; accepting it fails.
  if (id.uid == 0) return;
  const bool datagram = id.space == cm::PortSpace::kUdp;
  const Told what = told(e, datagram);
  UcmaEvent event = event_of(id, what.event, what.status);
  if (datagram) {
    fill(host(id), e, *manager(id).settings(e.handle), event.response.param.ud);
  } else {
    fill(e, event.response.param.conn);
  }
  if (e.kind == cm::EventKind::kReply) {
    id.agreed = agreed_on(e.ece, host(id));
    id.remote_qpn = e.qpn;
    if (e.ece.vendor_id != kEceVendor) event.response.ece = {e.ece.vendor_id, e.ece.options};
  }
  push(*id.file, event);
}

// The event is the listener's, and names a new identifier.
void Ucma::on_request(std::size_t nic, const cm::Event& e) {
  const auto known = by_handle_.find({nic, e.listener.value});
  if (known == by_handle_.end()) return;
  UcmaId& listener = *ids_.at(known->second);
  UcmaId& id = add_id(*listener.file);
  id.space = listener.space;
  id.qp_type = listener.qp_type;
  id.nic = nic;
  id.handle = e.handle;
  by_handle_[{nic, e.handle.value}] = id.number;
  const cm::Endpoint& endpoint = *manager(id).find(e.handle);
  id.local = endpoint.local;
  id.remote = endpoint.remote;
  id.local_gid = endpoint.local_gid;
  id.remote_gid = endpoint.remote_gid;
  id.has_device = id.has_remote = id.has_route = id.connecting = true;
  id.remote_qpn = e.qpn;
  id.agreed = agreed_on(e.ece, host(id));
  UcmaEvent event = event_of(listener, kConnectRequest, 0);
  event.created = event.response.id = id.number;
  if (id.space == cm::PortSpace::kUdp) {
    fill(host(id), e, *manager(id).settings(e.handle), event.response.param.ud);
  } else {
    fill(e, event.response.param.conn);
    if (e.ece.vendor_id != kEceVendor) event.response.ece = {e.ece.vendor_id, e.ece.options};
  }
  push(*listener.file, event);
}

// An event of the program's own, or of its library's: rdma_resolve_addrinfo() tells itself of its end so.
int Ucma::write_event(Caller& c, const WriteCmEvent& cmd) {
  if (cmd.event != kUser && cmd.event != kInternal) return EINVAL;
  int error = 0;
  UcmaId* id = find(c, cmd.id, error);
  if (id == nullptr) return error;
  UcmaEvent event = event_of(*id, cmd.event, static_cast<int>(cmd.status));
  std::memcpy(&event.response.param, &cmd.arg, sizeof cmd.arg);
  push(*id->file, event);
  return 0;
}

int Ucma::get_event(UcmaFile& file, rdma_ucm_event_resp& out) {
  const auto fetch = [&](Nic&, Time) {
    if (!file.events.take()) return false;
    const UcmaEvent event = file.ready.front();
    file.ready.pop_front();
    if (const auto owner = ids_.find(event.id); owner != ids_.end()) ++owner->second->events_reported;
    if (const auto group = memberships_.find(event.membership); group != memberships_.end())
      ++group->second.events_reported;
    if (const auto created = ids_.find(event.created); created != ids_.end())
      manager(*created->second).fetched(created->second->handle);
    out = event.response;
    return true;
  };
  while (true) {
    if (const int error = file.events.wait(process_); error != 0) return error;
    if (process_.call(fetch)) return 0;
  }
}

}  // namespace rocelab::verbs
