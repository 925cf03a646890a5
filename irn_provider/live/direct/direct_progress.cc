// DirectProcess: frames in, what is due, frames out.
#include <algorithm>

#include "base/check.h"
#include "irn_provider/live/direct/direct_process.h"
#include "lockstep/host_identity.h"

namespace rocelab {
namespace {

constexpr int kReceiveBatch = 64;
constexpr int kDepartBatch = 4 * direct::PacketSocket::kBatch;  // then what has come is looked at

struct Sender {
  Gid gid;
  MacAddress mac;
};
// Of a good frame over IPv4; of others, anything or nothing.
std::optional<Sender> ipv4_sender(std::span<const std::byte> frame) {
  constexpr std::size_t kMacAt = 6, kSourceAt = EthernetHeader::kSize + 12;
  if (frame.size() < kSourceAt + 4 || wire::load16(frame, 12) != kEtherTypeIpv4) return std::nullopt;
  return Sender{ipv4_mapped(wire::load_array<4>(frame, kSourceAt)), wire::load_array<6>(frame, kMacAt)};
}

}  // namespace

bool DirectProcess::progress() {
  if (leaving_) return false;
  if (blocked()) flush();
  const Time now = tick();
  const bool came = receive(now);
  const bool due = port_.next_input() <= now;
  if (due) port_.run_inputs(now);  // no packet outlives the instant of its arrival
  if (resident_.next_timeout && resident_.next_timeout() <= now) {
    resident_.run(nic_, now);
    tell_waiters();
  }
  note_completions(now);
  const bool leaves = port_.wants_port() != Time::never();
  if (leaves) depart(now);
  return came || due || leaves;
}

bool DirectProcess::receive(Time now) {
  const std::span<const direct::PacketSocket::Arrival> arrivals = socket_.receive();
  bool any = !arrivals.empty();
  for (const direct::PacketSocket::Arrival& arrival : arrivals) {
    if (arrival.segment == 0)
      take(arrival.bytes, now);
    else
      direct::cut_train(arrival.bytes, arrival.segment, [&](std::span<std::byte> frame) {
        take(frame, now);
        port_.run_inputs(now);  // before the next frame's headers take its place
      });
  }
  if (share_->vfs_in_use() == 0 && !talks_to_itself_) return any;
  for (int i = 0; i < kReceiveBatch; ++i) {
    const std::size_t length = share_->receive(local_frame_);
    if (length == 0) break;
    any = true;
    take(std::span(local_frame_).first(length), now);
    port_.run_inputs(now);  // there is one buffer
  }
  return any;
}

void DirectProcess::take(std::span<std::byte> frame, Time now) {
  const auto sender = ipv4_sender(frame);  // before the frame's headers become a GRH
  PacketRef packet = edge_.parse(frame, PacketKind::kData, now);
  if (!packet) return;
  // Who has sent a connection manager's message gets the answer where it came from.
  if (sender && packet->roce.dest == kGsiQpn) peers_.emplace(sender->gid, PathEnd{sender->mac, NodeId{0}});
  port_.deliver(std::move(packet), now);
}

void DirectProcess::depart(Time now) {
  for (int i = 0; i < kDepartBatch && !blocked() && port_.wants_port() != Time::never(); ++i) {
    port_.set_port_free(now);  // the interface has a rate of its own
    port_.depart_at(now, [this](PacketRef packet, Time, Time) { send(std::move(packet)); });
    if (socket_.room() == 0) flush();
  }
  flush();
}

void DirectProcess::send(PacketRef packet) {
  const std::span<std::byte> slot = socket_.slot();
  const PathAddress* path = nic_.path_of(*packet);
  RL_CHECK(path != nullptr);
  if (path->dst_mac == host_.mac) {
    if (edge_.write(nic_, *packet, slot)) send_local(slot.first(packet->frame_length), packet->roce.dest);
    return;
  }
  const std::uint16_t id = socket_.place({path, packet->roce.dest.value}, packet->frame_length);
  if (edge_.write(nic_, *packet, slot, id)) socket_.fill();
}

// To QP1: to all VFs, as the filters of a wire would let it.
void DirectProcess::send_local(std::span<const std::byte> frame, Qpn dest) {
  talks_to_itself_ = true;
  std::uint32_t vfs = 0;
  if (dest == kGsiQpn)
    vfs = share_->vfs_in_use() | 1u << share_->vf();
  else if (dest.value >= lockstep::kFirstQpn && lockstep::vf_of_qpn(dest.value) < lockstep::kMaxVfsPerHost)
    vfs = 1u << lockstep::vf_of_qpn(dest.value);
  for (std::uint32_t vf = 0; vf < lockstep::kMaxVfsPerHost; ++vf)
    if ((vfs >> vf & 1) != 0 && share_->send(vf, frame) == direct::InterfaceShare::Sent::kLater)
      local_waiting_.push_back({vf, {frame.begin(), frame.end()}});
}

void DirectProcess::flush() {
  socket_.flush();
  std::size_t sent = 0;
  while (sent < local_waiting_.size() && share_->send(local_waiting_[sent].vf, local_waiting_[sent].bytes) !=
                                             direct::InterfaceShare::Sent::kLater)
    ++sent;
  local_waiting_.erase(local_waiting_.begin(), local_waiting_.begin() + static_cast<std::ptrdiff_t>(sent));
}

void DirectProcess::note_completions(Time now) {
  if (nic_.completions() == completions_seen_) return;
  completions_seen_ = nic_.completions();
  if (resident_.run) resident_.run(nic_, now);
  if (completion_hook_) completion_hook_(nic_);
  tell_waiters();
}

Time DirectProcess::next_event() const {
  const Time own = std::min(port_.next_input(), port_.wants_port());
  return resident_.next_timeout ? std::min(own, resident_.next_timeout()) : own;
}

}  // namespace rocelab
