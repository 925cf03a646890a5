// Nanoseconds per frame of the NIC engine: a Nic with its NicPort sends messages to another one over a link
// without loss. A frame's cost has both ends in it: WQE, packet, timers and departure at the sender, arrival,
// checks, placement and acknowledgement at the receiver; ACKs count as frames. Memory, trace and switch cost
// nothing here: no byte is copied and no frame is built. Each iteration is one window of 2 us at 40 Gb/s.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <utility>

#include "irn_provider/nic/nic.h"
#include "irn_provider/nic/nic_port.h"

namespace rocelab {
namespace {

constexpr std::uint64_t kBuffer = 0x1000;     // where both hosts' memory regions begin
constexpr std::uint32_t kMessage = 1u << 20;  // bytes
constexpr int kMessagesAhead = 4;             // work requests posted per queue pair
constexpr int kReceivesAhead = 16;            // so that no SEND meets an empty receive queue
constexpr Duration kWindow = 2_us;

struct Host {
  Host(const NicConfig& config, Qpn first, PacketPool& pool)
      : nic(config, first, Rng(1), pool, memory, trace), port(nic, config.link_rate, config.link_delay) {
    pd = nic.alloc_pd();
    cq = *nic.create_cq(4096);
    key = *nic.reg_mr(pd, kBuffer, kMessage, kBuffer, 7);
  }

  Qpn create_qp() {
    QpInit init;
    init.pd = pd;
    init.send_cq = init.recv_cq = cq;
    init.caps = {64, 64, 4, 4, 0};
    return *nic.create_qp(init);
  }

  void connect(Qpn mine, Qpn peer) {
    QpAttr attr;
    attr.access_flags = 7;
    attr.path.dst_gid[10] = attr.path.dst_gid[11] = 255;  // an IPv4-mapped address
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 16;
    attr.dest_qpn = peer;
    for (const QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
      attr.state = state;
      nic.modify_qp(mine, attr, Time::zero());
    }
  }

  void post_receive(Qpn qpn) {
    RecvWqe wqe;
    wqe.num_sge = 1;
    wqe.sge[0] = {kBuffer, kMessage, key};
    nic.post_recv(qpn, wqe, port.now());
  }

  NullMemory memory;
  NullTrace trace;
  Nic nic;
  NicPort port;
  Pdn pd;
  Cqn cq;
  RKey key;
};

// One direction of traffic over `qps` queue pairs, windows of 2 us one after the other.
class Pair {
 public:
  Pair(TransportMode mode, WrOpcode opcode, int qps)
      : a_(config_of(mode), Qpn{1}, pool_),
        b_(config_of(mode), Qpn{5000}, pool_),
        sends_(opcode == WrOpcode::kSend) {
    wqe_.opcode = opcode;
    wqe_.num_sge = 1;
    wqe_.sge[0] = {kBuffer, kMessage, a_.key};
    wqe_.remote_addr = kBuffer;
    wqe_.rkey = b_.key;
    for (int i = 0; i < qps; ++i) {
      const Qpn mine = a_.create_qp(), peer = b_.create_qp();
      a_.connect(mine, peer);
      b_.connect(peer, mine);
      for (int n = 0; sends_ && n < kReceivesAhead; ++n) b_.post_receive(peer);
      for (int n = 0; n < kMessagesAhead; ++n) a_.nic.post_send(mine, wqe_, Time::zero());
    }
  }

  void window() {
    limit_ = limit_ + kWindow;
    const auto to_b = [this](PacketRef packet, Time, Time due) { forward(b_, std::move(packet), due); };
    const auto to_a = [this](PacketRef packet, Time, Time due) { forward(a_, std::move(packet), due); };
    while (a_.port.run_until(limit_, to_b) == StopReason::kCompletion) {
      while (const auto completion = a_.nic.poll_cq(a_.cq)) {
        failed_ |= completion->status != WcStatus::kSuccess;
        a_.nic.post_send(completion->qpn, wqe_, a_.port.now());
      }
    }
    while (b_.port.run_until(limit_, to_a) == StopReason::kCompletion) {
      while (const auto completion = b_.nic.poll_cq(b_.cq)) b_.post_receive(completion->qpn);
    }
  }

  std::uint64_t frames() const { return frames_; }
  bool failed() const { return failed_; }

 private:
  static NicConfig config_of(TransportMode mode) {
    NicConfig config;
    config.mode = mode;
    return config;
  }

  void forward(Host& to, PacketRef packet, Time due) {
    ++frames_;
    to.port.deliver(std::move(packet), due);
  }

  PacketPool pool_;  // of both: packets end at the other host
  Host a_, b_;
  bool sends_;
  SendWqe wqe_;
  Time limit_ = Time::zero();
  std::uint64_t frames_ = 0;
  bool failed_ = false;
};

// Name: BM_NicPair/<queue pairs>.
void run(benchmark::State& state, TransportMode mode, WrOpcode opcode) {
  Pair pair(mode, opcode, static_cast<int>(state.range(0)));
  for (int i = 0; i < 1000; ++i) pair.window();  // pools and queues have their sizes
  const std::uint64_t before = pair.frames();
  for (auto _ : state) pair.window();
  if (pair.failed()) state.SkipWithError("a work request failed");
  state.counters["per_frame"] = benchmark::Counter(static_cast<double>(pair.frames() - before),
                                                   benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void BM_RoceWrite(benchmark::State& state) { run(state, TransportMode::kRoce, WrOpcode::kWrite); }
void BM_RoceSend(benchmark::State& state) { run(state, TransportMode::kRoce, WrOpcode::kSend); }
void BM_IrnWrite(benchmark::State& state) { run(state, TransportMode::kIrn, WrOpcode::kWrite); }
void BM_IrnSend(benchmark::State& state) { run(state, TransportMode::kIrn, WrOpcode::kSend); }
BENCHMARK(BM_RoceWrite)->Arg(1)->Arg(64);
BENCHMARK(BM_RoceSend)->Arg(1);
BENCHMARK(BM_IrnWrite)->Arg(1)->Arg(64);
BENCHMARK(BM_IrnSend)->Arg(1);

}  // namespace
}  // namespace rocelab

BENCHMARK_MAIN();
