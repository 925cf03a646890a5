// HostNode: one host in virtual time: its RNIC behind its port (irn_provider/nic), and the traffic program
// that uses it. It runs like a process in lock step (irn_provider/live/live_process.cc, run_alone): the
// program acts at the instant of a completion or of its own deadline, after the arrivals and timers of that
// instant and before its departures.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emu/des/flow_program.h"
#include "emu/des/virtual_link.h"
#include "irn_provider/nic/nic_port.h"

namespace rocelab::des {

class HostNode {
 public:
  HostNode(const RunPlan& plan, std::uint32_t host, const std::vector<app::Flow>& flows,
           std::span<const std::uint32_t> own, std::vector<FlowEndpoints>& endpoints, PacketPool& pool,
           Memory& memory, TraceSink& trace)
      : nic_(entry(plan, host).nic, Qpn{first_qpn_of(0)},
             Rng(plan.seed).fork(entry(plan, host).name).fork("0"), pool, memory, trace),
        port_(nic_, entry(plan, host).nic.link_rate, entry(plan, host).nic.link_delay),
        program_(plan, host, flows, own, endpoints, nic_) {
    nic_.expect_link_changes(link_changes_at(plan.world.link_changes, entry(plan, host).port), Time::zero());
  }

  FlowProgram& program() { return program_; }
  const FlowProgram& program() const { return program_; }
  const Nic& nic() const { return nic_; }
  void use_replay(ReplayPort& port) { nic_.use_replay(port); }
  Time next_event() const { return std::min(port_.next_event(), program_.deadline()); }
  Time last_event() const { return port_.now(); }

  // A frame whose last bit arrives at `due`, in the order of the link.
  void deliver(PacketRef&& packet, Time due) {
    if (!is_link_local(packet->kind) && (packet->frame_slot & kDamagedBit) != 0)
      packet->kind = PacketKind::kDamaged;
    port_.deliver(std::move(packet), due);
  }

  // Runs all events before `limit`; out(PacketRef, const PathAddress&, Time due) for each departure.
  template <class Out>
  void run_until(Time limit, Out&& out) {
    const auto send = [&](PacketRef&& packet, Time, Time due) {
      const PathAddress& path = *nic_.path_of(*packet);
      out(std::move(packet), path, due);
    };
    for (;;) {
      const Time deadline = program_.deadline();
      const bool own = deadline < limit;
      const StopReason why = own ? port_.run_to_posts(deadline, send) : port_.run_until(limit, send);
      const bool completed = why == StopReason::kCompletion && program_.wants_completions();
      if (completed || (own && port_.now() >= deadline)) {
        program_.wake(port_.now());
      } else if (why == StopReason::kLimit && !own) {
        return;
      }
    }
  }

 private:
  static const HostEntry& entry(const RunPlan& plan, std::uint32_t host) { return plan.world.hosts[host]; }

  Nic nic_;
  NicPort port_;
  FlowProgram program_;
};

}  // namespace rocelab::des
