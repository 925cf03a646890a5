// TestWorld: a fabric between hosts that a test plays by hand and a forwarding table instead of Open vSwitch;
// one thread, no clock but the coordinator's.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/wire/etf.h"
#include "base/wire/frame.h"
#include "base/wire/shim_parts.h"
#include "lockstep/coordinator.h"
#include "lockstep/segment.h"
#include "ovs_patches/netdev/fabric.h"
#include "ovs_patches/netdev/test_hosts.h"

namespace rocelab {

class TestWorld {
 public:
  explicit TestWorld(const lockstep::SegmentPlan& plan)
      : path_(std::filesystem::temp_directory_path() / ("rocelab-fabric-test-" + std::to_string(getpid()))) {
    std::filesystem::remove(path_);
    segment = std::make_unique<lockstep::Segment>(lockstep::Segment::create(path_, plan));
    coordinator = std::make_unique<lockstep::Coordinator>(*segment);
    fabric = std::make_unique<Fabric>(*segment, *coordinator);
    for (std::uint32_t vf = 0; vf < segment->vfs().size(); ++vf)
      vfs.push_back(std::make_unique<FakeVf>(*segment, vf));
  }
  ~TestWorld() { std::filesystem::remove(path_); }

  FakeVf& vf(std::uint32_t host, std::uint32_t index = 0) {
    return *vfs[host * segment->header().vfs_per_host + index];
  }
  const HostEntry& host(std::uint32_t index) { return segment->hosts()[index]; }

  // One step. False: nothing to do.
  bool step() {
    EXPECT_TRUE(coordinator->wait_ready(0));
    fabric->collect();
    const auto [turn, end] = coordinator->next_step(fabric->next_event());
    if (turn == lockstep::Turn::kNobody) return false;
    if (turn == lockstep::Turn::kHosts) {
      for (auto& v : vfs) v->run();
      return true;
    }
    fabric->begin_pass(end);
    int tries = 0;
    do forward_all();
    while (!fabric->finish_pass(++tries == 20));
    return true;
  }
  void run() {
    while (step()) {
    }
    fabric->collect();
  }
  std::string digests() const {  // of all switches' traces, a line each
    std::string all;
    for (std::size_t i = 0; i < fabric->switches(); ++i) all += to_hex(fabric->trace(i).digest()) + "\n";
    return all;
  }
  // Frames that are not at home once nothing moves any more.
  std::uint32_t away() const {
    std::uint32_t sum = 0;
    for (std::uint32_t range = 0; range <= segment->vfs().size(); ++range) sum += fabric->bank().away(range);
    return sum;
  }
  SwitchPortCounters counters(std::uint32_t port) const { return fabric->counters(port); }

  std::unique_ptr<lockstep::Segment> segment;
  std::unique_ptr<lockstep::Coordinator> coordinator;
  std::unique_ptr<Fabric> fabric;
  std::vector<std::unique_ptr<FakeVf>> vfs;
  bool backwards = false;  // ports are polled from the last to the first
  std::vector<std::uint32_t>
      flood;  // ports of the first switch that every frame goes to, instead of the table
  bool table_empty = false;
  std::vector<std::vector<std::byte>> announcements;  // of Escape, as the pipeline gets them
  int swallow_every = 0;                              // every n-th frame handed out vanishes in the pipeline

 private:
  // Towards the destination's switch along the line, then its port.
  std::uint32_t route(std::uint32_t in, std::span<const std::byte> bytes) {
    const auto view = view_frame(bytes);
    const HostEntry* to = view ? segment->find_host_by_ipv4(view->dst_ipv4) : nullptr;
    if (view && view->dst_interface != 0)
      for (const HostEntry& host : segment->hosts())
        if (std::ranges::equal(std::as_bytes(std::span(host.mac)), bytes.first(host.mac.size()))) to = &host;
    if (to == nullptr) return kNoPeer;
    const std::uint32_t here = segment->ports()[in].switch_index,
                        there = segment->ports()[to->port].switch_index;
    if (here == there) return to->port;
    const SwitchEntry& entry = segment->switches()[here];
    for (std::uint32_t p = entry.first_port; p < entry.first_port + entry.ports; ++p) {
      const std::uint32_t peer = segment->ports()[p].peer_port;
      if (peer != kNoPeer && (segment->ports()[peer].switch_index > here) == (there > here)) return p;
    }
    return kNoPeer;
  }

  void forward_all() {
    const auto ports = static_cast<std::uint32_t>(segment->ports().size());
    for (std::uint32_t i = 0; i < ports; ++i) {
      const std::uint32_t port = backwards ? ports - 1 - i : i;
      Fabric::Handed frame;
      while (fabric->receive(port, frame)) {
        const auto bytes = frame.bytes.first(frame.length);
        if (const auto shim = parts_in(bytes); shim && shim->part<EscapeAnnouncement>())
          announcements.emplace_back(bytes.begin(), bytes.end());
        if (swallow_every > 0 && ++handed_ % swallow_every == 0) continue;
        if (!flood.empty()) {
          for (const std::uint32_t out : flood)
            if (out != port) fabric->on_forwarded(frame.slot, out, bytes);
        } else if (const std::uint32_t out = route(port, bytes); out != kNoPeer && !table_empty) {
          fabric->on_forwarded(frame.slot, out, bytes);
        }
      }
    }
  }

  std::filesystem::path path_;
  int handed_ = 0;
};

}  // namespace rocelab
