// Bfc: the sender of BFC (backpressure flow control), which has no rate of its own: a queue pair sends at
// line rate while the switch at the other end of the NIC's link does not pause the queue that its frames name
// (base/bfc.h). Source: Goyal et al., "Backpressure Flow Control", NSDI 2022. The NIC holds the paused queue
// pairs back (CcFlow::hold); the switches' law: ovs_patches/switch_model/bfc_port.h. DEVIATIONS.md#bfc.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/schema.h"
#include "irn_provider/cc/cc_needs.h"
#include "irn_provider/cc/congestion_control.h"

namespace rocelab {

struct BfcParams {
  std::uint32_t window = 0;  // packets in flight; 0: no limit, as in the authors' runs
};

class Bfc final : public CongestionControl {
 public:
  using Params = BfcParams;
  static constexpr std::string_view kName = "bfc";
  static constexpr CcNeeds kNeeds{.queue_pauses = true};
  static constexpr auto kFields =
      fields(field<&BfcParams::window>("window",
                                       "packets that a queue pair may have in flight; 0: no limit, as in "
                                       "the authors' runs (FIXED_WINDOW_SIZE of their simulator)")
                 .within(0, 1'000'000));
  static Schema<Params> schema() { return kFields; }

  Bfc(const Params& params, const CcContext& context)
      : line_(context.line_rate), window_(params.window == 0 ? kNoWindow : params.window) {}
  void start(Time /*now*/) override {}
  Rate rate(Time /*now*/) override { return line_; }
  std::int64_t window() const override { return window_; }

 private:
  Rate line_;
  std::int64_t window_;
};

}  // namespace rocelab
