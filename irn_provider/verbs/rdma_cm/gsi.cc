#include "irn_provider/verbs/rdma_cm/gsi.h"

#include <algorithm>
#include <cstring>

#include "base/wire/ipv4.h"
#include "emu/world/host_identity.h"

namespace rocelab::verbs {
namespace {

constexpr std::size_t kIpv4At = kGrhBytes - Ipv4Header::kSize;  // IBTA annex A17.4.5.3

// Source and destination by a datagram's GRH.
bool read_grh(std::span<const std::byte> grh, Gid& from, Gid& to) {
  if (std::to_integer<unsigned>(grh[kIpv4At]) == 0x45) {
    from = ipv4_mapped(wire::load_array<4>(grh, kIpv4At + 12));
    to = ipv4_mapped(wire::load_array<4>(grh, kIpv4At + 16));
    return true;
  }
  if (std::to_integer<unsigned>(grh[0]) >> 4 != 6) return false;
  from = wire::load_array<16>(grh, 8);
  to = wire::load_array<16>(grh, 24);
  return true;
}

}  // namespace

std::unique_ptr<Gsi> Gsi::open(LiveProcess& process, std::size_t nic_number, Nic& nic, Time now) {
  std::unique_ptr<Gsi> gsi(new Gsi(process, nic_number));
  return gsi->make(nic, now) ? std::move(gsi) : nullptr;
}

bool Gsi::make(Nic& nic, Time now) {
  pd_ = nic.alloc_pd();
  const auto send_cq = nic.create_cq(kDepth), recv_cq = nic.create_cq(kDepth);
  buffers_.resize(kDepth * kBufferBytes);
  const auto address = reinterpret_cast<std::uint64_t>(buffers_.data());
  const auto key = nic.reg_mr(pd_, address, buffers_.size(), address, kAccessLocalWrite);
  if (!send_cq || !recv_cq || !key) return false;
  send_cq_ = *send_cq;
  recv_cq_ = *recv_cq;
  key_ = *key;
  QpInit init;
  init.pd = pd_;
  init.send_cq = send_cq_;
  init.recv_cq = recv_cq_;
  init.caps = {.max_send_wr = kDepth,
               .max_recv_wr = kDepth,
               .max_send_sge = 1,
               .max_recv_sge = 1,
               .max_inline = cm::kMadBytes};
  init.type = QpType::kUd;
  init.gsi = true;
  if (!nic.create_qp(init)) return false;
  QpAttr attr;
  attr.qkey = kGsiQkey;
  attr.path_mtu = process_.host(nic_number_).nic.active_mtu;
  for (const QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
    attr.state = state;
    if (!nic.modify_qp(kGsiQpn, attr, now)) return false;
  }
  for (std::uint32_t i = 0; i < kDepth; ++i) post_receive(nic, i, now);
  outgoing_.resize(kDepth);
  for (std::uint32_t i = kDepth; i-- > 0;) free_slots_.push_back(i);
  return true;
}

void Gsi::post_receive(Nic& nic, std::uint32_t buffer, Time now) {
  RecvWqe wqe;
  wqe.wr_id = buffer;
  wqe.num_sge = 1;
  wqe.sge[0] = {reinterpret_cast<std::uint64_t>(buffers_.data() + buffer * kBufferBytes), kBufferBytes, key_};
  nic.post_recv(kGsiQpn, wqe, now);
}

std::optional<Ahn> Gsi::route(Nic& nic, const Gid& from, const Gid& to) {
  if (const auto known = routes_.find(from, to)) return known;
  const std::optional<PathEnd> peer = process_.find_peer(nic_number_, to);
  if (!peer || is_ipv4_mapped(from) != is_ipv4_mapped(to)) return std::nullopt;
  PathAddress path;
  path.dst_mac = peer->mac;
  path.dst_node = peer->node;
  path.src_gid = from;
  path.dst_gid = to;
  path.src_gid_index = is_ipv4_mapped(from) ? 1 : 0;
  path.udp_src_port = udp_source_port(0, kGsiQpn.value, kGsiQpn.value, from, to);
  return routes_.add(nic, pd_, path);
}

void Gsi::send(Nic& nic, const cm::OutgoingMad& mad, Time now) {
  waiting_.push(mad);
  post_waiting(nic, now);
}

void Gsi::post_waiting(Nic& nic, Time now) {
  while (waiting_.size() > 0 && !free_slots_.empty()) {
    const std::optional<cm::OutgoingMad> mad = waiting_.pop();
    const auto ahn = route(nic, mad->local_gid, mad->remote_gid);
    if (!ahn) continue;
    const std::uint32_t slot = free_slots_.back();
    outgoing_[slot] = mad->bytes;
    SendWqe wqe;
    wqe.wr_id = slot;
    wqe.inline_data = true;
    wqe.ah = *ahn;
    wqe.remote_qpn = kGsiQpn;
    wqe.remote_qkey = kGsiQkey;
    wqe.num_sge = 1;
    wqe.sge[0] = {reinterpret_cast<std::uint64_t>(outgoing_[slot].data()), cm::kMadBytes, {}};
    if (nic.post_send(kGsiQpn, wqe, now) == PostResult::kOk) free_slots_.pop_back();
  }
}

std::vector<Gsi::Received> Gsi::take(Nic& nic, Time now) {
  while (const auto sent = nic.poll_cq(send_cq_))
    free_slots_.push_back(static_cast<std::uint32_t>(sent->wr_id));
  post_waiting(nic, now);
  std::vector<Received> all;
  while (const auto cqe = nic.poll_cq(recv_cq_)) {
    const auto buffer = static_cast<std::uint32_t>(cqe->wr_id);
    const std::span<const std::byte> bytes(buffers_.data() + buffer * kBufferBytes, cqe->byte_len);
    Received received;
    if (cqe->status == WcStatus::kSuccess && read_grh(bytes.first(kGrhBytes), received.from, received.to)) {
      received.mad.assign(bytes.begin() + kGrhBytes, bytes.end());
      all.push_back(std::move(received));
    }
    post_receive(nic, buffer, now);
  }
  return all;
}

}  // namespace rocelab::verbs
