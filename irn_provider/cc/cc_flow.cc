#include "irn_provider/cc/cc_flow.h"

#include <algorithm>

#include "base/check.h"

namespace rocelab {
namespace {

std::unique_ptr<CongestionControl> make_algorithm(const CcConfig& config, Rate line_rate,
                                                  std::uint32_t path_mtu, std::uint32_t bdp_cap) {
  switch (config.kind) {
    case CcKind::kDcqcn:
      return std::make_unique<DcqcnRp>(config.dcqcn, line_rate);
    case CcKind::kTimely:
      return std::make_unique<Timely>(config.timely, line_rate, path_mtu);
    case CcKind::kAimd:
      return std::make_unique<Aimd>(config.aimd, line_rate, bdp_cap);
    case CcKind::kDctcp:
      return std::make_unique<Dctcp>(config.dctcp, line_rate, bdp_cap);
    case CcKind::kRocc:
      return std::make_unique<RoccRp>(config.rocc, line_rate);
    case CcKind::kHpcc:
      return std::make_unique<Hpcc>(config.hpcc, line_rate, path_mtu);
    case CcKind::kNone:
      break;
  }
  RL_CHECK(false);  // a QP without congestion control has no CcFlow
  return nullptr;
}

}  // namespace

CcFlow::CcFlow(const CcConfig& config, Rate line_rate, std::uint32_t path_mtu, std::uint32_t bdp_cap)
    : config_(config),
      line_(line_rate),
      algorithm_(make_algorithm(config, line_rate, path_mtu, bdp_cap)),
      pacer_(line_rate, config.lazy_rate()),
      path_mtu_(path_mtu) {}

void CcFlow::start(Time now) {
  const Bytes segment = config_.segment();
  segment_payload_ = segment.count() == 0
                         ? 0
                         : static_cast<std::uint32_t>(std::max<std::int64_t>(segment.count(), path_mtu_));
  segment_sent_ = 0;
  total_ = {};
  algorithm_->start(now);
  pacer_.start();
  clock_.start();
}

Rate CcFlow::burst_rate() const {
  return config_.burst_rate().bps() == 0 ? line_ : std::min(config_.burst_rate(), line_);
}

void CcFlow::on_sent(CcStream stream, const CcPacket& packet, Time now) {
  if (!governs(stream)) return;
  const Bytes wire = wire_bytes(packet.frame);
  const bool ends = ends_segment(packet.payload, packet.ends_message);
  algorithm_->on_sent(packet.frame, now);
  total_ += wire;
  if (has_segments() && stream == CcStream::kRequests) {
    if (packet.retransmission)
      clock_.on_resent(packet.psn);
    else
      clock_.on_sent(packet.psn, wire, total_, ends, now);
  }
  segment_sent_ = ends ? 0 : segment_sent_ + packet.payload;
  pacer_.on_sent(wire, ends, algorithm_->rate(now), burst_rate(), now);
}

CcReadMark CcFlow::on_read_requested(Bytes frame, Bytes wire, bool retransmission, Time now) {
  const Bytes charged = reads_at_requester() ? wire : wire_bytes(frame);
  const CcReadMark mark{now, charged, total_, !retransmission && reads_at_requester()};
  algorithm_->on_sent(frame, now);
  total_ += charged;
  segment_sent_ = 0;
  pacer_.on_sent(charged, true, algorithm_->rate(now), line_, now);
  return mark;
}

void CcFlow::on_read_done(const CcReadMark& mark, Time now) {
  if (!mark.clean) return;
  algorithm_->on_rtt(SegmentClock::sample(mark.sent_at, mark.wire, mark.total_before, total_, line_, now),
                     now);
}

void CcFlow::on_ack(CcStream stream, const CcAck& ack, Time now) {
  if (!governs(stream)) return;
  algorithm_->on_ack(ack, now);
  if (!has_segments() || stream != CcStream::kRequests) return;
  while (const auto sample = clock_.take(ack.una, total_, burst_rate(), now))
    algorithm_->on_rtt(*sample, now);
}

}  // namespace rocelab
