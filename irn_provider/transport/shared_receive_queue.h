// SharedReceiveQueue: receive WQEs that several QPs take from, in the order in which they were posted.
// Source: IBTA Vol 1, 10.2.9 (SRQ), 11.6.3.1 (limit reached), annex A14 (an XRC SRQ belongs to an XRC domain,
// whose target QPs take from it as their peers' requests say; completions go to its own CQ). Its limit is
// armed by a program and disarms itself when a WQE that is taken leaves fewer than that, as in Linux rxe;
// arming it below what waits already says nothing until the next WQE is taken.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/ring.h"
#include "irn_provider/transport/async_events.h"
#include "irn_provider/transport/completion_queue.h"
#include "irn_provider/transport/handle_table.h"
#include "irn_provider/transport/verbs_types.h"

namespace rocelab {

class SharedReceiveQueue {
 public:
  // `xrc_domain` and `completions`: of an XRC SRQ, else 0 and null.
  SharedReceiveQueue(AsyncEvents& events, Pdn domain, const SrqAttr& attributes, Xrcdn xrc_domain = {},
                     CompletionQueue* completions = nullptr)
      : pd(domain), xrcd(xrc_domain), cq(completions), events_(events), attr_(attributes) {}

  const Pdn pd;
  const Xrcdn xrcd;           // 0: not an XRC SRQ
  CompletionQueue* const cq;  // XRC
  Srqn number;                // in events and XRCETHs; set once
  std::uint32_t users = 0;    // QPs that take from here

  const SrqAttr& attr() const { return attr_; }
  std::size_t size() const { return ring_.size(); }
  // False: more WQEs wait than `max_wr`.
  bool resize(std::uint32_t max_wr) {
    if (ring_.size() > max_wr) return false;
    attr_.max_wr = max_wr;
    return true;
  }
  void arm(std::uint32_t limit) { attr_.limit = limit; }  // 0: disarm

  PostResult post(const RecvWqe& wqe) {
    if (wqe.num_sge > std::min<std::uint32_t>(attr_.max_sge, kMaxSge)) return PostResult::kBadSge;
    if (ring_.size() >= attr_.max_wr) return PostResult::kQueueFull;
    ring_.push_back(wqe);
    return PostResult::kOk;
  }
  RecvWqe take() {  // precondition: size() > 0
    RecvWqe wqe = ring_.take_front();
    if (ring_.size() < attr_.limit) {
      attr_.limit = 0;
      events_.raise({AsyncEvent::Kind::kSrqLimit, number.value});
    }
    return wqe;
  }

 private:
  AsyncEvents& events_;
  SrqAttr attr_;
  Ring<RecvWqe> ring_;
};

// A NIC's, by number. Numbers of XRC SRQs travel in packets: 24 bits.
using SrqTable = HandleTable<std::unique_ptr<SharedReceiveQueue>, 24>;

}  // namespace rocelab
