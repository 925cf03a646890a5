// NicPair, for tests: two Nics with their ports, joined by a link with a fake clock, with loss by a predicate
// and a log of every departure. Payload is real: it is gathered at departure into a buffer that lives until
// the frame has arrived. Everything happens in due order, exactly.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/wire/opcode.h"
#include "irn_provider/nic/nic.h"
#include "irn_provider/nic/nic_port.h"

namespace rocelab {

inline NicConfig config_of(TransportMode mode) {
  NicConfig config;
  config.mode = mode;
  return config;
}

// Keeps all records, for tests that look at them.
class RecordedTrace final : public TraceSink {
 public:
  RecordedTrace() : TraceSink(~0u) {}
  std::vector<TraceRecord> records;
  std::vector<TraceRecord> of(TraceKind kind) const {
    std::vector<TraceRecord> found;
    for (const TraceRecord& r : records)
      if (r.kind == kind) found.push_back(r);
    return found;
  }

 private:
  void on_record(const TraceRecord& r) override { records.push_back(r); }
};

struct Departure {
  int side;  // 0: from a
  Time at;
  Packet packet;
  bool dropped;
};

// One host: a Nic, its port, one PD, one CQ for both directions, and one registered block of memory.
struct Endpoint {
  static constexpr std::uint32_t kAllAccess =
      kAccessLocalWrite | kAccessRemoteWrite | kAccessRemoteRead | kAccessRemoteAtomic;

  Endpoint(const NicConfig& config, Qpn first_qpn, std::size_t memory_bytes)
      : bytes(memory_bytes),
        nic(config, first_qpn, Rng(1), pool, memory, trace),
        port(nic, config.link_rate, config.link_delay) {
    pd = nic.alloc_pd();
    cq = *nic.create_cq(1 << 16);
    key = *nic.reg_mr(pd, addr(), bytes.size(), addr(), kAllAccess);
  }
  std::uint64_t addr(std::size_t offset = 0) const {
    return reinterpret_cast<std::uint64_t>(bytes.data() + offset);
  }
  Qpn create_qp(std::uint32_t depth = 1024, QpType type = QpType::kRc) {
    QpInit init;
    init.type = type;
    init.pd = pd, init.send_cq = cq, init.recv_cq = cq;
    init.caps = {depth, depth, kMaxSge, kMaxSge, 256};
    return *nic.create_qp(init);
  }
  void fill(std::size_t offset, std::size_t length, std::uint64_t seed) {
    Rng rng(seed);
    for (std::size_t i = 0; i < length; ++i) bytes[offset + i] = static_cast<std::byte>(rng.next());
  }

  std::vector<std::byte> bytes;
  PacketPool pool;
  ProcessMemory memory;
  RecordedTrace trace;
  Nic nic;
  NicPort port;
  Pdn pd;
  Cqn cq;
  RKey key;
  Qpn qp;                 // the first QP, connected to the other side's
  std::vector<Cqe> cqes;  // all that were made, in order
};

class NicPair {
 public:
  static constexpr std::size_t kMemory = 4 << 20;

  explicit NicPair(const NicConfig& both = {}, std::size_t memory_bytes = kMemory)
      : NicPair(both, both, memory_bytes) {}
  NicPair(const NicConfig& config_a, const NicConfig& config_b, std::size_t memory_bytes)
      : config(config_a), a(config_a, Qpn{0x11}, memory_bytes), b(config_b, Qpn{0x411}, memory_bytes) {
    attr.access_flags = Endpoint::kAllAccess;
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 16;
    attr.path.src_gid[10] = attr.path.src_gid[11] = attr.path.dst_gid[10] = attr.path.dst_gid[11] =
        0xff;  // IPv4
  }

  // Connects a new QP of each side by `attr`, PSNs first_psn (a to b) and first_psn + 0x100 (b to a), and
  // returns them.
  std::pair<Qpn, Qpn> connect(std::uint32_t first_psn = 0xfffff0) {
    const std::pair<Qpn, Qpn> qps{a.create_qp(1024, type), b.create_qp(1024, type)};
    bring_up(a, qps.first, qps.second, first_psn, first_psn + 0x100);
    bring_up(b, qps.second, qps.first, first_psn + 0x100, first_psn);
    if (a.qp == Qpn{}) a.qp = qps.first, b.qp = qps.second;
    return qps;
  }
  void bring_up(Endpoint& e, Qpn qpn, Qpn peer, std::uint32_t sq_psn, std::uint32_t rq_psn) {
    QpAttr wanted = attr;
    wanted.dest_qpn = peer, wanted.sq_psn = sq_psn & Psn::kMask, wanted.rq_psn = rq_psn & Psn::kMask;
    for (QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
      wanted.state = state;
      ASSERT_TRUE(e.nic.modify_qp(qpn, wanted, now()));
    }
  }

  Time now() const { return now_; }
  // Runs all events before `limit`, then stands there.
  void run_until(Time limit) {
    collect(a), collect(b);
    for (Time t = next_event(); t < limit; t = next_event()) step(t);
    now_ = std::max(now_, limit);
    a.port.advance_to(now_), b.port.advance_to(now_);
  }
  // Runs until nothing can happen any more; fails the test if that takes longer than `patience`.
  void run(Duration patience = 100_s) {
    const Time limit = now_ + patience;
    collect(a), collect(b);
    Time t = next_event();
    for (; t < limit; t = next_event()) step(t);
    EXPECT_TRUE(t.is_never()) << "still busy after " << to_string(patience);
    a.port.advance_to(now_), b.port.advance_to(now_);
  }
  Time next_event() const { return std::min(a.port.next_event(), b.port.next_event()); }

  // --- posting at now()
  SendWqe wqe(WrOpcode opcode, std::size_t from, std::size_t to, std::uint32_t length,
              std::uint64_t wr_id = 1) const {
    SendWqe w;
    w.wr_id = wr_id, w.opcode = opcode, w.num_sge = 1;
    w.sge[0] = {a.addr(from), length, a.key};
    w.remote_addr = b.addr(to), w.rkey = b.key, w.imm = 0xabcd0123;
    return w;
  }
  PostResult post(const SendWqe& w) { return a.nic.post_send(a.qp, w, now()); }
  PostResult post_receive(std::size_t to, std::uint32_t length, std::uint64_t wr_id = 100) {
    RecvWqe w;
    w.wr_id = wr_id, w.num_sge = 1;
    w.sge[0] = {b.addr(to), length, b.key};
    return b.nic.post_recv(b.qp, w, now());
  }

  // --- what the link does. Called for each departure; true: the frame vanishes.
  std::function<bool(const Departure&)> lose = [](const Departure&) { return false; };
  // A network that reorders: how many later frames of its side overtake this one before it arrives. With no
  // later frame it is lost.
  std::function<int(const Departure&)> overtaken_by = [](const Departure&) { return 0; };
  std::function<void(NicPair&, Endpoint&, const Cqe&)> on_cqe = [](NicPair&, Endpoint&, const Cqe&) {};

  // Departures that `keep` says yes to.
  std::vector<Departure> sent(const std::function<bool(const Departure&)>& keep) const {
    std::vector<Departure> found;
    for (const Departure& d : log)
      if (keep(d)) found.push_back(d);
    return found;
  }
  // "RC_RDMA_WRITE_FIRST+0 ..." : a side's packets, PSNs counted from `base`.
  std::string story(int side, std::uint32_t base) const {
    std::string text;
    for (const Departure& d : log) {
      if (d.side != side) continue;
      if (!text.empty()) text += ' ';
      text += opcode_info(d.packet.roce.opcode).name;
      text += '+' + std::to_string((d.packet.roce.psn.value() - base) & Psn::kMask);
    }
    return text;
  }

  NicConfig config;
  QpType type = QpType::kRc;  // for connect()
  QpAttr attr;                // for connect()
  Endpoint a, b;
  std::vector<Departure> log;

 private:
  void step(Time t) {
    now_ = t;
    run_side(0, t);
    run_side(1, t);
    while (!buffers_.empty() && buffers_.front().first < t) buffers_.pop_front();
  }
  void run_side(int side, Time t) {
    Endpoint& from = side == 0 ? a : b;
    auto out = [&](PacketRef packet, Time at, Time due) { transfer(side, std::move(packet), at, due); };
    while (from.port.run_until(t + 1_ps, out) == StopReason::kCompletion) collect(from);
  }
  void collect(Endpoint& from) {  // also what a call has completed
    while (const auto cqe = from.nic.poll_cq(from.cq)) {
      from.cqes.push_back(*cqe);
      on_cqe(*this, from, *cqe);
    }
  }
  void transfer(int side, PacketRef packet, Time at, Time due) {
    Endpoint& from = side == 0 ? a : b;
    Endpoint& to = side == 0 ? b : a;
    // In front of the payload there is room for a datagram's GRH, as at a live edge.
    std::vector<std::byte> buffer(kGrhBytes + packet->payload_length, std::byte{0x47});
    ASSERT_TRUE(from.nic.gather(*packet, std::span(buffer).subspan(kGrhBytes)));
    EXPECT_NE(from.nic.path_of(*packet), nullptr);
    log.push_back({side, at, *packet, false});
    if (lose(log.back())) {
      log.back().dropped = true;
      return;
    }
    PacketRef copy = to.pool.make();
    *copy = log.back().packet;  // as `lose` has left it: a link that forges
    if (packet->roce.has_slack) PacketPool::put_slack(*copy, PacketPool::slack(*packet));
    if (packet->roce.has_hop_times) PacketPool::put_hop_times(*copy, PacketPool::hop_times(*packet));
    if (const int later = overtaken_by(log.back()); later > 0) {
      held_[side].push_back({later, std::move(copy), std::move(buffer)});
      return;
    }
    arrive(to, std::move(copy), std::move(buffer), due);
    for (Held& h : held_[side])
      if (--h.left == 0) arrive(to, std::move(h.packet), std::move(h.bytes), due);
    std::erase_if(held_[side], [](const Held& h) { return h.left == 0; });
  }
  void arrive(Endpoint& to, PacketRef packet, std::vector<std::byte> bytes, Time due) {
    buffers_.emplace_back(due, std::move(bytes));
    packet->payload = buffers_.back().second.data() + kGrhBytes;
    to.port.deliver(std::move(packet), due);
  }

  struct Held {
    int left;
    PacketRef packet;
    std::vector<std::byte> bytes;
  };
  std::array<std::vector<Held>, 2> held_;  // frames that later ones overtake
  Time now_;
  std::deque<std::pair<Time, std::vector<std::byte>>> buffers_;  // of frames on the link
};

// Loses the data packets (those with payload, or READ requests) from `side` whose ordinals, from 1, are
// listed.
inline std::function<bool(const Departure&)> lose_data(int side, std::vector<int> ordinals) {
  return [side, ordinals = std::move(ordinals), n = 0](const Departure& d) mutable {
    if (d.side != side || d.packet.kind != PacketKind::kData) return false;
    ++n;
    return std::find(ordinals.begin(), ordinals.end(), n) != ordinals.end();
  };
}
inline std::function<bool(const Departure&)> lose_acks(int side, std::vector<int> ordinals) {
  return [side, ordinals = std::move(ordinals), n = 0](const Departure& d) mutable {
    if (d.side != side || d.packet.kind != PacketKind::kAck) return false;
    ++n;
    return std::find(ordinals.begin(), ordinals.end(), n) != ordinals.end();
  };
}

}  // namespace rocelab
