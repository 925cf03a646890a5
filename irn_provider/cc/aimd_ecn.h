// AimdEcn: AIMD that answers marks as TCP does with ECN.
// Source: RFC 3168, 6.1.2: a mark is answered as a loss would be, at most once per window, and resends
// nothing. The receiver repeats a mark until the sender says that it has answered (6.1.3), which says no more
// than the marks of single acknowledgements here: those of one window are one.
#pragma once

#include <limits>
#include <span>
#include <string_view>

#include "irn_provider/cc/aimd.h"

namespace rocelab {

class AimdEcn final : public CongestionControl {
 public:
  using Params = AimdParams;
  static constexpr std::string_view kName = "aimd_ecn";
  static constexpr CcNeeds kNeeds{.marks = true, .bdp = true, .packet_acks = true};
  static std::span<const CcPresetOf<Params>> presets();
  static Schema<Params> schema();

  AimdEcn(const Params& params, const CcContext& context) : aimd_(params, context) {}

  void start(Time now) override {
    aimd_.start(now);
    answered_ = std::numeric_limits<UnwrappedPsn>::min();
  }
  void on_ack(const CcAck& ack, Time now) override;
  void on_loss(CcLoss loss, Time now) override { aimd_.on_loss(loss, now); }
  Rate rate(Time now) override { return aimd_.rate(now); }
  std::int64_t window() const override { return aimd_.window(); }

 private:
  Aimd aimd_;
  UnwrappedPsn answered_ =
      std::numeric_limits<UnwrappedPsn>::min();  // marks of packets below have had their answer
};

}  // namespace rocelab
