#include "emu/runner/flow_draw.h"

#include <utility>

#include "emu/runner/workload_parts.h"

namespace rocelab {

FlowDraw::FlowDraw(const Settings& settings, const WorkloadSettings& workload, Rng rng)
    : settings_(settings),
      w_(workload),
      rng_(std::move(rng)),
      senders_(senders_of(workload, settings.topology)) {}

Bytes FlowDraw::size(const SizeSettings& sizes) {
  if (!sizes.cdf.empty()) return sizes.cdf.draw(rng_);
  const std::int64_t span = sizes.max.count() - sizes.min.count();
  return span == 0 ? sizes.min
                   : sizes.min + Bytes::from_count(static_cast<std::int64_t>(
                                     rng_.below(static_cast<std::uint64_t>(span) + 1)));
}

Duration FlowDraw::jitter() {
  if (w_.jitter.ps() <= 0) return {};
  return Duration::from_ps(static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(w_.jitter.ps()))));
}

Flow& FlowDraw::add_plain(std::uint32_t src, std::uint32_t dst, Duration after) {
  Flow flow;
  flow.group = w_.name;
  flow.src = src;
  flow.dst = dst;
  flow.op = w_.op;
  flow.start = Time::zero() + w_.start + after;
  flow.qps = w_.qps;
  flow.queue_pairs = w_.queue_pairs;
  flow.connection = w_.queue_pairs == QueuePairs::kPersistent ? 1 : 0;
  flow.dscp = w_.dscp;
  flow.service = w_.service;
  flow.stop = w_.stop == Duration::infinite() ? Time::never() : Time::zero() + w_.stop;
  flow.settle = w_.settle;
  flows_.push_back(std::move(flow));
  return flows_.back();
}

Flow& FlowDraw::add(std::uint32_t src, std::uint32_t dst, Duration after) {
  Flow& flow = add_plain(src, dst, after);
  flow.size = size();
  flow.start = flow.start + jitter();
  return flow;
}

std::vector<Flow> FlowDraw::take() {
  std::erase_if(flows_, [](const Flow& flow) { return flow.start >= flow.stop; });
  return std::move(flows_);
}

}  // namespace rocelab
