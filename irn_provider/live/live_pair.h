// LivePairTest: two real processes in lock step over a segment, and between them the least that a switch can
// be: every frame goes out of the other host's port one serialisation and one link delay later, where hosts
// have several NICs of the one of the same number. No namespaces, no OVS: what is tested with it is the
// clock, the edge to the segment, and threads in experiment time.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include "base/wire/frame.h"
#include "emu/world/test_worlds.h"
#include "irn_provider/live/join_run.h"
#include "irn_provider/live/live_process.h"
#include "lockstep/coordinator.h"
#include "lockstep/futex.h"

namespace rocelab::live_test {

using lockstep::Coordinator;
using lockstep::FrameDescriptor;
using lockstep::Segment;
using lockstep::SegmentPlan;

inline constexpr Rate kRate = 40_Gbps;
inline constexpr Duration kDelay = 2_us;

// The two children tell each other this outside of experiment time.
struct Shared {
  std::atomic<std::uint64_t> addr[2];
  std::atomic<std::uint32_t> rkey[2], ready[2];
  std::atomic<std::int64_t> start_ps, end_ps, slept_ps;
};

inline Gid gid_of(std::uint32_t host) { return ipv4_mapped({10, 0, 0, static_cast<std::uint8_t>(host + 1)}); }

class LivePairTest : public ::testing::Test {
 protected:
  LivePairTest()
      : path_(std::filesystem::temp_directory_path() / ("rocelab-live-pair-" + std::to_string(getpid()))) {
    shared_ = static_cast<Shared*>(
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  }
  ~LivePairTest() override {
    std::filesystem::remove(path_);
    munmap(shared_, sizeof(Shared));
  }

  void make_segment(TransportMode mode, std::uint32_t vfs_per_host = 1, std::uint32_t processes = 2) {
    NicConfig nic;
    nic.mode = mode;
    make_segment(nic, vfs_per_host, processes);
  }
  void make_segment(NicConfig nic, std::uint32_t vfs_per_host, std::uint32_t processes,
                    std::uint8_t nics = 1) {
    last_due_ = {};
    sent_.clear();
    std::filesystem::remove(path_);
    new (shared_) Shared();
    SegmentPlan plan;
    plan.run_id = "pair";
    nic.link_rate = kRate;
    nic.link_delay = kDelay;
    plan.world = star(2 * nics, nic);
    for (std::uint8_t entry = 0; entry < 2 * nics && nics > 1; ++entry) {
      HostEntry& host = plan.world.hosts[entry];
      host.nics = nics;
      host.nic_number = entry % nics;
      std::snprintf(host.name, sizeof host.name, "h%d.%d", entry / nics + 1, entry % nics);
    }
    plan.vfs_per_host = vfs_per_host;
    plan.frames_per_vf = 4096;
    plan.expected_participants = processes;
    segment_ = std::make_unique<Segment>(Segment::create(path_, plan));
  }

  // Where a test says at which instant its programs act: on a busy machine the exchange of their addresses
  // may outlast the usual grace, after which time would begin without them.
  void make_patient_segment(TransportMode mode) {
    make_segment(mode);
    segment_->header().grace_wall_ns = 10'000'000'000;
  }

  pid_t start(std::uint32_t host, const std::function<void(LiveProcess&, std::uint32_t)>& body) {
    const pid_t child = fork();
    if (child != 0) return child;
    LiveProcess* process =
        LiveProcess::attach([&] { return join_run(path_.c_str(), host == 0 ? "h1" : "h2"); });
    if (process == nullptr) _exit(2);
    body(*process, host);
    exit(::testing::Test::HasFailure() ? 1 : 0);
  }

  // Runs windows until all children have ended; returns their exit statuses. Frames go to the other host, to
  // the VF that owns the QPN.
  std::vector<int> run(const std::vector<pid_t>& children) {
    Coordinator coordinator(*segment_);
    const std::uint32_t per_host = segment_->header().vfs_per_host;
    std::vector<lockstep::FrameRing> tx, rx;
    std::vector<lockstep::IndexRing> returns, refill;
    const auto hosts = static_cast<std::uint32_t>(segment_->hosts().size());
    for (std::uint32_t vf = 0; vf < hosts * per_host; ++vf) {
      tx.push_back(segment_->tx(vf));
      rx.push_back(segment_->rx(vf));
      returns.push_back(segment_->returns(vf));
      refill.push_back(segment_->refill(vf));
    }
    std::size_t ended = 0;
    while (ended < children.size() * segment_->hosts()[0].nics) {
      ended += coordinator.take_ended().size();
      if (!coordinator.wait_ready(1'000'000)) continue;
      for (std::uint32_t host = 0; host < hosts; ++host) forward(host, tx, rx, coordinator);
      for (auto& ring : returns) {
        for (const std::uint32_t* f = ring.front(); f != nullptr; f = ring.front()) {
          EXPECT_TRUE(refill[segment_->owner_of(*f)].push(*f));
          ring.pop();
        }
      }
      if (coordinator.next_step(Time::never()).turn == lockstep::Turn::kNobody)
        coordinator.wait_idle(1'000'000);
    }
    std::vector<int> status(children.size());
    for (std::size_t i = 0; i < children.size(); ++i) waitpid(children[i], &status[i], 0);
    return status;
  }

  void forward(std::uint32_t host, std::vector<lockstep::FrameRing>& tx, std::vector<lockstep::FrameRing>& rx,
               Coordinator& coordinator) {
    const std::uint32_t per_host = segment_->header().vfs_per_host;
    std::vector<FrameDescriptor> frames;
    for (std::uint32_t vf = host * per_host; vf < (host + 1) * per_host; ++vf) {
      for (; tx[vf].front() != nullptr; tx[vf].pop()) frames.push_back(*tx[vf].front());
    }
    std::sort(frames.begin(), frames.end(), [](const auto& a, const auto& b) { return a.due_ps < b.due_ps; });
    for (FrameDescriptor d : frames) {
      const Duration serialisation = wire_time(Bytes::from_count(d.length), kRate);
      EXPECT_GE(Time::from_ps(d.due_ps), last_due_[host] + serialisation) << "two frames on the link at once";
      last_due_[host] = Time::from_ps(d.due_ps);
      const auto parsed = parse_frame(segment_->frame(d.frame).first(d.length));
      ASSERT_TRUE(parsed.has_value());
      sent_.push_back({segment_->owner_of(d.frame), last_due_[host], parsed->address.dscp, parsed->roce.psn});
      const auto hosts = static_cast<std::uint32_t>(segment_->hosts().size());
      const std::uint32_t other = (host + hosts / 2) % hosts;
      const std::uint32_t to = other * per_host + vf_of_qpn(parsed->roce.dest.value);
      d.due_ps += (serialisation + kDelay).ps();
      EXPECT_TRUE(rx[to].push(d));
      coordinator.note_input(to, Time::from_ps(d.due_ps));
    }
  }

  struct Sent {
    std::uint32_t vf = 0;  // slot
    Time due;              // at the switch
    std::uint8_t dscp = 0;
    Psn psn;
  };
  std::array<Time, 2 * kMaxNicsPerHost> last_due_{};  // of each host's link to the switch
  std::vector<Sent> sent_;  // of both, each's in the order in which they reached the switch
  std::filesystem::path path_;
  std::unique_ptr<Segment> segment_;
  Shared* shared_;
};

// A connected RC queue pair to the other host; QPNs are the first of their VF on both sides.
struct Endpoint {
  Endpoint(LiveProcess& p, std::uint32_t host, std::vector<std::byte>& buffer, Shared& shared) : process(p) {
    p.with_nic([&](Nic& nic, Time now) {
      const Pdn pd = nic.alloc_pd();
      const auto addr = reinterpret_cast<std::uint64_t>(buffer.data());
      key = *nic.reg_mr(pd, addr, buffer.size(), addr,
                        kAccessLocalWrite | kAccessRemoteWrite | kAccessRemoteRead);
      cq = *nic.create_cq(64);
      qpn = *nic.create_qp(
          {.pd = pd,
           .send_cq = cq,
           .recv_cq = cq,
           .caps = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1}});
      QpAttr attr;
      attr.dest_qpn = Qpn{first_qpn_of(0)};
      attr.access_flags = kAccessLocalWrite | kAccessRemoteWrite | kAccessRemoteRead;
      attr.path.dst_mac = {2, 0, 0, 0, 0, static_cast<std::uint8_t>(2 - host)};
      attr.path.src_gid = gid_of(host);
      attr.path.dst_gid = gid_of(1 - host);
      attr.sq_psn = attr.rq_psn = 0xfffff0;
      for (const QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
        attr.state = state;
        EXPECT_TRUE(nic.modify_qp(qpn, attr, now));
      }
      EXPECT_EQ(qpn.value, first_qpn_of(0));
      shared.addr[host] = addr;
      shared.rkey[host] = key.value;
    });
    shared.ready[host] = 1;
    lockstep::futex_wake_all(shared.ready[host]);
    while (shared.ready[1 - host] == 0) lockstep::futex_wait(shared.ready[1 - host], 0, 1'000'000'000);
  }

  Cqe wait() {
    for (;;) {
      std::optional<Cqe> cqe;
      process.with_nic([&](Nic& nic, Time) { cqe = nic.poll_cq(cq); });
      if (cqe) return *cqe;
      process.park_poll();
    }
  }

  LiveProcess& process;
  RKey key;
  Cqn cq;
  Qpn qpn;
};

inline std::vector<std::byte> pattern(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 131 >> 3);
  return bytes;
}

}  // namespace rocelab::live_test
