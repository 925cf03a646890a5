// Aimd: TCP's additive increase, multiplicative decrease of a window in packets, with or without slow start.
// Source: RFC 5681, 3.1 and 3.2; Mittal, 4.3.4, last paragraph ("TCP's AIMD with IRN"), and with slow start
// 4.3.6 (iWARP's transport). Losses come from the transport's recovery, once for each that begins: the window
// does not grow until everything that was out then is acknowledged. Without slow start a flow begins with the
// path's BDP, as every flow of 4.3.1 begins at line rate, and a timeout halves; with it, RFC 5681 holds.
#pragma once

#include <span>
#include <string_view>

#include "base/schema.h"
#include "irn_provider/cc/cc_needs.h"
#include "irn_provider/cc/congestion_control.h"

namespace rocelab {

struct AimdParams {
  std::uint32_t initial_window = 0;  // packets; 0 = the BDP cap (10, RFC 6928, where there is none)
  bool slow_start = false;
  double increase = 1;           // packets per window acknowledged
  double decrease = 0.5;         // share of the window that a loss leaves
  std::uint32_t min_window = 2;  // packets that a loss leaves at least; RFC 5681, equation 4
};

// Packets that a window-based flow begins with, and the most that it may use (BDP-FC holds beside it).
double first_window(std::uint32_t configured, std::uint32_t bdp_cap);
double largest_window(std::uint32_t bdp_cap);
// Whether an acknowledgement may open the window: RFC 7661, a window of which less than half was in use, here
// `was_out` packets, has not been tried. A port that is busy with what the window allows does not count as
// unused.
inline bool grows(double window, double most, double was_out) {
  return window < most && window < 2 * was_out;
}

class Aimd final : public CongestionControl {
 public:
  using Params = AimdParams;
  static constexpr std::string_view kName = "aimd";
  static constexpr CcNeeds kNeeds{.bdp = true, .packet_acks = true};
  static std::span<const CcPresetOf<Params>> presets();
  static Schema<Params> schema();

  Aimd(const AimdParams& params, const CcContext& context)
      : params_(params),
        line_(context.line_rate),
        first_(first_window(params.initial_window, context.bdp_cap)),
        most_(largest_window(context.bdp_cap)) {
    start(Time::zero());
  }

  void start(Time now) override;
  void on_ack(const CcAck& ack, Time now) override;
  void on_loss(CcLoss loss, Time now) override;
  Rate rate(Time /*now*/) override { return line_; }
  std::int64_t window() const override { return static_cast<std::int64_t>(window_); }

 private:
  AimdParams params_;
  Rate line_;
  double first_, most_;       // packets
  double window_ = 1;         // cwnd, packets
  double threshold_ = 0;      // ssthresh, packets
  UnwrappedPsn next_ = 0;     // first never sent, as of the last acknowledgement
  UnwrappedPsn recover_ = 0;  // RFC 6582: no growth until everything below is acknowledged
};

}  // namespace rocelab
