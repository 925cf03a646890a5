// Programs of one host share its port as the queue pairs of one program do: by class, then in turn.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <vector>

#include "irn_provider/live/live_pair.h"

namespace rocelab::live_test {
namespace {

constexpr std::uint32_t kSize = 64 * 1024, kFrames = 64;  // of each flow
constexpr std::uint8_t kOfClass3 = 26, kOfClass4 = 34;    // DSCPs
constexpr Duration kFlowOnWire = wire_time(1024_B + 74_B, kRate) + wire_time(1024_B + 58_B, kRate) * 63;

using Flows = std::vector<std::uint8_t>;  // a DSCP each

class SharedPortPairTest : public LivePairTest {
 protected:
  static constexpr std::size_t kMostFlows = 2;
  // The programs tell each other this outside of experiment time.
  struct Peers {
    std::atomic<std::uint64_t> addr{0};
    std::atomic<std::uint32_t> rkey{0}, qpn[kMostFlows]{}, connected{0};
    std::atomic<std::int64_t> seen_ps[kMostFlows]{-1, -1};  // by program: its time when it has connected
  };
  SharedPortPairTest()
      : peers_(static_cast<Peers*>(
            mmap(nullptr, sizeof(Peers), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SharedPortPairTest() override { munmap(peers_, sizeof(Peers)); }

  // Programs on h1 with these flows to one program on h2, each a WRITE that is posted at start_. Of h1's
  // frames.
  std::vector<Sent> run_programs(const NicConfig& nic, const std::vector<Flows>& programs) {
    const auto sources = static_cast<std::uint32_t>(programs.size());
    make_segment(nic, 2, sources + 1);
    new (peers_) Peers();
    const auto flows_before = [&](std::uint32_t program) {
      return std::accumulate(programs.begin(), programs.begin() + program, std::size_t{0},
                             [](std::size_t sum, const Flows& flows) { return sum + flows.size(); });
    };
    const std::size_t flows = flows_before(sources);
    std::vector<pid_t> children;
    for (std::uint32_t i = 0; i < sources; ++i)
      children.push_back(start(0, [&](LiveProcess& p, std::uint32_t) {
        const std::uint32_t me = p.vf() % 2;
        source(p, me, sources, programs[me], flows_before(me));
      }));
    children.push_back(start(1, [&](LiveProcess& p, std::uint32_t) { sink(p, flows, sources); }));
    EXPECT_EQ(run(children), std::vector<int>(sources + 1, 0));
    start_ = start_of(sources);
    std::erase_if(sent_, [](const Sent& frame) { return frame.vf >= 2; });
    EXPECT_EQ(sent_.size(), flows * kFrames);
    // Back to back from the posts on.
    EXPECT_EQ(last_due_[0], start_ + kFlowOnWire * static_cast<std::int64_t>(flows) + kDelay);
    return sent_;
  }

  // The same frames at the same times after the start.
  static void expect_same(const std::vector<Sent>& a, Time start_a, const std::vector<Sent>& b,
                          Time start_b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].due - start_a, b[i].due - start_b) << "frame " << i;
      EXPECT_EQ(a[i].dscp, b[i].dscp) << "frame " << i;
      EXPECT_EQ(a[i].psn, b[i].psn) << "frame " << i;
    }
  }

  Time start_;

 private:
  // Waits in experiment time, however long the others take on this machine.
  template <class Condition>
  static void wait_until(LiveProcess& p, const Condition& condition) {
    while (!condition()) p.sleep_until(p.now() + 1_us);
  }
  // Programs are at most a window apart; the start lies beyond all of them.
  Time start_of(std::uint32_t sources) const {
    std::int64_t seen = 0;
    for (std::uint32_t i = 0; i < sources; ++i) seen = std::max(seen, peers_->seen_ps[i].load());
    return Time::from_ps(seen) + 100_us;
  }
  Time agree_on_start(LiveProcess& p, std::uint32_t sources) const {
    wait_until(p, [&] {
      return std::all_of(peers_->seen_ps, peers_->seen_ps + sources, [](const auto& t) { return t >= 0; });
    });
    return start_of(sources);
  }

  static Qpn make_qp(Nic& nic, Pdn pd, Cqn cq) {
    return *nic.create_qp(
        {.pd = pd,
         .send_cq = cq,
         .recv_cq = cq,
         .caps = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}});
  }
  static void connect(Nic& nic, Qpn qpn, std::uint32_t host, std::uint32_t remote, std::uint8_t dscp,
                      Time now) {
    QpAttr attr;
    attr.dest_qpn = Qpn{remote};
    attr.access_flags = kAccessLocalWrite | kAccessRemoteWrite;
    attr.path.src_gid = gid_of(host);
    attr.path.dst_gid = gid_of(1 - host);
    attr.path.traffic_class = static_cast<std::uint8_t>(dscp << 2);
    for (const QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
      attr.state = state;
      EXPECT_TRUE(nic.modify_qp(qpn, attr, now));
    }
  }

  void source(LiveProcess& p, std::uint32_t me, std::uint32_t sources, const Flows& flows,
              std::size_t first) const {
    std::vector<std::byte> buffer = pattern(kSize);
    const auto addr = reinterpret_cast<std::uint64_t>(buffer.data());
    RKey key;
    Cqn cq;
    std::vector<Qpn> qpns;
    p.with_nic([&](Nic& nic, Time) {
      const Pdn pd = nic.alloc_pd();
      key = *nic.reg_mr(pd, addr, kSize, addr, kAccessLocalWrite);
      cq = *nic.create_cq(16);
      for (std::size_t i = 0; i < flows.size(); ++i) {
        qpns.push_back(make_qp(nic, pd, cq));
        peers_->qpn[first + i] = qpns[i].value;
      }
    });
    wait_until(p, [&] { return peers_->connected != 0; });
    p.with_nic([&](Nic& nic, Time now) {
      for (std::size_t i = 0; i < flows.size(); ++i)
        connect(nic, qpns[i], 0, first_qpn_of(0) + static_cast<std::uint32_t>(first + i), flows[i], now);
      peers_->seen_ps[me] = now.ps();
    });
    const Time start = agree_on_start(p, sources);
    p.sleep_until(start);
    p.with_nic([&](Nic& nic, Time now) {
      EXPECT_EQ(now, start);
      for (std::size_t i = 0; i < flows.size(); ++i) {
        SendWqe wqe{.opcode = WrOpcode::kWrite,
                    .remote_addr = peers_->addr + (first + i) * kSize,
                    .rkey = RKey{peers_->rkey},
                    .num_sge = 1,
                    .sge = {}};
        wqe.sge[0] = {addr, kSize, key};
        EXPECT_EQ(nic.post_send(qpns[i], wqe, now), PostResult::kOk);
      }
    });
    for (std::size_t done = 0; done < flows.size(); ++done) {
      std::optional<Cqe> cqe;
      while (!cqe) {
        p.park_poll();
        p.with_nic([&](Nic& nic, Time) { cqe = nic.poll_cq(cq); });
      }
      EXPECT_EQ(cqe->status, WcStatus::kSuccess);
    }
  }

  void sink(LiveProcess& p, std::size_t flows, std::uint32_t sources) const {
    std::vector<std::byte> buffer(flows * kSize);
    std::vector<Qpn> qpns;
    p.with_nic([&](Nic& nic, Time) {
      const Pdn pd = nic.alloc_pd();
      peers_->addr = reinterpret_cast<std::uint64_t>(buffer.data());
      peers_->rkey =
          nic.reg_mr(pd, peers_->addr, buffer.size(), peers_->addr, kAccessLocalWrite | kAccessRemoteWrite)
              ->value;
      const Cqn cq = *nic.create_cq(16);
      for (std::size_t i = 0; i < flows; ++i) qpns.push_back(make_qp(nic, pd, cq));
    });
    wait_until(p, [&] {
      return std::all_of(peers_->qpn, peers_->qpn + flows, [](const auto& qpn) { return qpn > 0; });
    });
    p.with_nic([&](Nic& nic, Time now) {
      for (std::size_t i = 0; i < flows; ++i) connect(nic, qpns[i], 1, peers_->qpn[i], kOfClass3, now);
    });
    peers_->connected = 1;
    p.sleep_until(agree_on_start(p, sources) + 1_ms);
    for (std::size_t i = 0; i < flows; ++i)
      EXPECT_TRUE(std::ranges::equal(std::span(buffer).subspan(i * kSize, kSize), pattern(kSize))) << i;
  }

  Peers* peers_;
};

// Their frames alternate on the one link, which is never idle and never doubly used.
TEST_F(SharedPortPairTest, TwoProgramsOfOneHostShareItsPortFrameByFrame) {
  const auto sent = run_programs({}, {{kOfClass3}, {kOfClass3}});
  for (std::size_t i = 1; i < sent.size(); ++i) EXPECT_NE(sent[i].vf, sent[i - 1].vf) << "frame " << i;
}

TEST_F(SharedPortPairTest, TheProgramOfTheHigherClassGoesFirst) {
  const auto sent = run_programs({}, {{kOfClass3}, {kOfClass4}});
  ASSERT_EQ(sent.size(), 2 * kFrames);
  for (std::size_t i = 0; i < sent.size(); ++i)
    EXPECT_EQ(sent[i].dscp, i < kFrames ? kOfClass4 : kOfClass3) << "frame " << i;
  const Time start = start_;
  expect_same(sent, start, run_programs({}, {{kOfClass3, kOfClass4}}), start_);
}

TEST_F(SharedPortPairTest, ProgramsOfTwoClassesShareThePortByTheirWeights) {
  NicConfig nic;
  nic.active_mtu = 1024;  // turns of one packet or three
  nic.strict_classes = static_cast<std::uint8_t>(~0x18);
  nic.ets_weights[3] = 1, nic.ets_weights[4] = 3;
  const auto sent = run_programs(nic, {{kOfClass3}, {kOfClass4}});
  const auto of_class_4 = std::count_if(sent.begin(), sent.begin() + 80,
                                        [](const Sent& frame) { return frame.dscp == kOfClass4; });
  EXPECT_NEAR(static_cast<double>(of_class_4), 60, 2);
  const Time start = start_;
  expect_same(sent, start, run_programs(nic, {{kOfClass3, kOfClass4}}), start_);
}

}  // namespace
}  // namespace rocelab::live_test
