// Dctcp: a window that shrinks by the share of marked packets.
// Source: Alizadeh et al., Data Center TCP, SIGCOMM 2010 ([8] of Mittal), 3.1 and 3.3 (sender: equations 1
// and 2; the receiver here acknowledges and echoes packet by packet); RFC 8257 for what it leaves open (alpha
// begins at 1; a loss halves). With IRN: Mittal, 4.3.4, last paragraph; it begins with the path's BDP
// (aimd.h).
#pragma once

#include <span>
#include <string_view>

#include "base/schema.h"
#include "irn_provider/cc/cc_needs.h"
#include "irn_provider/cc/congestion_control.h"

namespace rocelab {

struct DctcpParams {
  double g = 1.0 / 16;               // weight of a window's share of marks in alpha; 4.1
  std::uint32_t initial_window = 0;  // packets; 0 = the BDP cap (10 where there is none)
  double increase = 1;               // packets per window acknowledged
  std::uint32_t min_window = 2;      // packets
};

class Dctcp final : public CongestionControl {
 public:
  using Params = DctcpParams;
  static constexpr std::string_view kName = "dctcp";
  static constexpr CcNeeds kNeeds{.marks = true, .bdp = true, .packet_acks = true};
  static std::span<const CcPresetOf<Params>> presets();
  static Schema<Params> schema();

  Dctcp(const DctcpParams& params, const CcContext& context);

  void start(Time now) override;
  void on_ack(const CcAck& ack, Time now) override;
  void on_loss(CcLoss loss, Time now) override;
  Rate rate(Time /*now*/) override { return line_; }
  std::int64_t window() const override { return static_cast<std::int64_t>(window_); }
  double alpha() const { return alpha_; }

 private:
  void shrink(double share);

  DctcpParams params_;
  Rate line_;
  double first_, most_;
  double window_ = 1, alpha_ = 1;
  std::int64_t answers_ = 0, marked_ = 0;  // acknowledgements in the present window of data
  UnwrappedPsn window_end_ = 0;            // it ends when everything below is acknowledged
  UnwrappedPsn next_ = 0, recover_ = 0;    // as aimd.h
};

}  // namespace rocelab
