// For tests: two IRN Nics (pair_fixture.h), a message of each operation with its receive WQE, and what must
// hold after it whatever was lost.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {

inline constexpr std::uint32_t kIrnPsn = 0xfffff0, kIrnMtu = 1024;

inline NicConfig irn_config(const IrnConfig& irn = {}) {
  NicConfig config;
  config.mode = TransportMode::kIrn;
  config.irn = irn;
  return config;
}

inline std::string name_of(WrOpcode opcode) {
  constexpr const char* kNames[] = {"Send", "SendImm", "SendInvalidate", "Write", "WriteImm", "Read"};
  return kNames[static_cast<int>(opcode)];
}
inline constexpr WrOpcode kAllOperations[] = {WrOpcode::kSend, WrOpcode::kSendImm, WrOpcode::kWrite,
                                              WrOpcode::kWriteImm, WrOpcode::kRead};

class IrnPair : public NicPair {
 public:
  explicit IrnPair(const NicConfig& both = irn_config(), std::uint32_t first_psn = kIrnPsn) : NicPair(both) {
    attr.timeout = 14;  // 67 ms: far beyond every RTO here
    connect(first_psn);
  }

  // Again from RESET with what is now in `attr`.
  void bring_down_and_up(std::uint32_t first_psn = kIrnPsn) {
    ASSERT_TRUE(a.nic.modify_qp(a.qp, QpAttr{}, now()) && b.nic.modify_qp(b.qp, QpAttr{}, now()));
    bring_up(a, a.qp, b.qp, first_psn, first_psn + 0x100);
    bring_up(b, b.qp, a.qp, first_psn + 0x100, first_psn);
  }

  // One message of `length` bytes between the same offsets of both memories; a SEND's receive WQE is posted
  // with it.
  struct Message {
    WrOpcode opcode;
    std::size_t offset;
    std::uint32_t length;
    std::uint64_t wr_id;
  };
  void post_message(WrOpcode opcode, std::uint32_t length, bool receive_later = false) {
    const Message m{opcode, next_offset_, length, messages_.size() + 1};
    next_offset_ += length + 16;  // a gap that nothing may touch
    Endpoint& source = opcode == WrOpcode::kRead ? b : a;
    Endpoint& sink = opcode == WrOpcode::kRead ? a : b;
    source.fill(m.offset, length, m.wr_id);
    sink.fill(m.offset, length + 16, 1000 + m.wr_id);
    untouched_.emplace_back(sink.bytes.begin() + static_cast<std::ptrdiff_t>(m.offset + length),
                            sink.bytes.begin() + static_cast<std::ptrdiff_t>(m.offset + length + 16));
    messages_.push_back(m);
    if (!receive_later) post_receives();
    ASSERT_EQ(post(wqe(opcode, m.offset, m.offset, length, m.wr_id)), PostResult::kOk);
  }
  // The receive WQEs of all messages posted so far that have none yet.
  void post_receives() {
    for (; received_ < messages_.size(); ++received_) {
      const Message& m = messages_[received_];
      const bool send = m.opcode == WrOpcode::kSend || m.opcode == WrOpcode::kSendImm;
      if (!send && m.opcode != WrOpcode::kWriteImm) continue;
      ASSERT_EQ(post_receive(m.offset, send ? m.length : 0, m.wr_id), PostResult::kOk);
    }
  }

  // A WRITE the other way, from b to a, in the upper half of both memories.
  void post_back(std::uint32_t length) {
    const std::size_t offset = kMemory / 2 + back_offset_;
    back_offset_ += length;
    b.fill(offset, length, 77 + offset);
    SendWqe w;
    w.wr_id = kBack + ++back_posted_, w.opcode = WrOpcode::kWrite, w.num_sge = 1;
    w.sge[0] = {b.addr(offset), length, b.key};
    w.remote_addr = a.addr(offset), w.rkey = a.key;
    ASSERT_EQ(b.nic.post_send(b.qp, w, now()), PostResult::kOk);
  }

  // Every message completed once, in order at both ends, with its bytes in place and nothing beyond them.
  void expect_all_delivered() const {
    std::vector<std::uint64_t> wanted_a, wanted_b, got_a, got_b;
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      const Message& m = messages_[i];
      EXPECT_EQ(std::memcmp(a.bytes.data() + m.offset, b.bytes.data() + m.offset, m.length), 0)
          << "message " << m.wr_id;
      const Endpoint& sink = m.opcode == WrOpcode::kRead ? a : b;
      EXPECT_EQ(std::memcmp(sink.bytes.data() + m.offset + m.length, untouched_[i].data(), 16), 0)
          << "message " << m.wr_id;
      wanted_a.push_back(m.wr_id);
      if (m.opcode != WrOpcode::kRead && m.opcode != WrOpcode::kWrite) wanted_b.push_back(m.wr_id);
    }
    for (const Cqe& cqe : a.cqes) {
      got_a.push_back(cqe.wr_id);
      EXPECT_EQ(cqe.status, WcStatus::kSuccess);
    }
    std::uint64_t back = 0;
    for (const Cqe& cqe : b.cqes) {
      if (cqe.wr_id > kBack) {
        EXPECT_EQ(cqe.status, WcStatus::kSuccess);
        EXPECT_EQ(cqe.wr_id, kBack + ++back);
        continue;
      }
      got_b.push_back(cqe.wr_id);
      EXPECT_EQ(cqe.status, WcStatus::kSuccess);
      EXPECT_EQ(cqe.byte_len, messages_[cqe.wr_id - 1].length);
    }
    EXPECT_EQ(back, back_posted_);
    EXPECT_EQ(std::memcmp(a.bytes.data() + kMemory / 2, b.bytes.data() + kMemory / 2, back_offset_), 0);
    EXPECT_EQ(got_a, wanted_a);
    EXPECT_EQ(got_b, wanted_b);
  }

  std::uint64_t data_drops(int side) const {
    return static_cast<std::uint64_t>(std::count_if(log.begin(), log.end(), [&](const Departure& d) {
      return d.side == side && d.dropped && d.packet.kind == PacketKind::kData;
    }));
  }
  // PSNs, from the first one, of a side's data packets that had been sent before.
  std::vector<std::uint32_t> retransmitted(int side) const {
    std::vector<std::uint32_t> psns;
    for (const Departure& d : log)
      if (d.side == side && d.packet.retransmission)
        psns.push_back((d.packet.roce.psn.value() - kIrnPsn) & Psn::kMask);
    return psns;
  }
  // On a network that keeps order, with no answer lost: what IRN promises.
  void expect_nothing_superfluous() const {
    for (int side : {0, 1}) {
      const NicCounters& c = side == 0 ? a.nic.counters() : b.nic.counters();
      EXPECT_LE(c.nack_retransmissions, data_drops(side)) << "side " << side;
      EXPECT_EQ(c.retransmitted_packets, c.nack_retransmissions + c.timeout_retransmissions);
      // A timeout forgets what was resent: only its recovery may resend what is still on its way.
      const NicCounters& peer = side == 0 ? b.nic.counters() : a.nic.counters();
      EXPECT_LE(c.spurious_retransmissions, peer.timeout_retransmissions) << "side " << side;
      EXPECT_EQ(c.local_ack_timeout_err, 0u);
      EXPECT_EQ(c.rx_beyond_bitmap, 0u);
      EXPECT_EQ(c.rx_malformed, 0u);
    }
  }

 private:
  std::vector<Message> messages_;
  std::vector<std::vector<std::byte>> untouched_;
  std::size_t next_offset_ = 0;
  std::size_t received_ = 0;                       // messages whose receive WQE, if they take one, is posted
  static constexpr std::uint64_t kBack = 1 << 20;  // wr_ids above it are those of post_back()
  std::uint64_t back_posted_ = 0;
  std::size_t back_offset_ = 0;
};

}  // namespace rocelab
