#include "irn_provider/cc/aimd_ecn.h"

namespace rocelab {
namespace {

// 20 KB: Avci et al., "Congestion Aware Priority Flow Control in Data Center Networks", IFIP Networking 2016,
// table II, for 1 Gb/s.
constexpr CcMarking kMarking{20_KB, 20_KB, 1};
constexpr CcPresetOf<AimdParams> kPresets[] = {
    {"rfc3168", "RFC 3168 with RFC 5681; K: Avci et al., table II, 1 Gb/s", {}, kMarking},
    {"tcp",
     "as aimd's preset tcp; K: Avci et al., table II, 1 Gb/s",
     {.initial_window = 4, .slow_start = true},
     kMarking}};

}  // namespace

std::span<const CcPresetOf<AimdParams>> AimdEcn::presets() { return kPresets; }
Schema<AimdParams> AimdEcn::schema() { return Aimd::schema(); }

void AimdEcn::on_ack(const CcAck& ack, Time now) {
  aimd_.on_ack(ack, now);
  if (!ack.marked || ack.una <= answered_) return;
  aimd_.on_loss(CcLoss::kRecovery, now);
  answered_ = ack.next;
}

}  // namespace rocelab
