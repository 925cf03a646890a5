// Rcp: the sender of RCP, which paces at the rate that its path has answered. Source: Dukkipati, "Rate
// Control Protocol (RCP): Congestion Control to Make Flows Complete Quickly", Stanford 2007. The switches'
// law: ovs_patches/switch_model/rcp_cp.h; the header: base/rcp.h. There the rate is asked for by the
// handshake; a queue pair is connected already, so that its first packet asks, and the others wait for the
// answer. A flow that is told less than a packet in kMostRoundTrips sends one, or it would hear of better
// times too late. DEVIATIONS.md#rcp.
#pragma once

#include <algorithm>
#include <string_view>

#include "base/schema.h"
#include "irn_provider/cc/cc_needs.h"
#include "irn_provider/cc/congestion_control.h"

namespace rocelab {

struct RcpRateParams {
  Rate min_rate = Rate::from_bps(128'000);  // of what a path may answer; the switches' own least
  Bytes segment = 1_B;                      // of one RTT sample: each packet, as in the authors' code
};

class Rcp final : public CongestionControl {
 public:
  using Params = RcpRateParams;
  static constexpr std::string_view kName = "rcp";
  static constexpr CcNeeds kNeeds{.packet_acks = true, .path_rate = true};
  static Schema<Params> schema();
  static CcBurst burst(const Params& params) { return {params.segment, {}}; }

  static constexpr std::int64_t kMostRoundTrips = 4;  // REF_FACT of the ns-2 code

  Rcp(const Params& params, const CcContext& context) : params_(params), line_(context.line_rate) {
    start(Time::zero());
  }

  void start(Time now) override;
  void on_sent(Bytes frame, Time /*now*/) override { packet_ = std::max(packet_, wire_bytes(frame)); }
  void on_ack(const CcAck& ack, Time now) override;
  void on_rtt(const RttSample& sample, Time now) override;
  RcpHeader path_request() const override { return RcpHeader::of(line_, rtt_); }
  Rate rate(Time /*now*/) override { return rate_; }
  std::int64_t window() const override { return answered_ ? kNoWindow : 1; }

 private:
  void settle();

  Params params_;
  Rate line_;  // the rate that it asks for
  bool answered_ = false;
  Rate told_;     // R_p of the last answer
  Rate rate_;     // by it
  Duration rtt_;  // the last one measured
  Bytes packet_;  // the largest, on the wire
};

}  // namespace rocelab
