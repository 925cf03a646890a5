// For tests: one IRN responder without a Nic. Requests are made by hand, answers are pulled.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/wire/aeth.h"
#include "irn_provider/transport/irn_responder.h"

namespace rocelab {

class IrnResponderFixture : public ::testing::Test {
 protected:
  static constexpr UnwrappedPsn kStart = 0xFFFFF0;
  static constexpr std::uint32_t kMtu = 256;
  static constexpr Time kNow = Time::from_ps(1000);

  void start(IrnConfig irn = {}) {
    config_.mode = TransportMode::kIrn;
    config_.irn = irn;
    qp_.emplace(services_, Qpn{17}, QpInit{}, &send_cq_, &recv_cq_);
    qp_->attr.state = QpState::kRtr;
    qp_->attr.path_mtu = kMtu;
    qp_->attr.rq_psn = kStart;
    qp_->attr.access_flags = kAccessRemoteWrite | kAccessRemoteRead;
    qp_->attr.max_dest_rd_atomic = 2;
    qp_->connect(Time::zero());
    key_ = *regions_.add({Pdn{}, reinterpret_cast<std::uint64_t>(memory_bytes_.data()), base(),
                          memory_bytes_.size(), kAccessLocalWrite | kAccessRemoteWrite | kAccessRemoteRead});
    responder_.emplace(*qp_, receive_queue_);
    responder_->start(kNow);
  }
  static constexpr std::uint64_t base() { return 0x10000; }

  void post_receive(std::uint64_t wr_id, std::uint64_t offset, std::uint32_t length) {
    RecvWqe wqe;
    wqe.wr_id = wr_id;
    wqe.num_sge = 1;
    wqe.sge[0] = {base() + offset, length, key_};
    receive_queue_.post(wqe);
  }
  Packet request(Operation operation, UnwrappedPsn psn, const std::string& payload = "") {
    Packet p;
    p.roce.opcode = make_opcode(TransportClass::kIrn, operation);
    p.roce.psn = wrap(kStart + psn);
    stored_.push_back(payload);
    p.payload = reinterpret_cast<const std::byte*>(stored_.back().data());
    p.payload_length = static_cast<std::uint32_t>(payload.size());
    p.frame_length = 100;
    return p;
  }
  void deliver(const Packet& p) { responder_->on_request(p, opcode_info(p.roce.opcode), kNow); }
  void send(Operation operation, UnwrappedPsn psn, std::uint32_t recv_sn, std::uint32_t offset,
            const std::string& payload, std::uint32_t imm = 0) {
    Packet p = request(operation, psn, payload);
    p.roce.wqe_sn = recv_sn;
    p.roce.offset = offset;
    p.roce.imm = imm;
    deliver(p);
  }
  void write(Operation operation, UnwrappedPsn psn, std::uint64_t offset, const std::string& payload,
             std::uint32_t left, std::uint32_t recv_sn = 0) {
    Packet p = request(operation, psn, payload);
    p.roce.va = base() + offset;
    p.roce.rkey = key_;
    p.roce.dma_length = left;
    p.roce.wqe_sn = recv_sn;
    deliver(p);
  }
  void read(UnwrappedPsn psn, std::uint32_t read_sn, std::uint64_t offset, std::uint32_t length) {
    Packet p = request(Operation::kReadRequest, psn);
    p.roce.va = base() + offset;
    p.roce.rkey = key_;
    p.roce.dma_length = length;
    p.roce.wqe_sn = read_sn;
    deliver(p);
  }
  void read_ack(UnwrappedPsn expected) {
    Packet p = request(Operation::kReadAck, expected);
    responder_->on_read_ack(p, opcode_info(p.roce.opcode), kNow);
  }
  Packet pull() {
    Packet p;
    EXPECT_TRUE(responder_->has_ack());
    if (responder_->has_ack()) responder_->pull_ack(p, kNow);
    return p;
  }
  void expect_ack(UnwrappedPsn expected, std::uint32_t msn) {
    const Packet p = pull();
    EXPECT_EQ(opcode_info(p.roce.opcode).name, "IRN_ACKNOWLEDGE");
    EXPECT_EQ(p.roce.psn, wrap(kStart + expected));
    EXPECT_EQ(p.roce.msn.value, msn);
    EXPECT_TRUE(is_ack(p.roce.syndrome));
  }
  void expect_nack(UnwrappedPsn expected, UnwrappedPsn sack) {
    const Packet p = pull();
    EXPECT_EQ(opcode_info(p.roce.opcode).name, "IRN_NACK");
    EXPECT_EQ(p.roce.psn, wrap(kStart + expected));
    EXPECT_EQ(p.roce.sack, wrap(kStart + sack));
  }
  void expect_refusal(UnwrappedPsn psn, std::uint8_t syndrome) {
    const Packet p = pull();
    EXPECT_EQ(opcode_info(p.roce.opcode).name, "IRN_ACKNOWLEDGE");
    EXPECT_EQ(p.roce.psn, wrap(kStart + psn));
    EXPECT_EQ(p.roce.syndrome, syndrome);
  }
  std::string memory(std::uint64_t offset, std::size_t length) const {
    return std::string(reinterpret_cast<const char*>(memory_bytes_.data()) + offset, length);
  }
  static std::string full(char c) { return std::string(kMtu, c); }

  NicConfig config_;
  NicCounters counters_;
  MemoryRegions regions_{16};
  MemoryWindows windows_{regions_, 16};
  HandleTable<AddressHandle> address_handles_{16};
  SrqTable srqs_{16};
  ProcessMemory memory_;
  NullTrace trace_;
  std::uint64_t completions_ = 0;
  AsyncEvents events_{completions_};
  NicServices services_{config_, counters_, regions_, windows_,     address_handles_,
                        srqs_,   memory_,   trace_,   completions_, events_};
  CompletionQueue send_cq_{100}, recv_cq_{100};
  ReceiveQueue receive_queue_{Pdn{}, 100, nullptr};
  std::optional<QpContext> qp_;
  std::optional<IrnResponder> responder_;
  std::vector<std::byte> memory_bytes_ = std::vector<std::byte>(1 << 16);
  std::deque<std::string> stored_;
  RKey key_;
};

}  // namespace rocelab
