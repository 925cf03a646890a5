// FakeVf: the process of one virtual function as tests and benchmarks play it: it sends what it was told when
// its port is free, and keeps a log of what it receives. TestPlan: small topologies for them.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/wire/controls.h"
#include "base/wire/etf.h"
#include "base/wire/frame.h"
#include "base/wire/rocc_cnp.h"
#include "base/wire/shim_parts.h"
#include "emu/world/host_identity.h"
#include "emu/world/test_worlds.h"
#include "lockstep/segment.h"

namespace rocelab {

constexpr Time at(Duration d) { return Time::zero() + d; }

class FakeVf {
 public:
  struct Received {
    Time due;
    PacketKind kind;
    std::uint32_t psn;
    Ecn ecn;
    bool intact;
    std::optional<PfcFrame> pfc;
    std::optional<RoccCnp> cnp;
    std::optional<EscapeTokenFrame> token;
    Telemetry telemetry{};         // taken out of the frame, as a NIC does it
    std::uint32_t length = 0;      // of the frame as it came
    std::optional<Slack> slack{};  // as telemetry
    std::optional<HopTimes> hop_times{};
    std::optional<RcpHeader> rcp{};
  };

  FakeVf(lockstep::Segment& segment, std::uint32_t vf)
      : segment_(segment),
        vf_(vf),
        tx_(segment.tx(vf)),
        rx_(segment.rx(vf)),
        returns_(segment.returns(vf)),
        refill_(segment.refill(vf)) {
    for (std::uint32_t i = 0; i < segment.header().frames_per_vf; ++i)
      free_.push_back(segment.first_frame(vf) + i);
    slot().pid.store(static_cast<std::uint32_t>(getpid()));
    slot().state.store(lockstep::VfState::kClaimed);
    publish();
  }
  lockstep::VfSlot& slot() { return segment_.vfs()[vf_]; }
  const HostEntry& host() { return segment_.hosts()[slot().host]; }

  // A write of `payload` bytes to the QPN of another host, ready to leave at `when`.
  void send(Time when, const HostEntry& to, std::uint32_t payload = 1000, std::uint32_t qpn = kFirstQpn) {
    queue_.push_back({when, &to, payload, qpn, next_psn_++});
    publish();
  }
  // A descriptor as a program that has gone wrong could write it.
  void send_raw(const lockstep::FrameDescriptor& descriptor) { tx_.push(descriptor); }
  std::uint32_t take_frame() {
    collect_refills();
    const std::uint32_t frame = free_.back();
    free_.pop_back();
    return frame;
  }

  // Runs a granted window.
  void run() {
    if (slot().done_seq.load() == slot().grant_seq.load()) return;
    const Time end = Time::from_ps(slot().grant_ps.load());
    receive(end);
    while (!queue_.empty() && start_of(queue_.front()) < end) transmit();
    publish();
    slot().done_seq.store(slot().grant_seq.load());
    segment_.header().pending.fetch_sub(1);
  }
  std::size_t frames_at_home() {
    collect_refills();
    return free_.size();
  }
  const std::vector<Received>& received() const { return received_; }
  std::vector<Received> data() const {
    std::vector<Received> only;
    for (const Received& r : received_)
      if (!is_from_switches(r.kind)) only.push_back(r);
    return only;
  }
  std::vector<RoccCnp> cnps() const {
    std::vector<RoccCnp> only;
    for (const Received& r : received_)
      if (r.kind == kind_of<RoccFeedback> && r.cnp) only.push_back(*r.cnp);
    return only;
  }
  std::uint64_t data_received() const { return data_received_; }
  bool keep = false;            // frames are not given back
  bool link_local = false;      // sends over IPv6, from GID 0 to GID 0
  std::vector<std::byte> shim;  // that its frames have

 private:
  struct Work {
    Time when;
    const HostEntry* to;
    std::uint32_t payload, qpn, psn;
  };
  Time start_of(const Work& w) const { return std::max(w.when, port_free_); }

  void publish() {
    Time next = queue_.empty() ? Time::never() : start_of(queue_.front());
    if (const lockstep::FrameDescriptor* head = rx_.front(); head != nullptr)  // due after the window
      next = std::min(next, Time::from_ps(head->due_ps));
    slot().promise_ps.store(next.ps());
  }

  void collect_refills() {
    for (const std::uint32_t* f = refill_.front(); f != nullptr; f = refill_.front()) {
      free_.push_back(*f);
      refill_.pop();
    }
  }

  void transmit() {
    const Work w = queue_.front();
    const Time start = start_of(w);
    queue_.pop_front();
    const std::uint32_t frame = take_frame();
    FrameAddress address;
    address.dst_mac = w.to->mac;
    address.src_mac = host().mac;
    address.src_gid = gid_of(host(), link_local ? 0 : 1);
    address.dst_gid = gid_of(*w.to, link_local ? 0 : 1);
    address.is_ipv4 = !link_local;
    address.dscp = host().nic.roce_dscp;
    address.ecn = Ecn::kEct0;
    RoceHeaders roce;
    roce.opcode = make_opcode(TransportClass::kRc, Operation::kSendOnly);
    roce.dest = Qpn{w.qpn};
    roce.psn = Psn(w.psn);
    const std::vector<std::byte> payload(w.payload, std::byte{0x5a});
    std::size_t length = write_frame(address, roce, payload, segment_.frame(frame));
    if (!shim.empty()) length = insert_shim(segment_.frame(frame), length, shim).value_or(0);
    port_free_ =
        start + wire_time(Bytes::from_count(static_cast<std::int64_t>(length)), host().nic.link_rate);
    tx_.push({.due_ps = (port_free_ + host().nic.link_delay).ps(),
              .frame = frame,
              .length = static_cast<std::uint16_t>(length),
              .kind = static_cast<std::uint8_t>(PacketKind::kData)});
  }

  void receive(Time end) {
    for (const lockstep::FrameDescriptor* d = rx_.front(); d != nullptr && d->due_ps < end.ps();
         d = rx_.front()) {
      auto bytes = segment_.frame(d->frame).first(d->length);
      Telemetry telemetry;
      std::optional<Slack> slack;
      std::optional<HopTimes> hop_times;
      std::optional<RcpHeader> rcp;
      if (const auto shim_in = parts_in(bytes); shim_in && *shim_in != Shim() && shim_in->for_hosts()) {
        if (shim_in->part<HopTimesPart>()) hop_times = shim_in->part<HopTimesPart>()->times;
        if (shim_in->part<Int>()) telemetry = shim_in->part<Int>()->telemetry;
        if (shim_in->part<SlackPart>()) slack = shim_in->part<SlackPart>()->slack;
        if (shim_in->part<RcpRequest>()) rcp = shim_in->part<RcpRequest>()->header;
        bytes = bytes.first(remove_shim(bytes).value_or(bytes.size()));
      }
      const auto parsed = parse_frame(bytes);
      received_.push_back({Time::from_ps(d->due_ps), static_cast<PacketKind>(d->kind),
                           parsed ? parsed->roce.psn.value() : 0, parsed ? parsed->address.ecn : Ecn::kNotEct,
                           parsed.has_value(), PfcFrame::parse(bytes), RoccCnp::parse(bytes),
                           EscapeTokenFrame::parse(bytes), telemetry, d->length, slack, hop_times, rcp});
      if (!is_from_switches(static_cast<PacketKind>(d->kind))) ++data_received_;
      if (!keep) returns_.push(d->frame);
      rx_.pop();
    }
  }

  lockstep::Segment& segment_;
  std::uint32_t vf_;
  lockstep::FrameRing tx_, rx_;
  lockstep::IndexRing returns_, refill_;
  std::vector<std::uint32_t> free_;  // LIFO, as NICs do: the working set stays small
  std::deque<Work> queue_;
  Time port_free_;
  std::uint32_t next_psn_ = 1;
  std::vector<Received> received_;
  std::uint64_t data_received_ = 0;
};

class TestPlan {
 public:
  // `switches` in a line, `hosts_each` hosts on each. Hosts are numbered switch by switch; 40 Gb/s, 2 us.
  struct Shape {
    std::uint32_t switches = 1, hosts_each = 2, vfs = 1;
    std::uint32_t frames_per_vf = 1024;
  };

  static lockstep::SegmentPlan make(const Shape& shape) {
    WorldBuilder w;
    SwitchConfig config;
    config.max_frame = 1152_B;
    for (std::uint32_t s = 0; s < shape.switches; ++s) {
      w.add_switch(config);
      for (std::uint32_t h = 0; h < shape.hosts_each; ++h) w.link_host(w.add_host(), s);
    }
    for (std::uint32_t s = 0; s + 1 < shape.switches; ++s) w.link_switches(s, s + 1);
    lockstep::SegmentPlan plan;
    plan.world = w.make();
    plan.world.seed = 7;
    plan.run_id = "fabric-test";
    plan.vfs_per_host = shape.vfs;
    plan.frames_per_vf = shape.frames_per_vf;
    return plan;
  }
};

}  // namespace rocelab
