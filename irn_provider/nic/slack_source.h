// SlackSource: the slack of each frame at the instant at which it leaves its NIC (base/slack.h), by the law
// of the scenario. A message is a flow: of one that is sent in several messages each has the slack of its own
// size. A retransmission gets a new slack by the same law.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/slack.h"
#include "base/units.h"
#include "irn_provider/transport/slack_config.h"

namespace rocelab {

class SlackSource {
 public:
  explicit SlackSource(const SlackConfig& config) : config_(config) {}

  // Of a frame of the queue pair in `slot`. `packets`, `left`: those of its message, and those from this one
  // on.
  std::int64_t of_data(std::uint32_t slot, std::uint32_t packets, std::uint32_t left, Bytes frame, Time now) {
    if (slot < flows_.size() && flows_[slot].packets > 0) {
      packets = flows_[slot].packets;
      left = std::max(flows_[slot].left, 1u);
      flows_[slot].left = left - 1;
    }
    switch (config_.law) {
      case SlackLaw::kFlowSize:
        return times(packets);
      case SlackLaw::kRemaining:
        return times(left);
      case SlackLaw::kVirtualClock:
        return clock(2 * slot).next(frame, config_.rate, now);
      case SlackLaw::kReplay:  // ReplayPort's affair
      case SlackLaw::kReplayExit:
      case SlackLaw::kOmniscient:
      case SlackLaw::kConstant:
      case SlackLaw::kNone:
        break;
    }
    return bounded(config_.value.ps());
  }
  // Of an answer or a CNP: with kVirtualClock they are a flow of their own.
  std::int64_t of_answer(std::uint32_t slot, Bytes frame, Time now) {
    if (config_.law == SlackLaw::kVirtualClock) return clock(2 * slot + 1).next(frame, config_.rate, now);
    return bounded(config_.acks.ps());
  }
  // All that the queue pair sends is one flow of so many packets, in however many messages: datagrams.
  void announce(std::uint32_t slot, std::uint32_t packets) {
    if (slot >= flows_.size()) flows_.resize(slot + 1);
    flows_[slot] = {packets, packets};
  }
  void forget(std::uint32_t slot) {  // another queue pair has it: its first frame has slack 0
    if (slot < flows_.size()) flows_[slot] = {};
    for (const std::uint32_t at : {2 * slot, 2 * slot + 1})
      if (at < clocks_.size()) clocks_[at] = {};
  }

 private:
  // 5.2.3: slack_0 = 0, slack_i = max(0, slack_(i-1) + size_i / r_est - (t_i - t_(i-1))).
  struct VirtualClock {
    std::int64_t slack = 0;
    Time last = Time::never();
    std::int64_t next(Bytes frame, Rate rate, Time now) {
      if (!last.is_never())
        slack =
            std::clamp<std::int64_t>(slack + (wire_time(frame, rate) - (now - last)).ps(), 0, Slack::kMost);
      last = now;
      return slack;
    }
  };
  struct Flow {
    std::uint32_t packets = 0, left = 0;  // 0: each message is a flow
  };
  static std::int64_t bounded(std::int64_t ps) { return std::clamp(ps, -Slack::kMost, Slack::kMost); }
  // Requests without payload are a message of one packet.
  std::int64_t times(std::uint32_t packets) const {
    const __int128 ps = static_cast<__int128>(config_.per_packet.ps()) * std::max(packets, 1u);
    return static_cast<std::int64_t>(std::min<__int128>(ps, Slack::kMost));
  }
  VirtualClock& clock(std::uint32_t at) {
    if (at >= clocks_.size()) clocks_.resize(at + 1);
    return clocks_[at];
  }

  SlackConfig config_;
  std::vector<Flow> flows_;           // by slot
  std::vector<VirtualClock> clocks_;  // two of each slot: what it sends, and its answers
};

}  // namespace rocelab
