// DirectProcess: frames in, what is due, frames out.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "irn_provider/live/direct/direct_process.h"
#include "lockstep/host_identity.h"

namespace rocelab {
namespace {

constexpr Duration kRunOfPosts = 2_us;    // between the end of a departure and the next post
constexpr Duration kRunPatience = 4_us;   // of posts, for those of the next poll or two
constexpr Duration kLongestWait = 40_us;  // of a post
constexpr std::uint32_t kMostWaiting = 16;
constexpr int kReceiveBatch = 64;                               // of local frames
constexpr std::uint32_t kLooksPerLocal = 16;                    // until there is a first one
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

bool DirectProcess::progress(bool may_defer) {
  if (leaving_) return false;
  if (posts_in_run_ > 0) last_run_ = std::exchange(posts_in_run_, 0);
  if (blocked()) flush();
  const Time now = tick();
  const bool came = receive(now);
  const bool due = port_.next_input() <= now;
  if (due) port_.run_inputs(now);  // no packet outlives the instant of its arrival
  if (resident_.next_timeout && resident_.next_timeout() <= now) {
    resident_.run(nic_, now);
    tell_waiters();
  }
  const bool completed = note_completions(now);
  const bool leaves = port_.wants_port() != Time::never();
  const bool run_goes_on =
      posts_waiting_ > 0 && posts_waiting_ < kMostWaiting && now - first_waits_ < kRunPatience;
  if (leaves && may_defer && completed && !port_.wants_to_send_data())
    acks_wait_ = true;
  else if (leaves && !(may_defer && run_goes_on))
    depart(now);
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
  if (!local_frames_ && ++since_local_ < kLooksPerLocal) return any;
  since_local_ = 0;
  for (int i = 0; i < kReceiveBatch; ++i) {
    const std::size_t length = share_->receive(local_frame_);
    if (length == 0) break;
    any = local_frames_ = true;
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
  acks_wait_ = false;
  posts_waiting_ = 0;
  last_departure_ = clock();
  if (std::exchange(timer_set_, false)) set_timer(post_timer_, Duration());
}

// Of what a call of the program has set going: whether more is to be expected at once, that it may leave
// together with. Acknowledgements wait for the program's answer to what it has just received; posts wait for
// the end of the run of posts, which a poll is: those right behind one that has left, and all where the last
// run was of several. What a program makes of that is bounded: for posts by a timer, for acknowledgements by
// the helper's next look.
bool DirectProcess::may_wait() {
  const bool answer = acks_wait_ && !port_.wants_to_send_data();
  if (!answer) ++posts_in_run_;
  const bool goes_on = posts_in_run_ == 1 ? last_run_ > 1 : last_ - last_departure_ < kRunOfPosts;
  if (!answer && (!goes_on || posts_waiting_ >= kMostWaiting)) return false;
  if (!answer && posts_waiting_++ == 0) {
    first_waits_ = last_;
    timer_set_ = true;
    set_timer(post_timer_, kLongestWait);
  }
  return true;
}

void DirectProcess::send(PacketRef packet) {
  const std::span<std::byte> slot = socket_.slot();
  const PathAddress* path = nic_.path_of(*packet);
  RL_CHECK(path != nullptr);
  if (path->dst_mac == host_.mac) {
    if (edge_.write(nic_, *packet, slot)) send_local(slot.first(packet->frame_length), packet->roce.dest);
    return;
  }
  const std::uint16_t id =
      socket_.place({path, packet->roce.dest.value}, packet->frame_length,
                    packet->kind == PacketKind::kAck ? direct::PacketSocket::Kind::kAck
                                                     : direct::PacketSocket::Kind::kData);
  if (edge_.write(nic_, *packet, slot, id)) socket_.fill();
}

// To QP1: to all VFs, as the filters of a wire would let it.
void DirectProcess::send_local(std::span<const std::byte> frame, Qpn dest) {
  local_frames_ = true;
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

bool DirectProcess::note_completions(Time now) {
  if (nic_.completions() == completions_seen_) return false;
  completions_seen_ = nic_.completions();
  if (resident_.run) resident_.run(nic_, now);
  if (completion_hook_) completion_hook_(nic_);
  tell_waiters();
  return true;
}

Time DirectProcess::next_event() const {
  const Time own = std::min(port_.next_input(), port_.wants_port());
  return resident_.next_timeout ? std::min(own, resident_.next_timeout()) : own;
}

}  // namespace rocelab
