// EdgeAqm: queue management at the receiving edge by the slack that frames have used (Mittal, 5.3.1
// and 5.3.2): Edge-CoDel and Edge-ECN. The chapter puts it into the egress switch; between that and the NIC
// is a constant delay, and here is the state of each flow already.
#pragma once

#include <cstdint>
#include <vector>

#include "base/codel.h"
#include "base/slack.h"
#include "irn_provider/transport/slack_config.h"

namespace rocelab {

class EdgeAqm {
 public:
  enum class Verdict : std::uint8_t { kPass, kMark, kDrop };
  // `beyond`: the time of a full frame on the slowest link.
  EdgeAqm(const EdgeConfig& config, Duration beyond)
      : config_(config), mark_above_(static_cast<std::int64_t>(config.packets) * beyond) {}

  bool on() const { return config_.aqm != EdgeConfig::Aqm::kNone; }
  // Of a data frame for the queue pair in `slot`.
  Verdict judge(std::uint32_t slot, const Slack& slack, Time now) {
    if (config_.aqm == EdgeConfig::Aqm::kEcn)
      return slack.used() > mark_above_ ? Verdict::kMark : Verdict::kPass;
    if (slot >= flows_.size()) flows_.resize(slot + 1);
    Flow& flow = flows_[slot];
    // Without waiting it would have come so much earlier: for frames of one length a constant after it was
    // sent.
    const Time sent = now - slack.used();
    if (!flow.last_sent.is_never() && sent >= flow.last_sent + config_.refresh) flow.law.interrupt();
    flow.last_sent = sent;
    return flow.law.drops(slack.used() >= config_.target, now, config_.interval) ? Verdict::kDrop
                                                                                 : Verdict::kPass;
  }
  void forget(std::uint32_t slot) {  // another queue pair has it
    if (slot < flows_.size()) flows_[slot] = {};
  }

 private:
  struct Flow {
    CodelLaw law;
    Time last_sent = Time::never();
  };
  EdgeConfig config_;
  Duration mark_above_;
  std::vector<Flow> flows_;
};

}  // namespace rocelab
