#include "irn_provider/live/live_nic.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/check.h"

namespace rocelab {

using lockstep::FrameDescriptor;

namespace {

std::string event_path(const lockstep::Segment& segment, const HostEntry& host, std::uint32_t vf) {
  const std::string folder = segment.header().trace_dir;
  if (folder.empty()) return {};
  return folder + "/" + host.name + "." + std::to_string(vf % segment.header().vfs_per_host) + ".events";
}

// What cannot happen in a run of this build ends the program with a line: the alternative would be a silent
// loss.
[[noreturn]] void give_up(const HostEntry& host, const char* why) {
  std::fprintf(stderr, "rocelab: %s: %s\n", host.name, why);
  _exit(1);
}

}  // namespace

LiveNic::LiveNic(const lockstep::Segment& segment, const Schedule* schedule, std::uint32_t host,
                 std::uint32_t vf)
    : segment_(segment),
      host_(segment.hosts()[host]),
      slot_(segment.vfs()[vf]),
      tx_(segment.tx(vf)),
      rx_(segment.rx(vf)),
      returns_(segment.returns(vf)),
      frames_(segment, vf),
      trace_(event_path(segment, host_, vf), Duration::from_ps(segment.header().sample_interval_ps)),
      nic_(host_.nic, Qpn{slot_.first_qpn},
           Rng(segment.header().seed).fork(host_.name).fork(std::to_string(slot_.vf)), pool_, memory_,
           trace_),
      port_(nic_, host_.nic.link_rate, host_.nic.link_delay),
      edge_(host_, pool_, trace_),
      earlier_(slot_.result.counters) {
  trace_.set_on_failure([this](const std::string& why) { give_up(host_, why.c_str()); });
  nic_.set_first_qpn(slot_.next_qp);
  if (schedule != nullptr) nic_.use_replay(replay_.emplace(*schedule));
  nic_.expect_link_changes(link_changes_at(segment.link_changes(), host_.port),
                           Time::from_ps(segment.header().committed_ps.load()));
  if (host_.nic.cc.needs().feedback)
    for (const HostEntry& each : segment.hosts()) edge_.know_node(each.ipv4, NodeId{each.node});
}

// Events before `t` are those of a process that time has gone on without: they come late, but nothing has
// left meanwhile. (All that could have left in a second would not go into the ring.)
void LiveNic::advance(Time t) {
  if (port_.next_event() < t) port_.set_port_free(std::max(port_.port_free(), t));
  while (port_.next_event() < t && run_until(t)) {
  }
  if (t > now()) port_.advance_to(t);
}

bool LiveNic::run_until(Time limit) {
  take_arrivals(limit, false);
  const StopReason why =
      port_.run_until(limit, [this](PacketRef p, Time, Time due) { send(std::move(p), due); });
  if (why == StopReason::kLimit && limit > now()) port_.advance_to(limit);
  return_consumed();
  return why == StopReason::kCompletion;
}

bool LiveNic::run_to_posts(Time t) {
  take_arrivals(t, true);
  const StopReason why =
      port_.run_to_posts(t, [this](PacketRef p, Time, Time due) { send(std::move(p), due); });
  return_consumed();
  return why == StopReason::kCompletion;
}

Time LiveNic::next_event() {
  const FrameDescriptor* head = rx_.front();
  return std::min(port_.next_event(), head != nullptr ? Time::from_ps(head->due_ps) : Time::never());
}

VfIntent LiveNic::intent() {
  const FrameDescriptor* head = rx_.front();
  return {std::min(port_.next_input(), head != nullptr ? Time::from_ps(head->due_ps) : Time::never()),
          port_.wants_port(), port_.sendable_classes(), port_.ready_classes()};
}

bool LiveNic::run_inputs(Time t) {
  take_arrivals(t, true);
  const StopReason why = port_.run_inputs(t);
  return_consumed();
  return why == StopReason::kCompletion;
}

bool LiveNic::depart(Time t, TcMask of, Bytes& sent) {
  const auto out = [&](PacketRef p, Time, Time due) {
    sent = p->frame();
    send(std::move(p), due);
  };
  const StopReason why = port_.depart_at(t, out, of);
  return why == StopReason::kCompletion;
}

void LiveNic::take_arrivals(Time limit, bool inclusive) {
  for (const FrameDescriptor* d = rx_.front(); d != nullptr; d = rx_.front()) {
    if (d->due_ps > limit.ps() || (!inclusive && d->due_ps == limit.ps())) break;
    const FrameDescriptor descriptor = *d;
    rx_.pop();
    const Time due = std::max(Time::from_ps(descriptor.due_ps),
                              now());  // a process that time has gone on without takes it late
    held_.emplace_back(due, descriptor.frame);
    if (PacketRef packet = parse(descriptor, due)) port_.deliver(std::move(packet), due);
  }
}

PacketRef LiveNic::parse(const FrameDescriptor& descriptor, Time when) {
  PacketRef packet = edge_.parse(segment_.frame(descriptor.frame).first(descriptor.length),
                                 static_cast<PacketKind>(descriptor.kind), when);
  if (!packet) return packet;
  packet->frame_slot = descriptor.frame;
  packet->retransmission = descriptor.retransmission != 0;
  return packet;
}

// Frames whose packets the state machines have seen go home; they keep no packet beyond the instant of its
// arrival.
void LiveNic::return_consumed() {
  while (!held_.empty() && held_.front().first <= now()) {
    if (!returns_.push(held_.front().second)) give_up(host_, "the ring of returned frames is full");
    held_.pop_front();
  }
}

std::uint32_t LiveNic::allocate_frame() {
  const auto frame = frames_.take();
  if (!frame) give_up(host_, "all its frames are in the network; raise engine.frames_per_vf");
  return *frame;
}

void LiveNic::send(PacketRef packet, Time due) {
  const std::uint32_t index = allocate_frame();
  const std::span<std::byte> bytes = segment_.frame(index);
  if (!edge_.write(nic_, *packet, bytes)) {
    frames_.put_back(index);
    return;
  }
  const FrameDescriptor descriptor{.due_ps = due.ps(),
                                   .frame = index,
                                   .length = static_cast<std::uint16_t>(packet->frame_length),
                                   .kind = static_cast<std::uint8_t>(packet->kind),
                                   .retransmission = packet->retransmission};
  if (!tx_.push(descriptor)) give_up(host_, "the ring to its switch is full");
}

void LiveNic::publish_counters() {
  slot_.result.counters = earlier_ + nic_.counters() + edge_.counters();
  slot_.next_qp = nic_.next_qp();
  if (replay_) slot_.result.replay = replay_->differences();
}

void LiveNic::finish() {
  const Digest digest = trace_.digest();
  std::memcpy(slot_.result.digest.data(), digest.data(), digest.size());
  slot_.result.records = trace_.records();
  trace_.flush();
}

}  // namespace rocelab
