// Queue pairs that share a limiter (flow = "hosts"): one rate for all of a NIC to one host, and a turn for
// each.
#include "base/wire/controls.h"
#include "irn_provider/cc/p4qcn_rp.h"
#include "irn_provider/cc/qcn_rp.h"
#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

constexpr std::uint32_t kBytes = 40 * 1024;

NicConfig p4qcn(CcLimiter limiter) {
  NicConfig config;
  P4qcnRpParams& params = config.cc.use<P4qcnRp>();
  params.byte_counter = 100_MB;  // a rate that was cut stays
  params.limiter = limiter;
  return config;
}

class LimiterPair : public NicPair {
 public:
  explicit LimiterPair(const NicConfig& both) : NicPair(both) { type = QpType::kUc; }
  // Of a NIC's queue pair.
  void write(Qpn qpn, std::uint32_t bytes = kBytes) {
    ASSERT_EQ(a.nic.post_send(qpn, wqe(WrOpcode::kWrite, 0, 0, bytes), now()), PostResult::kOk);
  }
  void cut(Qpn peer) {
    PacketRef packet = a.pool.make();
    put_control(*packet, P4qcnFbp{kCpNetwork + 1, 12, peer});
    a.nic.on_packet(std::move(packet), now());
  }
  // All packets of the log follow each other at this rate.
  void expect_rate(Rate rate) const {
    ASSERT_GT(log.size(), 1u);
    for (std::size_t i = 1; i < log.size(); ++i)
      EXPECT_EQ(log[i].at - log[i - 1].at, transfer_time(wire_bytes(log[i - 1].packet.frame()), rate))
          << "packet " << i;
  }
  void expect_share(int of_line) const { expect_rate(config.link_rate / of_line); }
  Duration packet_time() const { return transfer_time(wire_bytes(log[0].packet.frame()), config.link_rate); }
  std::uint32_t sender(std::size_t i) const { return log[i].packet.flow; }
};

TEST(NicLimiterTest, FeedbackToOneQueuePairSlowsAllToItsHostAndTheyTakeTurns) {
  LimiterPair pair(p4qcn(CcLimiter::kHosts));
  std::vector<std::pair<Qpn, Qpn>> qps;
  for (int i = 0; i < 3; ++i) qps.push_back(pair.connect());
  for (const auto& [mine, peer] : qps) pair.write(mine);
  pair.cut(qps[1].second);
  pair.run();
  ASSERT_EQ(pair.log.size(), 120u);
  pair.expect_share(2);
  for (std::size_t i = 0; i < pair.log.size(); ++i)
    EXPECT_EQ(pair.sender(i), qps[i % 3].first.value) << "packet " << i;
}

TEST(NicLimiterTest, ByConnectionTheOthersKeepTheLine) {
  LimiterPair pair(p4qcn(CcLimiter::kConnection));
  const auto first = pair.connect(), second = pair.connect();
  pair.write(first.first), pair.write(second.first);
  pair.cut(first.second);
  pair.run();
  const auto last_of = [&](Qpn qpn) {
    return pair.sent([&](const Departure& d) { return d.packet.flow == qpn.value; }).back().at;
  };
  EXPECT_GT((last_of(first.first) - Time::zero()).ps(), 78 * pair.packet_time().ps());
  EXPECT_LT((last_of(second.first) - Time::zero()).ps(), 78 * pair.packet_time().ps());
}

// The queue pair that has waited longest is the first: also one that comes while others send.
TEST(NicLimiterTest, OneThatBeginsLaterHasTheNextTurn) {
  LimiterPair pair(p4qcn(CcLimiter::kHosts));
  const auto first = pair.connect(), second = pair.connect(), third = pair.connect();
  pair.cut(first.second);
  pair.write(second.first), pair.write(third.first);
  pair.run_until(Time::zero() + pair.config.link_delay + 5_us);
  const std::size_t before = pair.log.size();
  ASSERT_GT(before, 4u);
  pair.write(first.first, 4 * 1024);
  pair.run();
  EXPECT_EQ(pair.sender(before), first.first.value);
  for (std::size_t turn = 1; turn < 4; ++turn) EXPECT_EQ(pair.sender(before + 3 * turn), first.first.value);
}

TEST(NicLimiterTest, AQueuePairThatIsConnectedLaterSharesTheRate) {
  LimiterPair pair(p4qcn(CcLimiter::kHosts));
  const auto first = pair.connect();
  pair.cut(first.second);
  pair.write(pair.connect().first);
  pair.run();
  pair.expect_share(2);
}

TEST(NicLimiterTest, AnotherHostHasALimiterOfItsOwn) {
  LimiterPair pair(p4qcn(CcLimiter::kHosts));
  const auto first = pair.connect();
  pair.attr.path.dst_node = NodeId{7};
  const auto other = pair.connect();
  pair.cut(first.second);
  pair.write(other.first);
  pair.run();
  pair.expect_share(1);
}

// A queue pair whose path goes to another host leaves the limiter and takes that host's.
TEST(NicLimiterTest, APathToAnotherHostTakesThatHostsLimiter) {
  LimiterPair pair(p4qcn(CcLimiter::kHosts));
  const auto first = pair.connect();
  pair.cut(first.second);
  QpAttr attr = *pair.a.nic.query_qp(first.first);
  attr.state = QpState::kSqd;
  ASSERT_TRUE(pair.a.nic.modify_qp(first.first, attr, pair.now()));
  attr.path.dst_node = NodeId{7};
  ASSERT_TRUE(pair.a.nic.modify_qp(first.first, attr, pair.now()));
  attr.state = QpState::kRts;
  ASSERT_TRUE(pair.a.nic.modify_qp(first.first, attr, pair.now()));
  pair.write(first.first);
  pair.run();
  pair.expect_share(1);
}

TEST(NicLimiterTest, WithItsLastQueuePairALimiterIsForgotten) {
  LimiterPair pair(p4qcn(CcLimiter::kHosts));
  const auto first = pair.connect();
  pair.cut(first.second);
  ASSERT_TRUE(pair.a.nic.destroy_qp(first.first));
  pair.write(pair.connect().first);
  pair.run();
  pair.expect_share(1);
}

TEST(NicLimiterTest, OfQcnAsWell) {
  NicConfig config;
  QcnRpParams& params = config.cc.use<QcnRp>();
  params.byte_counter = 100_MB;
  params.limiter = CcLimiter::kHosts;
  LimiterPair pair(config);
  const auto first = pair.connect(), second = pair.connect();
  pair.write(first.first), pair.write(second.first);
  Cnm cnm;
  cnm.cp = kCpNetwork + 1;
  cnm.feedback = 32;  // a quarter
  cnm.dest = first.second;
  PacketRef packet = pair.a.pool.make();
  put_control(*packet, cnm);
  pair.a.nic.on_packet(std::move(packet), pair.now());
  pair.run();
  ASSERT_EQ(pair.log.size(), 80u);
  pair.expect_rate(pair.config.link_rate * 3 / 4);
  for (std::size_t i = 1; i < pair.log.size(); ++i) EXPECT_NE(pair.sender(i), pair.sender(i - 1));
}

}  // namespace
}  // namespace rocelab
