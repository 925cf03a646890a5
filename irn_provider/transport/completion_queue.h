// CompletionQueue: CQEs in the order in which they were made. One that finds it full is lost and the CQ is
// overrun for good (IBTA Vol 1, 11.6.3.2).
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

  void push(const Cqe& cqe) {
    if (ring_.size() >= entries_)
      overrun_ = true;
    else
      ring_.push_back(cqe);
  }
  std::optional<Cqe> poll() {
    if (ring_.empty()) return std::nullopt;
    return ring_.take_front();
  }
  std::size_t depth() const { return ring_.size(); }
  bool overrun() const { return overrun_; }

  std::uint32_t users = 0;  // QPs that report here

 private:
  Ring<Cqe> ring_;
  std::uint32_t entries_ = 0;
  bool overrun_ = false;
};

}  // namespace rocelab
