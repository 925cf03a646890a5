// StarNet, for tests: Nics on the ports of one switch, links with delay, payload as lengths only. It advances
// in windows of the link delay: what is sent inside a window is due behind it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "base/wire/rocc_cnp.h"
#include "irn_provider/nic/nic.h"
#include "irn_provider/nic/nic_port.h"
#include "ovs_patches/switch_model/switch_node.h"

namespace rocelab {

class StarNet {
 public:
  struct Host {
    Host(const NicConfig& config, Qpn first_qpn, PacketPool& pool, Memory& memory, TraceSink& trace)
        : nic(config, first_qpn, Rng(1), pool, memory, trace),
          port(nic, config.link_rate, config.link_delay) {
      pd = nic.alloc_pd();
      cq = *nic.create_cq(1 << 16);
      key = *nic.reg_mr(pd, 0, kMemory, 0, kAccessLocalWrite | kAccessRemoteWrite | kAccessRemoteRead);
    }
    Nic nic;
    NicPort port;
    Pdn pd;
    Cqn cq;
    RKey key;
  };
  // A flow: one QP at its source, its peer at the sink, and what the source's CQ said of it.
  struct Flow {
    std::size_t src, dst;
    Qpn qp, peer;
    Time completed = Time::never();
  };

  StarNet(std::size_t hosts, const NicConfig& nic, const SwitchConfig& switches) : config_(nic) {
    for (std::size_t node = 0; node <= hosts; ++node) sinks_.push_back(std::make_unique<Sink>(*this, node));
    switch_ = make_switch(hosts, nic, switches, pool_, *sinks_[hosts]);
    for (std::size_t h = 0; h < hosts; ++h)
      hosts_.push_back(std::make_unique<Host>(nic, Qpn{static_cast<std::uint32_t>(0x1000 * (h + 1))}, pool_,
                                              memory_, *sinks_[h]));
  }
  // The switch in the middle, alone.
  static std::unique_ptr<SwitchNode> make_switch(std::size_t hosts, const NicConfig& nic,
                                                 SwitchConfig switches, PacketPool& pool, TraceSink& trace) {
    switches.max_frame = Bytes::from_count(nic.active_mtu + 200);  // HPCC's shim included
    std::vector<PortConfig> ports(hosts, PortConfig{nic.link_rate, nic.link_delay, PeerKind::kHost});
    for (std::size_t p = 0; p < ports.size(); ++p)
      ports[p].cp_address = kCpNetwork + static_cast<std::uint32_t>(p) + 1;
    return std::make_unique<SwitchNode>(switches, ports, Rng(7), pool, trace);
  }

  Host& host(std::size_t h) { return *hosts_[h]; }
  const NicCounters& counters(std::size_t h) const { return hosts_[h]->nic.counters(); }
  SwitchPortCounters port(std::size_t p) const {
    return switch_->model().counters(PortId{static_cast<std::uint16_t>(p)}, now_);
  }
  Bytes queue(std::size_t p) const {
    return switch_->model().queue_bytes(PortId{static_cast<std::uint16_t>(p)}, Tc{3});
  }
  Time now() const { return now_; }
  // IPv4, 0.0.0.n: of fewer than 255 hosts.
  static std::uint32_t address_of(std::size_t host) { return static_cast<std::uint32_t>(host) + 1; }

  // `traffic_class`: of both queue pairs; 0: the NIC's own.
  std::size_t connect(std::size_t src, std::size_t dst, std::uint8_t traffic_class = 0) {
    const Qpn a = create_qp(src), b = create_qp(dst);
    bring_up(src, a, dst, b, traffic_class);
    bring_up(dst, b, src, a, traffic_class);
    flows_.push_back({src, dst, a, b});
    return flows_.size() - 1;
  }
  const Flow& flow(std::size_t f) const { return flows_[f]; }

  void post(std::size_t flow, WrOpcode opcode, std::uint32_t length, bool fence = false) {
    Flow& f = flows_[flow];
    SendWqe wqe;
    wqe.fence = fence;
    wqe.wr_id = flow, wqe.opcode = opcode, wqe.num_sge = 1;
    wqe.sge[0] = {0, length, host(f.src).key};
    wqe.rkey = host(f.dst).key;
    host(f.src).port.advance_to(now_);
    ASSERT_EQ(host(f.src).nic.post_send(f.qp, wqe, now_), PostResult::kOk);
  }

  void run_until(Time end) {
    for (Time next = next_event(); next < end; next = next_event()) {
      const Time limit = std::min(end, next + config_.link_delay);
      for (std::size_t h = 0; h < hosts_.size(); ++h) run_host(h, limit);
      switch_->run_until(limit, [&](PortId p, PacketRef packet, Time, Time due) {
        const auto deliver = [&](PacketRef arriving) {
          if (on_delivery) on_delivery(p.value, *arriving, due);
          hosts_[p.value]->port.deliver(std::move(arriving), due);
        };
        if (on_feedback && is_feedback(packet->kind))
          on_feedback(std::move(packet), deliver);
        else
          deliver(std::move(packet));
      });
      now_ = limit;
    }
    now_ = std::max(now_, end);
  }
  // Until nothing can happen any more; fails the test when that takes longer than `patience`.
  void run(Duration patience = 10_s) {
    const Time end = now_ + patience;
    while (next_event() < end) run_until(next_event() + config_.link_delay);
    EXPECT_TRUE(next_event().is_never()) << "still busy after " << to_string(patience);
  }
  std::function<void(std::size_t port, const Packet&, Time due)> on_delivery;  // of each frame to a host
  std::function<void(std::size_t host, const Packet&, Time departure, Time due)> on_departure;  // from a host
  std::function<void(const TraceRecord&)> on_rtt;  // kRtt of any host's NIC
  std::function<void(std::size_t node, const TraceRecord&)>
      on_record;  // of hosts, and of the switch behind them
  // What becomes of a CNP on its last link: it, others, or none may be delivered in its place.
  std::function<void(PacketRef cnp, const std::function<void(PacketRef)>& deliver)> on_feedback;

 private:
  static constexpr std::uint64_t kMemory = std::uint64_t{1} << 32;

  Qpn create_qp(std::size_t h) {
    Host& at = host(h);
    QpInit init;
    init.pd = at.pd, init.send_cq = init.recv_cq = at.cq;
    init.caps = {1024, 1024, kMaxSge, kMaxSge, 256};
    return *at.nic.create_qp(init);
  }
  void bring_up(std::size_t h, Qpn qpn, std::size_t peer_host, Qpn peer, std::uint8_t traffic_class) {
    QpAttr attr;
    attr.path.traffic_class = traffic_class;
    attr.dest_qpn = peer;
    attr.path.dst_node = NodeId{static_cast<std::uint16_t>(peer_host)};
    attr.path.src_gid[10] = attr.path.src_gid[11] = attr.path.dst_gid[10] = attr.path.dst_gid[11] = 0xff;
    attr.path.src_gid[15] = static_cast<std::uint8_t>(address_of(h));
    attr.path.dst_gid[15] = static_cast<std::uint8_t>(address_of(peer_host));
    attr.access_flags = kAccessLocalWrite | kAccessRemoteWrite | kAccessRemoteRead;
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 16;
    attr.sq_psn = attr.rq_psn = 0xfffff0;
    attr.timeout = 17;
    for (QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
      attr.state = state;
      ASSERT_TRUE(host(h).nic.modify_qp(qpn, attr, now_));
    }
  }
  Time next_event() const {
    Time next = switch_->next_event();
    for (const auto& h : hosts_) next = std::min(next, h->port.next_event());
    return next;
  }
  void run_host(std::size_t h, Time limit) {
    Host& from = host(h);
    const auto out = [&](PacketRef packet, Time departure, Time due) {
      packet->src = NodeId{static_cast<std::uint16_t>(h)};
      if (on_departure) on_departure(h, *packet, departure, due);
      const PortId outs[] = {PortId{packet->dst.value}};
      switch_->deliver(PortId{static_cast<std::uint16_t>(h)}, outs, std::move(packet), due);
    };
    while (from.port.run_until(limit, out) == StopReason::kCompletion)
      while (const auto cqe = from.nic.poll_cq(from.cq)) {
        EXPECT_EQ(cqe->status, WcStatus::kSuccess);
        flows_[cqe->wr_id].completed = cqe->time;
      }
  }

  class Sink final : public TraceSink {
   public:
    Sink(const StarNet& net, std::size_t node)
        : TraceSink(bit(TraceKind::kCount) - 1), net_(net), node_(node) {}

   private:
    void on_record(const TraceRecord& r) override {
      if (net_.on_rtt && r.kind == TraceKind::kRtt) net_.on_rtt(r);
      if (net_.on_record) net_.on_record(node_, r);
    }
    const StarNet& net_;
    std::size_t node_;
  };

  NicConfig config_;
  PacketPool pool_;
  NullMemory memory_;
  std::vector<std::unique_ptr<Sink>> sinks_;  // of hosts, and of the switch
  std::unique_ptr<SwitchNode> switch_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<Flow> flows_;
  Time now_;
};

}  // namespace rocelab
