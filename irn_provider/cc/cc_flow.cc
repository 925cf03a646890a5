#include "irn_provider/cc/cc_flow.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "irn_provider/cc/cc_algorithm.h"
#include "irn_provider/cc/unpaced.h"

namespace rocelab {
namespace {

std::unique_ptr<CongestionControl> make_algorithm(const CcConfig& config, const CcContext& context) {
  if (const CcAlgorithm* algorithm = algorithm_of(config)) return algorithm->make(config, context);
  RL_CHECK(config.in_use());
  return std::make_unique<Unpaced>(context.line_rate);
}

std::unique_ptr<CongestionControl> make_algorithm(const CcConfig& config, const CcContext& context,
                                                  HeardRates::Hear hear) {
  auto algorithm = make_algorithm(config, context);
  if (!config.trace_rates || !hear) return algorithm;
  return std::make_unique<HeardRates>(std::move(algorithm), std::move(hear));
}

Rate inside_bursts(Rate configured, Rate line) {
  return configured.bps() == 0 ? line : std::min(configured, line);
}

}  // namespace

CcFlow::CcFlow(const CcConfig& config, const CcContext& context, HeardRates::Hear hear)
    : needs_(config.needs()),
      line_(context.line_rate),
      algorithm_(make_algorithm(config, context, std::move(hear))),
      pacer_(context.line_rate, needs_.lazy_rate),
      path_mtu_(context.path_mtu),
      burst_rate_(inside_bursts(config.burst().rate, context.line_rate)),
      burst_size_(config.burst().segment),
      timed_size_(config.timed_segment()) {}

CcFlow::Segments CcFlow::segments_of(Bytes size) const {
  return {size.count() == 0 ? 0 : static_cast<std::uint32_t>(std::max<std::int64_t>(size.count(), path_mtu_)),
          0};
}

void CcFlow::start(Time now) {
  burst_ = segments_of(burst_size_);
  timed_ = segments_of(timed_size_);
  algorithm_->start(now);
  pacer_.start();
  clock_.start();
}

void CcFlow::on_sent(CcStream stream, const CcPacket& packet, Time now) {
  if (!governs(stream)) return;
  const Bytes wire = wire_bytes(packet.frame);
  const bool ends_burst = burst_.ends(packet.payload, packet.ends_message, path_mtu_);
  algorithm_->on_sent(packet.frame, now);
  total_ += wire;
  if (takes_rtts() && stream == CcStream::kRequests) {
    const bool ends = ends_timed_segment(packet.payload, packet.ends_message);
    if (packet.retransmission)
      clock_.on_resent(packet.psn);
    else
      clock_.on_sent(packet.psn, wire, total_, ends, now);
    timed_.add(packet.payload, ends);
  }
  burst_.add(packet.payload, ends_burst);
  pacer_.on_sent(wire, ends_burst, algorithm_->rate(now), burst_rate_, now);
}

CcReadMark CcFlow::on_read_requested(Bytes frame, Bytes wire, bool retransmission, Time now) {
  const Bytes charged = reads_at_requester() ? wire : wire_bytes(frame);
  const CcReadMark mark{now, charged, total_, !retransmission && reads_at_requester()};
  algorithm_->on_sent(frame, now);
  total_ += charged;
  burst_.sent = timed_.sent = 0;
  pacer_.on_sent(charged, true, algorithm_->rate(now), line_, now);
  return mark;
}

std::optional<RttSample> CcFlow::on_read_done(const CcReadMark& mark, UnwrappedPsn last, Time now) {
  if (!mark.clean) return std::nullopt;
  const RttSample sample = SegmentClock::sample(last, mark.sent_at, transfer_time(mark.wire, line_),
                                                mark.total_before, total_, now);
  algorithm_->on_rtt(sample, now);
  return sample;
}

void CcFlow::on_ack(CcStream stream, const CcAck& ack, Time now) {
  if (governs(stream)) algorithm_->on_ack(ack, now);
}

std::optional<RttSample> CcFlow::next_rtt(UnwrappedPsn una, Time now) {
  if (!takes_rtts()) return std::nullopt;
  const std::optional<RttSample> sample = clock_.take(una, total_, burst_rate_, line_, now);
  if (sample) algorithm_->on_rtt(*sample, now);
  return sample;
}

}  // namespace rocelab
