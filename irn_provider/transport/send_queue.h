// SendQueue: the request WQEs of one QP in posting order, each with the PSNs that its packets take, found by
// PSN or by number. Entries are numbered from 0 since the QP was started; the number outlives what lies
// before it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/psn.h"
#include "base/ring.h"
#include "irn_provider/cc/cc_flow.h"
#include "irn_provider/transport/verbs_types.h"

namespace rocelab {

struct SendEntry {
  SendWqe wqe;
  std::uint64_t number = 0;
  std::uint32_t length = 0;          // bytes of the message, or of this piece of it
  std::uint32_t message_length = 0;  // bytes of the work request
  bool continues = false;            // a piece of a READ that is requested in pieces; the last has it not set
  bool continued = false;            // such a piece; the first has it not set
  UnwrappedPsn first = 0, end = 0;   // its PSNs: [first, end)
  std::uint32_t wqe_sn = 0;          // SEND, WRITE with imm: recv_WQE_SN; READ: read_WQE_SN (Mittal, 4.4.3)
  // READ and atomics only. RoCE: responses have the request's PSNs. IRN: rPSNs. [response_first,
  // response_end), next one expected in order: response_next.
  UnwrappedPsn response_first = 0, response_end = 0, response_next = 0;
  CcReadMark cc_mark;                 // READ: when it was requested, for congestion control
  bool started = false;               // its first packet has left
  bool checked = false, bad = false;  // its local keys were looked at when its turn came; they are wrong
  bool done = false;                  // READ, atomics: all data is here; local ones: executed

  bool is_read() const { return wqe.opcode == WrOpcode::kRead; }
  bool is_atomic() const { return rocelab::is_atomic(wqe.opcode); }
  // It ends when a response brings data, not when it is acknowledged: an atomic is a READ of one packet
  // (Mittal, 4.4.2; IBTA 9.7.3.1).
  bool fetches() const { return rocelab::fetches(wqe.opcode); }
  bool is_local() const { return rocelab::is_local(wqe.opcode); }
  bool ends_by_ack() const { return wqe.opcode < WrOpcode::kRead; }
  bool is_send() const { return wqe.opcode <= WrOpcode::kSendInvalidate; }
  bool invalidates() const { return wqe.opcode == WrOpcode::kSendInvalidate; }
  bool has_imm() const { return wqe.opcode == WrOpcode::kSendImm || wqe.opcode == WrOpcode::kWriteImm; }
  bool takes_receive_wqe() const { return is_send() || has_imm(); }
};

class SendQueue {
 public:
  void start(UnwrappedPsn first) {
    ring_.clear();
    front_number_ = cursor_ = 0;
    pieces_ = 0;
    end_ = first;
  }
  bool empty() const { return ring_.empty(); }
  std::size_t size() const { return ring_.size(); }
  UnwrappedPsn end() const { return end_; }  // one past the last PSN posted
  std::uint64_t front_number() const { return front_number_; }
  std::uint64_t end_number() const { return front_number_ + ring_.size(); }
  SendEntry& front() { return ring_.front(); }
  const SendEntry& front() const { return ring_.front(); }
  SendEntry& at(std::uint64_t number) { return ring_[number - front_number_]; }
  const SendEntry& at(std::uint64_t number) const { return ring_[number - front_number_]; }

  // A WQE that takes `packets` PSNs, a local one none; the caller sets what else it needs.
  SendEntry& push(const SendWqe& wqe, std::uint32_t length, std::int64_t packets) {
    SendEntry& e = ring_.push_slot();
    e.wqe.wr_id = wqe.wr_id, e.wqe.opcode = wqe.opcode, e.wqe.imm = wqe.imm;
    e.wqe.signaled = wqe.signaled, e.wqe.solicited = wqe.solicited, e.wqe.fence = wqe.fence;
    e.wqe.inline_data = wqe.inline_data, e.wqe.remote_addr = wqe.remote_addr, e.wqe.rkey = wqe.rkey;
    e.wqe.num_sge = wqe.num_sge;
    if (wqe.ah.value != 0) [[unlikely]]
      e.wqe.ah = wqe.ah, e.wqe.remote_qpn = wqe.remote_qpn, e.wqe.remote_qkey = wqe.remote_qkey;
    e.wqe.remote_srqn = wqe.remote_srqn;
    if (wqe.opcode >= WrOpcode::kCompareSwap) e.wqe.compare_add = wqe.compare_add, e.wqe.swap = wqe.swap;
    std::copy_n(wqe.sge.begin(), wqe.num_sge, e.wqe.sge.begin());
    e.number = front_number_ + ring_.size() - 1;
    e.length = e.message_length = length;
    e.continues = e.continued = false;
    e.first = end_;
    e.end = end_ += packets;
    e.wqe_sn = 0;
    e.response_first = e.response_end = e.response_next = e.first;
    e.cc_mark = {};
    e.started = e.checked = e.bad = e.done = false;
    return e;
  }
  std::size_t work_requests() const { return ring_.size() - pieces_; }
  // The entry just pushed is a piece of a READ of `message_length` bytes: not its first one if `continued`,
  // and more follow if `continues`.
  void mark_piece(SendEntry& e, std::uint32_t message_length, bool continued, bool continues) {
    e.message_length = message_length;
    e.continued = continued;
    e.continues = continues;
    if (continues) ++pieces_;
  }
  void pop_front() {
    if (ring_.front().continues) --pieces_;
    ring_.pop_front();
    ++front_number_;
  }
  // The WQE that `psn` belongs to; front().first <= psn < end(). Cheap when PSNs are asked for in order.
  SendEntry& find(UnwrappedPsn psn) {
    cursor_ = std::max(cursor_, front_number_);
    if (cursor_ < end_number() && at(cursor_).end <= psn) ++cursor_;
    if (cursor_ >= end_number() || psn < at(cursor_).first || psn >= at(cursor_).end) cursor_ = search(psn);
    return at(cursor_);
  }

 private:
  std::uint64_t search(UnwrappedPsn psn) const {
    std::uint64_t low = front_number_, high = end_number();
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      (at(middle).first <= psn ? low : high) = middle;
    }
    return low;
  }

  Ring<SendEntry> ring_;
  std::uint64_t front_number_ = 0;
  std::size_t pieces_ = 0;    // entries that another of the same work request follows
  std::uint64_t cursor_ = 0;  // number of the entry found last
  UnwrappedPsn end_ = 0;
};

}  // namespace rocelab
