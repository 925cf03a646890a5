// AsyncEvents: what a NIC tells its program beside completions, in the order in which it happened. Source:
// IBTA Vol 1, 11.6.3 (asynchronous events and errors, affiliated and unaffiliated).
#pragma once

#include <cstdint>
#include <optional>

#include "base/ring.h"

namespace rocelab {

struct AsyncEvent {
  enum class Kind : std::uint8_t {
    kCqError,    // a CQE found its CQ full: the CQ takes no more, `number` is its Cqn
    kQpFatal,    // a QP whose completion was lost so is in ERR, by Qpn
    kQpLastWqe,  // a QP with an SRQ is in ERR and takes no more WQEs from it, by Qpn
    kSrqLimit,   // fewer WQEs wait than the limit that was armed, by Srqn
    // A QP refused a request that no receive WQE told of, and is in ERR, by Qpn: one that was wrong, or one
    // that asked for what is not granted. XRC targets, which have no CQ, tell of all.
    kQpRequestError,
    kQpAccessError,
    kCommEstablished,  // the peer's first request has come while the QP was in RTR, by Qpn
    kSqDrained,   // all that had begun when the QP went to SQD is complete, by Qpn; when it was asked for
    kPortActive,  // the port's link has come back; no number
    kPortError,   // and has failed
  };
  Kind kind = Kind::kCqError;
  std::uint32_t number = 0;
  friend bool operator==(const AsyncEvent&, const AsyncEvent&) = default;
};

class AsyncEvents {
 public:
  // `wake` grows with each event, as it does with each completion: drivers look when it does.
  explicit AsyncEvents(std::uint64_t& wake) : wake_(wake) {}

  void raise(const AsyncEvent& event) {
    ring_.push_back(event);
    ++wake_;
  }
  std::optional<AsyncEvent> take() {
    if (ring_.empty()) return std::nullopt;
    return ring_.take_front();
  }

 private:
  std::uint64_t& wake_;
  Ring<AsyncEvent> ring_;
};

}  // namespace rocelab
