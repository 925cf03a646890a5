// Processes with two NICs: one clock, and an order of events at each instant that spans both.
#include <vector>

#include "irn_provider/live/live_pair.h"

namespace rocelab::live_test {
namespace {

constexpr std::uint32_t kSize = 1'000;
// RoCE's only packet of a WRITE with immediate: Ethernet 14, IPv4 20, UDP 8, BTH 12, RETH 16, immediate 4,
// ICRC 4.
constexpr Duration kOnWire = wire_time(Bytes::from_count(kSize + 78), kRate);
constexpr Duration kTransit = kOnWire * 2 + kDelay * 2;  // over both links

// A connected RC queue pair of one NIC to the NIC of the same number on the other host.
class Rail {
  template <class F>
  auto call(F&& f) {
    return process_.call(f, nic_);
  }

 public:
  Rail(LiveProcess& process, std::uint32_t host, std::size_t nic) : process_(process), nic_(nic) {
    const std::uint32_t me = 2 * host + static_cast<std::uint32_t>(nic), peer = (me + 2) % 4;
    call([&](Nic& n, Time now) {
      const Pdn pd = n.alloc_pd();
      addr_ = reinterpret_cast<std::uint64_t>(buffer_.data());
      key_ = *n.reg_mr(pd, addr_, kSize, addr_, kAccessLocalWrite | kAccessRemoteWrite);
      cq_ = *n.create_cq(16);
      qpn_ =
          *n.create_qp({.pd = pd,
                        .send_cq = cq_,
                        .recv_cq = cq_,
                        .caps = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}});
      EXPECT_EQ(qpn_.value, first_qpn_of(0)) << "each NIC numbers its own";
      QpAttr attr;
      attr.dest_qpn = Qpn{first_qpn_of(0)};
      attr.access_flags = kAccessLocalWrite | kAccessRemoteWrite;
      attr.path.src_gid = gid_of(me);
      attr.path.dst_gid = gid_of(peer);
      for (const QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
        attr.state = state;
        EXPECT_TRUE(n.modify_qp(qpn_, attr, now));
      }
      EXPECT_EQ(n.post_recv(qpn_, RecvWqe{.wr_id = 7, .sge = {}}, now), PostResult::kOk);
      return 0;
    });
  }

  std::uint64_t addr() const { return addr_; }
  std::uint32_t key() const { return key_.value; }
  void write(std::uint64_t to, std::uint32_t rkey) {
    call([&](Nic& n, Time now) {
      SendWqe wqe{.wr_id = 1,
                  .opcode = WrOpcode::kWriteImm,
                  .imm = 5,
                  .remote_addr = to,
                  .rkey = RKey{rkey},
                  .num_sge = 1,
                  .sge = {}};
      wqe.sge[0] = {addr_, kSize, key_};
      EXPECT_EQ(n.post_send(qpn_, wqe, now), PostResult::kOk);
      return 0;
    });
  }
  // The next message's completion, at whose instant the caller then is.
  Cqe wait_for_message() {
    for (;;) {
      const std::optional<Cqe> cqe = call([&](Nic& n, Time) { return n.poll_cq(cq_); });
      if (cqe && cqe->wr_id == 7) return *cqe;
      if (!cqe) process_.park_poll();
    }
  }

 private:
  LiveProcess& process_;
  const std::size_t nic_;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(kSize);
  std::uint64_t addr_ = 0;
  RKey key_;
  Cqn cq_;
  Qpn qpn_;
};

class LiveNicsPairTest : public LivePairTest {
 protected:
  // The programs tell each other this outside of experiment time.
  struct Peers {
    std::atomic<std::uint64_t> addr[4];
    std::atomic<std::uint32_t> rkey[4], ready[2];
    std::atomic<std::int64_t> heard_ps, answered_ps, quiet_ps;
  };
  LiveNicsPairTest()
      : peers_(static_cast<Peers*>(
            mmap(nullptr, sizeof(Peers), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    new (peers_) Peers();
    make_segment(NicConfig{}, 1, 2, 2);
    segment_->header().grace_wall_ns = 10'000'000'000;  // as make_patient_segment()
  }
  ~LiveNicsPairTest() override { munmap(peers_, sizeof(Peers)); }

  void meet(std::uint32_t host, const Rail& first, const Rail& second) {
    peers_->addr[2 * host] = first.addr(), peers_->rkey[2 * host] = first.key();
    peers_->addr[2 * host + 1] = second.addr(), peers_->rkey[2 * host + 1] = second.key();
    peers_->ready[host] = 1;
    lockstep::futex_wake_all(peers_->ready[host]);
    while (peers_->ready[1 - host] == 0) lockstep::futex_wait(peers_->ready[1 - host], 0, 1'000'000'000);
  }

  Peers* peers_;
};

// What comes to one NIC is answered by the other at that very instant.
TEST_F(LiveNicsPairTest, AMessageOnOneNicIsAnsweredOnTheOtherWithoutDelay) {
  const auto body = [this](LiveProcess& p, std::uint32_t host) {
    EXPECT_EQ(p.nics(), 2u);
    Rail first(p, host, 0), second(p, host, 1);
    meet(host, first, second);
    if (host == 0) {
      p.sleep_until(Time::zero() + 10_us);
      first.write(peers_->addr[2], peers_->rkey[2]);
      peers_->answered_ps = second.wait_for_message().time.ps();
      EXPECT_EQ(p.now().ps(), peers_->answered_ps);
      p.sleep_until(p.now() + 1_ms);  // stays to acknowledge
    } else {
      peers_->heard_ps = first.wait_for_message().time.ps();
      EXPECT_EQ(p.now().ps(), peers_->heard_ps);
      second.write(peers_->addr[1], peers_->rkey[1]);
      p.sleep_until(p.now() + 1_ms);  // likewise
    }
  };
  const pid_t h1 = start(0, body), h2 = start(1, body);
  EXPECT_EQ(run({h1, h2}), (std::vector<int>{0, 0}));
  EXPECT_EQ(Time::from_ps(peers_->heard_ps), Time::zero() + 10_us + kTransit);
  EXPECT_EQ(Time::from_ps(peers_->answered_ps), Time::zero() + 10_us + kTransit * 2);
  EXPECT_EQ(segment_->header().detaches.load(), 0u);
  for (std::uint32_t slot = 0; slot < 4; ++slot) EXPECT_GT(segment_->vfs()[slot].result.records, 0u) << slot;
}

// Both links are busy at once: neither NIC waits for the other's port.
TEST_F(LiveNicsPairTest, NicsSendAtTheSameTime) {
  const auto body = [this](LiveProcess& p, std::uint32_t host) {
    Rail first(p, host, 0), second(p, host, 1);
    meet(host, first, second);
    if (host == 0) {
      p.sleep_until(Time::zero() + 10_us);
      first.write(peers_->addr[2], peers_->rkey[2]);
      second.write(peers_->addr[3], peers_->rkey[3]);
      p.sleep_until(p.now() + 1_ms);
    } else {
      peers_->heard_ps = first.wait_for_message().time.ps();
      peers_->answered_ps = second.wait_for_message().time.ps();
      p.sleep_until(p.now() + 1_ms);
    }
  };
  const pid_t h1 = start(0, body), h2 = start(1, body);
  EXPECT_EQ(run({h1, h2}), (std::vector<int>{0, 0}));
  EXPECT_EQ(Time::from_ps(peers_->heard_ps), Time::zero() + 10_us + kTransit);
  EXPECT_EQ(Time::from_ps(peers_->answered_ps), Time::zero() + 10_us + kTransit);
}

}  // namespace
}  // namespace rocelab::live_test
