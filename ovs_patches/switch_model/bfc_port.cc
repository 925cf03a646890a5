#include "ovs_patches/switch_model/bfc_port.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace rocelab {

BfcEgress::BfcEgress(const BfcLaw& law, const Rng& rng)
    : law_(law), rng_(rng), flows_(law.flows), queues_(law.queues) {
  RL_CHECK(law.queues >= 1 && law.queues <= kMostQueues && law.flows >= 1);
}

// An empty queue that is not paused, sought from a random one on; else a random one.
std::uint8_t BfcEgress::assign() {
  const auto from = static_cast<std::uint32_t>(rng_.below(law_.queues));
  const std::uint64_t free = all() & ~waiting_ & ~paused_;
  if (free == 0) {
    ++shared_queues_;
    return static_cast<std::uint8_t>(from);
  }
  const std::uint64_t behind = free >> from << from;
  return static_cast<std::uint8_t>(std::countr_zero(behind != 0 ? behind : free));
}

BfcEgress::Joined BfcEgress::on_joined(std::uint64_t flow_number, Bytes frame, Time now) {
  Flow& flow = flow_of(flow_number);
  if (!flow.known || (flow.frames == 0 && now - flow.seen > law_.hysteresis)) flow.queue = assign();
  flow.known = true;
  flow.seen = now;
  ++flow.frames;
  queues_[flow.queue] += frame;
  waiting_ |= std::uint64_t{1} << flow.queue;
  return {flow.queue, flow.frames > 1 && queues_[flow.queue] > threshold()};
}

void BfcEgress::on_left(std::uint64_t flow_number, std::uint8_t queue, Bytes frame, Time now) {
  Flow& flow = flow_of(flow_number);
  RL_CHECK(flow.frames > 0 && queues_[queue] >= frame);
  --flow.frames;
  flow.seen = now;
  queues_[queue] -= frame;
  if (queues_[queue] == 0_B) waiting_ &= ~(std::uint64_t{1} << queue);
}

std::uint64_t BfcEgress::set_paused(const BfcQueues& paused) {
  const std::uint64_t before = paused_;
  paused_ = paused.word(0) & all();
  return before ^ paused_;
}

Bytes BfcEgress::threshold() const {
  return law_.pause_bytes / std::max(1, std::popcount(waiting_ & ~paused_));
}

}  // namespace rocelab
