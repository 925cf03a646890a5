// DirectProcess: frames in, what is due, frames out.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/wire/controls.h"
#include "base/wire/multicast.h"
#include "base/wire/pfc.h"
#include "emu/world/host_identity.h"
#include "irn_provider/realtime/direct_process.h"

namespace rocelab {
namespace {

constexpr double kPauseAbove = 0.06,
                 kResumeBelow = 0.03;    // of the kernel's queue; the rest is for what is on its way
constexpr Duration kPauseAgain = 40_us;  // a pause holds for 84 us at the link's 400 Gb/s
constexpr std::size_t kMostSenders = 64;
constexpr std::size_t kFramesUnwatched = 16;  // by themselves; trains are as many
constexpr Duration kRunOfPosts = 2_us;        // between a post, or the end of a departure, and the next post
constexpr Duration kRunPatience = 4_us;       // of posts, for those of the next poll or two
constexpr std::uint32_t kMostWaiting = 16;
constexpr int kReceiveBatches = 16;
constexpr std::uint32_t kMostTaken = 512;                       // frames, before what they have made leaves
constexpr int kDepartBatch = 2 * direct::PacketSocket::kBatch;  // then what has come is looked at

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

// 0 of a frame that is not IP. Precondition: a whole Ethernet header, and 2 bytes.
std::uint8_t dscp_of(std::span<const std::byte> frame) {
  const std::uint16_t type = wire::load16(frame, EthernetHeader::kEtherType),
                      first = wire::load16(frame, EthernetHeader::kSize);
  if (type == kEtherTypeIpv4) return static_cast<std::uint8_t>(first >> 2 & 0x3f);
  return type == kEtherTypeIpv6 ? static_cast<std::uint8_t>(first >> 6 & 0x3f) : std::uint8_t{0};
}

constexpr MacAddress kMacControl = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};  // IEEE 802.3 annex 31B

bool is_mac_control(std::span<const std::byte> frame) {
  return frame.size() >= EthernetHeader::kSize && wire::load16(frame, 12) == PfcFrame::kEtherType;
}
bool is_for(const MacAddress& mac, std::span<const std::byte> frame) {
  const MacAddress to = wire::load_array<6>(frame, 0);
  return to == mac || to == kMacControl;
}

}  // namespace

bool DirectProcess::progress(Sees sees) { return progress(sees, tick()); }

bool DirectProcess::progress(Sees sees, Time now) {
  if (leaving_) return false;
  if (posts_in_run_ > 0) last_run_ = std::exchange(posts_in_run_, 0);
  if (blocked()) flush();
  const bool came = receive(now) | std::exchange(took_frames_, false);
  const bool due = port_.next_input() <= now;
  if (due) port_.run_inputs(now);  // no packet outlives the instant of its arrival
  if (resident_.next_timeout && resident_.next_timeout() <= now) {
    resident_.run(0, nic_, now);
    tell_waiters();
  }
  const bool completed = note_completions(now);
  const bool leaves = port_.wants_port() != Time::never();
  const bool some_wait = acks_wait_since_ns_ != 0 || posts_waiting_ > 0;
  if (some_wait && !leaves) none_waits();  // what did has gone with its queue pair
  const bool run_goes_on =
      posts_waiting_ > 0 && posts_waiting_ < kMostWaiting && !older(posts_wait_since_ns_, kRunPatience, now);
  const bool acks = leaves && !port_.wants_to_send_data();
  if (acks && came && sees == Sees::kMemory) answer_law_.came(now);
  const bool answer_follows =
      (sees != Sees::kNothing && completed) ||
      (sees == Sees::kMemory && answer_law_.expects() && (came || acks_wait_since_ns_ != 0));
  if (acks && answer_follows) {
    if (acks_wait_since_ns_ == 0) acks_wait_since_ns_ = now.ps() / 1'000;
  } else if (leaves && !(sees != Sees::kNothing && run_goes_on)) {
    depart(now);
  }
  publish_counters();
  return came || due || (leaves && !blocked());
}

// What has come goes before what may leave: acknowledgements that wait while more is sent become timeouts.
bool DirectProcess::receive(Time now) {
  sent_since_receive_ = 0;
  last_receive_ = now;
  bool any = false;
  for (direct::FramePort* port : ports_) any |= receive(*port, now);
  return any;
}

bool DirectProcess::receive(direct::FramePort& port, Time now) {
  bool any = false;
  for (int i = 0; i < kReceiveBatches; ++i) {
    const std::span<const direct::FramePort::Arrival> arrivals = port.receive();
    const bool full = arrivals.size() == direct::FramePort::kReceiveBatch;
    const bool watches = &port == wire_.get() && (full || pausing_);
    if (watches) {
      note_senders(arrivals);
      regulate();
    }
    for (std::size_t n = 0; n < arrivals.size(); ++n) {
      take(arrivals[n], now);
      if (watches && (n % kFramesUnwatched == 0 || arrivals[n].segment != 0)) regulate();
      if (taken_since_departure_ >= kMostTaken) answer_meanwhile(now);
    }
    if (!arrivals.empty()) {
      any = true;
      port_.run_inputs(now);  // no packet outlives the instant of its arrival
    }
    port.release();
    if (!full) break;
  }
  return any;
}

// Who is slow to take what waits would acknowledge it late for that, and its peers send it again.
void DirectProcess::answer_meanwhile(Time now) {
  port_.run_inputs(now);
  if (!blocked() && port_.wants_port() != Time::never()) depart(now);
  taken_since_departure_ = 0;
}

void DirectProcess::take(const direct::FramePort::Arrival& arrival, Time now) {
  if (arrival.segment == 0) return take_frame(arrival.bytes, arrival.shared, now);
  direct::cut_train(arrival.bytes, arrival.segment, [&](std::span<std::byte> frame) {
    take_frame(frame, {}, now);
    port_.run_inputs(now);  // before the next frame's headers take its place
  });
}

// A wire without switches has no back-pressure but a receiver's own: one that does not keep up pauses those
// that have sent to it (802.1Qbb), in the classes of what they sent, each by a frame to its own address, so
// that bridges pass it on. It looks again while it works through a batch, which may take longer than a pause
// holds.
void DirectProcess::regulate() {
  const Time now = clock();
  if (now - last_regulation_ < kPauseAgain) return;
  last_regulation_ = now;
  if (wire_->fuller_than(pausing_ ? kResumeBelow : kPauseAbove)) {
    pausing_ = true;
    pause_senders(0xffff);
  } else if (std::exchange(pausing_, false)) {
    pause_senders(0);
  }
}

void DirectProcess::note_senders(std::span<const direct::FramePort::Arrival> arrivals) {
  if (!pausing_) senders_.clear();
  for (const auto& arrival : arrivals) {
    if (arrival.bytes.size() < EthernetHeader::kSize + 2 || is_mac_control(arrival.bytes)) continue;
    const MacAddress mac = wire::load_array<6>(arrival.bytes, 6);
    const auto found = std::ranges::find(senders_, mac, &Paused::mac);
    if (found == senders_.end() && senders_.size() == kMostSenders) continue;
    Paused& sender = found == senders_.end() ? senders_.emplace_back(Paused{mac}) : *found;
    sender.classes |= static_cast<std::uint8_t>(1u << host_.nic.class_map.of(dscp_of(arrival.bytes)).value);
  }
}

void DirectProcess::pause_senders(std::uint16_t quanta) {
  PfcFrame pfc;
  for (const Paused& sender : senders_) {
    if (blocked()) break;  // a pause that is not ended ends by itself
    const std::span<std::byte> slot = wire_->place({}, PfcFrame::kSize, direct::FramePort::Kind::kData).bytes;
    pfc.class_enable = sender.classes;
    for (std::size_t tc = 0; tc < kTrafficClasses; ++tc)
      pfc.time[tc] = (sender.classes >> tc & 1) != 0 ? quanta : std::uint16_t{0};
    pfc.write(slot.first<PfcFrame::kSize>(), host_.mac);
    std::copy(sender.mac.begin(), sender.mac.end(), reinterpret_cast<std::uint8_t*>(slot.data()));
    wire_->fill();
  }
  flush();
}

void DirectProcess::take_frame(std::span<std::byte> frame, std::span<const std::byte> shared, Time now) {
  ++taken_since_departure_;
  if (is_mac_control(frame)) {
    if (!is_for(host_.mac, frame)) return;
    if (PacketRef pause = edge_.parse(frame, kind_of<PfcFrame>, now)) port_.deliver(std::move(pause), now);
    return;
  }
  const auto sender = ipv4_sender(frame);  // before the frame's headers become a GRH
  PacketRef packet =
      shared.empty() ? edge_.parse(frame, PacketKind::kData, now) : edge_.parse_shared(frame, shared, now);
  if (!packet) return;
  // Who has sent a connection manager's message gets the answer where it came from.
  if (sender && packet->roce.dest == kGsiQpn) peers_.hear(sender->gid, sender->mac);
  port_.deliver(std::move(packet), now);
}

void DirectProcess::depart(Time now) {
  for (int i = 0; i < kDepartBatch && !blocked() && port_.wants_port() != Time::never(); ++i) {
    port_.set_port_free(now);  // the interface has a rate of its own
    port_.depart_at(now, [this](PacketRef packet, Time, Time) { send(std::move(packet)); });
  }
  flush();
  none_waits();
  taken_since_departure_ = 0;
  last_departure_ = wire_ ? clock() : now;  // a call of the kernel takes a while
}

void DirectProcess::none_waits() {
  acks_wait_since_ns_ = posts_wait_since_ns_ = 0;
  posts_waiting_ = 0;
}

// Of what a call of the program has set going: whether more is to be expected at once, that it may leave
// together with. Acknowledgements wait for the program's answer to what it has just received; posts wait for
// the end of the run of posts, which a poll is: those right behind one that has left, and all where the last
// run was of several. What a program makes of that is bounded: for posts by a timer, for acknowledgements by
// the helper's next look (next_look()).
bool DirectProcess::may_wait(bool posted) {
  if (acks_wait_since_ns_ != 0 && !port_.wants_to_send_data()) return true;
  if (!wire_) return false;  // to leave together saves calls of the kernel
  if (!posted) return posts_waiting_ > 0;
  ++posts_in_run_;
  const bool goes_on =
      posts_in_run_ == 1 ? last_run_ > 1 : last_ - std::max(last_departure_, last_post_) < kRunOfPosts;
  if (!goes_on || posts_waiting_ >= kMostWaiting) return false;
  if (posts_waiting_++ == 0) {
    posts_wait_since_ns_ = last_.ps() / 1'000;
    // To set a timer takes microseconds in a virtual machine: one that expires soon does for those that come
    // by then.
    if (post_timer_expires_ - last_ < kLongestWait / 4) {
      post_timer_expires_ = last_ + kLongestWait;
      set_timer(post_timer_, kLongestWait);
    }
  }
  return true;
}

// What goes to a group goes both ways: a host's own members have their copies, too.
void DirectProcess::send(PacketRef packet) {
  const PathAddress* path = nic_.path_of(*packet);
  RL_CHECK(path != nullptr);
  ++sent_since_receive_;
  const bool to_group = packet->roce.dest == kMulticastQpn, here = path->dst_mac == host_.mac || !wire_;
  if (here || to_group) send(*packet, rings_, *path);
  if (!here) send(*packet, *wire_, *path);
}

void DirectProcess::send(const Packet& packet, direct::FramePort& port, const PathAddress& path) {
  const direct::FramePort::Slot slot = port.place({&path, packet.roce.dest.value}, packet.frame_length,
                                                  direct::kind_of(opcode_info(packet.roce.opcode)));
  if (edge_.write(nic_, packet, slot.bytes, slot.ip_id, port.icrc())) port.fill();
}

void DirectProcess::flush() {
  for (direct::FramePort* port : ports_) port->flush();
}

bool DirectProcess::note_completions(Time now) {
  if (nic_.completions() == completions_seen_) return false;
  completions_seen_ = nic_.completions();
  if (resident_.run) resident_.run(0, nic_, now);
  if (completion_hook_) completion_hook_(0, nic_);
  tell_waiters();
  return true;
}

Time DirectProcess::next_event() const { return std::min(next_due(), port_.wants_port()); }

Time DirectProcess::next_due() const {
  const Time own = port_.next_input();
  return resident_.next_timeout ? std::min(own, resident_.next_timeout()) : own;
}

}  // namespace rocelab
