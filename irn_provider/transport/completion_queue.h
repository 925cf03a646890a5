// CompletionQueue: CQEs in the order in which they were made. One that finds it full is lost and the CQ is
// overrun for good: it takes no more (IBTA Vol 1, 11.6.3.2).
#pragma once

#include <cstdint>
#include <optional>

#include "base/ring.h"
#include "irn_provider/transport/verbs_types.h"

namespace rocelab {

class CompletionQueue {
 public:
  CompletionQueue() = default;
  explicit CompletionQueue(std::uint32_t entries) : entries_(entries) {}

  // False: the CQE is lost.
  bool push(const Cqe& cqe) {
    overrun_ = overrun_ || ring_.size() >= entries_;
    if (overrun_) return false;
    ring_.push_back(cqe);
    ++made_;
    if (cqe.solicited) last_solicited_ = made_;
    return true;
  }
  std::optional<Cqe> poll() {
    if (ring_.empty()) return std::nullopt;
    return ring_.take_front();
  }
  void forget(Qpn qp) {  // the QP's CQEs that nobody has polled
    for (std::size_t n = ring_.size(); n > 0; --n) {
      const Cqe cqe = ring_.take_front();
      if (cqe.qpn != qp) ring_.push_back(cqe);
    }
  }
  bool resize(std::uint32_t entries) {  // false: more CQEs wait
    if (ring_.size() > entries) return false;
    entries_ = entries;
    return true;
  }
  std::size_t depth() const { return ring_.size(); }
  bool overrun() const { return overrun_; }
  std::uint64_t made() const { return made_; }  // since its creation
  // The number, from 1, of the last one that is solicited or an error (Cqe::solicited); 0: none.
  std::uint64_t last_solicited() const { return last_solicited_; }

  Cqn number;               // in events; set once
  std::uint32_t users = 0;  // QPs that report here

 private:
  Ring<Cqe> ring_;
  std::uint32_t entries_ = 0;
  bool overrun_ = false;
  std::uint64_t made_ = 0, last_solicited_ = 0;
};

}  // namespace rocelab
