// Two real processes in lock step over a segment, and between them the least that a switch can be: every frame goes out of the other port one serialisation and
// one link delay later. No namespaces, no OVS: what is tested is the clock, the edge to the segment, and threads in experiment time.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/wire/frame.h"
#include "irn_provider/live/live_process.h"
#include "lockstep/coordinator.h"

namespace rocelab {
namespace {

using lockstep::Coordinator;
using lockstep::FrameDescriptor;
using lockstep::PortEntry;
using lockstep::Segment;
using lockstep::SegmentPlan;

constexpr Rate kRate = 40_Gbps;
constexpr Duration kDelay = 2_us;

// What the two children tell each other outside of experiment time.
struct Shared {
  std::atomic<std::uint64_t> addr[2];
  std::atomic<std::uint32_t> rkey[2], ready[2];
  std::atomic<std::int64_t> start_ps, end_ps, slept_ps;
};

Gid gid_of(std::uint32_t host) { return ipv4_mapped({10, 0, 0, static_cast<std::uint8_t>(host + 1)}); }

class LivePairTest : public ::testing::Test {
 protected:
  LivePairTest() : path_(std::filesystem::temp_directory_path() / ("rocelab-live-pair-" + std::to_string(getpid()))) {
    shared_ = static_cast<Shared*>(
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  }
  ~LivePairTest() override {
    std::filesystem::remove(path_);
    munmap(shared_, sizeof(Shared));
  }

  void make_segment(TransportMode mode) {
    std::filesystem::remove(path_);
    new (shared_) Shared();
    SegmentPlan plan;
    plan.run_id = "pair";
    plan.hosts.resize(2);
    plan.ports.resize(2);
    plan.switches.resize(1);
    plan.vfs_per_host = 1;
    plan.frames_per_vf = 4096;
    plan.expected_participants = 2;
    for (std::uint32_t i = 0; i < 2; ++i) {
      auto& h = plan.hosts[i];
      std::snprintf(h.name, sizeof h.name, "h%u", i + 1);
      h.ipv4 = 0x0a000001 + i;
      h.mac = {2, 0, 0, 0, 0, static_cast<std::uint8_t>(i + 1)};
      h.nic.mode = mode;
      h.nic.link_rate = kRate;
      h.nic.link_delay = kDelay;
      plan.ports[i].config.rate = kRate;
      plan.ports[i].config.delay = kDelay;
    }
    segment_ = std::make_unique<Segment>(Segment::create(path_, plan));
  }

  pid_t start(std::uint32_t host, const std::function<void(LiveProcess&, std::uint32_t)>& body) {
    const pid_t child = fork();
    if (child != 0) return child;
    setenv("ROCELAB_SEGMENT", path_.c_str(), 1);
    setenv("ROCELAB_HOST", host == 0 ? "h1" : "h2", 1);
    LiveProcess* process = LiveProcess::attach();
    if (process == nullptr) _exit(2);
    body(*process, host);
    exit(::testing::Test::HasFailure() ? 1 : 0);
  }

  // Runs windows until both children have ended; returns their exit statuses.
  std::array<int, 2> run(std::array<pid_t, 2> children) {
    Coordinator coordinator(*segment_);
    std::array<lockstep::FrameRing, 2> tx{segment_->tx(0), segment_->tx(1)}, rx{segment_->rx(0), segment_->rx(1)};
    std::array<lockstep::IndexRing, 2> returns{segment_->returns(0), segment_->returns(1)},
        refill{segment_->refill(0), segment_->refill(1)};
    std::size_t ended = 0;
    while (ended < 2) {
      ended += coordinator.take_ended().size();
      if (!coordinator.wait_ready(1'000'000)) continue;
      Time next = Time::never();
      for (std::uint32_t vf = 0; vf < 2; ++vf) {
        for (const FrameDescriptor* d = tx[vf].front(); d != nullptr; d = tx[vf].front()) {
          FrameDescriptor out = *d;
          tx[vf].pop();
          out.due_ps += (wire_time(Bytes::from_count(out.length), kRate) + kDelay).ps();
          EXPECT_TRUE(rx[1 - vf].push(out));
          coordinator.note_input(1 - vf, Time::from_ps(out.due_ps));
        }
        for (const std::uint32_t* f = returns[vf].front(); f != nullptr; f = returns[vf].front()) {
          EXPECT_TRUE(refill[segment_->owner_of(*f)].push(*f));
          returns[vf].pop();
        }
      }
      if (!coordinator.open_window(next)) coordinator.wait_idle(1'000'000);
    }
    std::array<int, 2> status{};
    for (int i = 0; i < 2; ++i) waitpid(children[static_cast<std::size_t>(i)], &status[static_cast<std::size_t>(i)], 0);
    return status;
  }

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
      key = *nic.reg_mr(pd, addr, buffer.size(), addr, kAccessLocalWrite | kAccessRemoteWrite | kAccessRemoteRead);
      cq = *nic.create_cq(64);
      qpn = *nic.create_qp({.pd = pd, .send_cq = cq, .recv_cq = cq, .caps = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1}});
      QpAttr attr;
      attr.dest_qpn = Qpn{lockstep::first_qpn_of(0)};
      attr.access_flags = kAccessLocalWrite | kAccessRemoteWrite | kAccessRemoteRead;
      attr.path.dst_mac = {2, 0, 0, 0, 0, static_cast<std::uint8_t>(2 - host)};
      attr.path.src_gid = gid_of(host);
      attr.path.dst_gid = gid_of(1 - host);
      attr.sq_psn = attr.rq_psn = 0xfffff0;
      for (const QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
        attr.state = state;
        EXPECT_TRUE(nic.modify_qp(qpn, attr, now));
      }
      EXPECT_EQ(qpn.value, lockstep::first_qpn_of(0));
      shared.addr[host] = addr;
      shared.rkey[host] = key.value;
    });
    shared.ready[host] = 1;
    while (shared.ready[1 - host] == 0) std::this_thread::yield();
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

std::vector<std::byte> pattern(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 131 >> 3);
  return bytes;
}

// One WRITE with immediate of `size` bytes from h1 to h2, posted at 10 us; notes when it was there.
void write_once(LiveProcess& p, std::uint32_t host, Shared& shared, std::uint32_t size) {
  std::vector<std::byte> buffer = host == 0 ? pattern(size) : std::vector<std::byte>(size);
  Endpoint end(p, host, buffer, shared);
  if (host == 1) {
    p.with_nic([&](Nic& nic, Time now) { EXPECT_EQ(nic.post_recv(end.qpn, RecvWqe{.wr_id = 7, .sge = {}}, now), PostResult::kOk); });
    const Cqe cqe = end.wait();
    EXPECT_EQ(cqe.status, WcStatus::kSuccess);
    EXPECT_EQ(cqe.wr_id, 7u);
    EXPECT_EQ(p.now(), cqe.time);
    shared.end_ps = cqe.time.ps();
    EXPECT_EQ(buffer, pattern(size));
    p.sleep_until(p.now() + 1_ms);  // stays to answer
    return;
  }
  p.sleep_until(Time::zero() + 10_us);
  p.with_nic([&](Nic& nic, Time now) {
    shared.start_ps = now.ps();
    SendWqe wqe{.wr_id = 1, .opcode = WrOpcode::kWriteImm, .imm = 5, .remote_addr = shared.addr[1], .rkey = RKey{shared.rkey[1]}, .num_sge = 1, .sge = {}};
    wqe.sge[0] = {reinterpret_cast<std::uint64_t>(buffer.data()), size, end.key};
    EXPECT_EQ(nic.post_send(end.qpn, wqe, now), PostResult::kOk);
  });
  EXPECT_EQ(end.wait().status, WcStatus::kSuccess);
}

class LiveWriteTest : public LivePairTest, public ::testing::WithParamInterface<TransportMode> {};

TEST_P(LiveWriteTest, LoneWriteArrivesWhenTheFormulaSays) {
  constexpr std::uint32_t kSize = 100 * 1024;
  make_segment(GetParam());
  const auto body = [this](LiveProcess& p, std::uint32_t host) { write_once(p, host, *shared_, kSize); };
  const pid_t h1 = start(0, body), h2 = start(1, body);
  EXPECT_EQ(run({h1, h2}), (std::array<int, 2>{0, 0}));
  EXPECT_EQ(shared_->start_ps, (10_us).ps());
  // Headers of a middle packet: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4; IRN adds a RETH to each. The last one carries the immediate (and in IRN recv_WQE_SN).
  const bool irn = GetParam() == TransportMode::kIrn;
  const Bytes middle = Bytes::from_count(1024 + 58 + (irn ? 16 : 0)), last = middle + Bytes::from_count(irn ? 8 : 4);
  const Bytes first = irn ? middle : middle + 16_B;
  const Duration serialise = wire_time(first, kRate) + wire_time(middle, kRate) * 98 + wire_time(last, kRate);
  const Duration second_hop = wire_time(last, kRate);
  EXPECT_EQ(Time::from_ps(shared_->end_ps), Time::zero() + 10_us + serialise + kDelay + second_hop + kDelay);
  EXPECT_EQ(segment_->header().detaches.load(), 0u);
}

TEST_P(LiveWriteTest, TwoRunsGiveTheSameDigests) {
  std::array<std::array<std::uint8_t, 32>, 2> digests[2];
  for (auto& run_digests : digests) {
    make_segment(GetParam());
    const auto body = [this](LiveProcess& p, std::uint32_t host) { write_once(p, host, *shared_, 20'000); };
    const pid_t h1 = start(0, body), h2 = start(1, body);
    ASSERT_EQ(run({h1, h2}), (std::array<int, 2>{0, 0}));
    for (std::size_t i = 0; i < 2; ++i) run_digests[i] = segment_->vfs()[i].digest;
    EXPECT_GT(segment_->vfs()[0].records, 0u);
  }
  EXPECT_EQ(digests[0], digests[1]);
  EXPECT_NE(digests[0][0], digests[0][1]);
}

INSTANTIATE_TEST_SUITE_P(Modes, LiveWriteTest, ::testing::Values(TransportMode::kRoce, TransportMode::kIrn),
                         [](const auto& mode) { return mode.param == TransportMode::kRoce ? "Roce" : "Irn"; });

TEST_F(LivePairTest, SleepsAreExactAndIdleTimeIsJumpedOver) {
  make_segment(TransportMode::kRoce);
  const auto body = [](LiveProcess& p, std::uint32_t host) {
    for (int i = 1; i <= 50; ++i) {
      const Time deadline = Time::zero() + (host == 0 ? 1_s : 333_ms) * i;
      p.sleep_until(deadline);
      ASSERT_EQ(p.now(), deadline);
    }
  };
  const pid_t h1 = start(0, body), h2 = start(1, body);
  EXPECT_EQ(run({h1, h2}), (std::array<int, 2>{0, 0}));
  EXPECT_GE(segment_->header().committed_ps.load(), (50_s).ps());
}

TEST_F(LivePairTest, ThreadsOfOneProcessWakeInTheirOrderAndEachAtItsTime) {
  make_segment(TransportMode::kRoce);
  const auto body = [](LiveProcess& p, std::uint32_t) {
    std::vector<std::pair<Time, int>> woken;
    std::mutex mutex;
    std::vector<std::thread> threads;
    std::atomic<int> attached{0};
    for (int id = 0; id < 3; ++id) {
      threads.emplace_back([&, id] {
        while (attached != id) std::this_thread::yield();
        p.now();  // the first call decides the order
        p.with_nic([](Nic&, Time) {});
        ++attached;
        while (attached < 3) std::this_thread::yield();
        for (int i = 1; i <= 20; ++i) {
          p.sleep_until(Time::zero() + 10_us * i);
          std::lock_guard lock(mutex);
          woken.emplace_back(p.now(), id);
        }
      });
    }
    for (auto& t : threads) t.join();
    ASSERT_EQ(woken.size(), 60u);
    for (std::size_t i = 0; i < 60; ++i) {
      EXPECT_EQ(woken[i].first, Time::zero() + 10_us * static_cast<std::int64_t>(i / 3 + 1));
      EXPECT_EQ(woken[i].second, static_cast<int>(i % 3));
    }
  };
  const pid_t h1 = start(0, body), h2 = start(1, body);
  EXPECT_EQ(run({h1, h2}), (std::array<int, 2>{0, 0}));
}

TEST_F(LivePairTest, BlockedSystemCallHoldsTimeForTheGraceOnly) {
  make_segment(TransportMode::kRoce);
  const auto body = [](LiveProcess& p, std::uint32_t host) {
    p.sleep_until(Time::zero() + 10_us);
    if (host == 0) {
      p.foreign_enter();
      usleep(1'000);  // shorter than the grace: no time passes
      p.foreign_leave();
      ASSERT_EQ(p.now(), Time::zero() + 10_us);
      p.foreign_enter();
      usleep(200'000);  // longer: the others go on
      p.foreign_leave();
      ASSERT_GE(p.now(), Time::zero() + 1_s);
    } else {
      p.sleep_until(Time::zero() + 1_s);
      usleep(300'000);  // computing, as far as the clock can tell: it waits
    }
  };
  const pid_t h1 = start(0, body), h2 = start(1, body);
  EXPECT_EQ(run({h1, h2}), (std::array<int, 2>{0, 0}));
  EXPECT_GE(segment_->header().detaches.load(), 1u);
}

TEST_F(LivePairTest, ProcessKilledInMidWindowBlocksNobody) {
  make_segment(TransportMode::kRoce);
  const auto body = [](LiveProcess& p, std::uint32_t host) {
    p.sleep_until(Time::zero() + 10_us);
    if (host == 0) raise(SIGKILL);
    p.sleep_until(Time::zero() + 1_s);
  };
  const pid_t h1 = start(0, body), h2 = start(1, body);
  const auto status = run({h1, h2});
  EXPECT_TRUE(WIFSIGNALED(status[0]));
  EXPECT_EQ(status[1], 0);
}

}  // namespace
}  // namespace rocelab
