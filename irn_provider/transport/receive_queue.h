// ReceiveQueue: the receive WQEs of one QP, numbered in the order of posting (recv_WQE_SN in IRN,
// Mittal, 4.4.3) and consumed in that order. IRN looks ahead by number; go-back-N only at the front.
//
// With a shared receive queue numbers are given to WQEs as they are dequeued from it, when a packet needs
// them (Mittal, 4.4.4): in order one WQE, out of order all up to the packet's number. What was dequeued
// stays with the QP until a message consumes it, or ERR flushes it. An XRC target turns to the queue that
// each message names.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/ring.h"
#include "irn_provider/transport/shared_receive_queue.h"
#include "irn_provider/transport/verbs_types.h"

namespace rocelab {

class ReceiveQueue {
 public:
  // `pd`: of the QP, or of the SRQ. `shared`: null, or where WQEs come from; it outlives the queue.
  ReceiveQueue(Pdn pd, std::uint32_t capacity, SharedReceiveQueue* shared)
      : pd_(shared != nullptr ? shared->pd : pd), capacity_(capacity), shared_(shared) {}

  // The next message's WQE comes from there. Precondition: empty().
  void turn_to(SharedReceiveQueue& shared) {
    shared_ = &shared;
    pd_ = shared.pd;
  }
  bool takes_from(const SharedReceiveQueue& shared) const { return shared_ == &shared; }
  // The shared queue goes, and what was dequeued from it: what the QP has of it is no more.
  void forget(const SharedReceiveQueue& shared) {
    if (shared_ != &shared) return;
    shared_ = nullptr;
    ring_.clear();
  }

  Pdn pd() const { return pd_; }
  bool is_shared() const { return shared_ != nullptr; }
  bool full() const { return ring_.size() >= capacity_; }
  bool empty() const { return ring_.empty(); }
  std::uint64_t head() const { return head_; }                // oldest that is not consumed
  std::uint64_t end() const { return head_ + ring_.size(); }  // one past the youngest
  std::uint32_t size() const { return static_cast<std::uint32_t>(ring_.size()); }
  const RecvWqe& at(std::uint64_t sn) const { return ring_[sn - head_]; }  // head <= sn < end
  bool has(std::uint64_t sn) const { return sn >= head_ && sn < end(); }

  // Whether WQE `sn` is here, dequeued from the SRQ with those before it if need be. One that the SRQ cannot
  // reach takes none: a packet that is dropped for want of a WQE leaves the SRQ as it was.
  bool fetch(std::uint64_t sn) {
    if (shared_ != nullptr && sn >= end() && sn - end() < shared_->size())
      while (sn >= end()) ring_.push_back(shared_->take());
    return has(sn);
  }
  bool fetch_front() { return fetch(head_); }

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
  Pdn pd_;
  std::uint32_t capacity_;
  SharedReceiveQueue* shared_;
  std::uint64_t head_ = 0;
};

}  // namespace rocelab
