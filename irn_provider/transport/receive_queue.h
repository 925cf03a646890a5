// ReceiveQueue: the receive WQEs of one QP, numbered in the order of posting (recv_WQE_SN in IRN, seed
// 004, 4.4.3) and consumed in that order. IRN looks ahead by number; go-back-N only at the front.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/ring.h"
#include "irn_provider/transport/verbs_types.h"

namespace rocelab {

class ReceiveQueue {
 public:
  explicit ReceiveQueue(std::uint32_t capacity) : capacity_(capacity) {}

  bool full() const { return ring_.size() >= capacity_; }
  bool empty() const { return ring_.empty(); }
  std::uint64_t head() const { return head_; }                // oldest that is not consumed
  std::uint64_t end() const { return head_ + ring_.size(); }  // one past the youngest
  std::uint32_t size() const { return static_cast<std::uint32_t>(ring_.size()); }
  const RecvWqe& at(std::uint64_t sn) const { return ring_[sn - head_]; }  // head <= sn < end
  bool has(std::uint64_t sn) const { return sn >= head_ && sn < end(); }

  void post(const RecvWqe& wqe) {
    RecvWqe& slot = ring_.push_slot();
    slot.wr_id = wqe.wr_id;
    slot.num_sge = wqe.num_sge;
    std::copy_n(wqe.sge.begin(), wqe.num_sge, slot.sge.begin());
  }
  void consume() {  // the oldest
    ring_.pop_front();
    ++head_;
  }
  void reset() {
    ring_.clear();
    head_ = 0;
  }

 private:
  Ring<RecvWqe> ring_;
  std::uint32_t capacity_;
  std::uint64_t head_ = 0;
};

}  // namespace rocelab
