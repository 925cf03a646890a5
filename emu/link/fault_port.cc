#include "emu/link/fault_port.h"

#include <algorithm>

namespace rocelab {

FaultPort::FaultPort(const FaultConfig& config, Rng rng) : config_(config), rng_(rng) {
  config_.listed = std::min<std::uint32_t>(config_.listed, FaultConfig::kMaxListed);
  std::sort(config_.drop_list.begin(), config_.drop_list.begin() + config_.listed);
}

bool FaultPort::listed() {
  while (next_listed_ < config_.listed && config_.drop_list[next_listed_] < data_frames_) ++next_listed_;
  return next_listed_ < config_.listed && config_.drop_list[next_listed_] == data_frames_;
}

FaultVerdict FaultPort::on_frame(bool has_payload, std::uint32_t corruptible) {
  using Kind = FaultVerdict::Kind;
  if (has_payload) ++data_frames_;
  // A rate that is set draws for every frame, so that a listed drop does not shift the fate of later frames.
  const bool by_rate = config_.drop_rate > 0 && rng_.bernoulli(config_.drop_rate);
  const bool corrupt = config_.corrupt_rate > 0 && rng_.bernoulli(config_.corrupt_rate) && corruptible > 0;
  const auto bit = corrupt ? static_cast<std::uint32_t>(rng_.below(std::uint64_t{corruptible} * 8)) : 0;
  if ((has_payload && listed()) || by_rate) return {Kind::kDrop};
  if (corrupt) return {Kind::kCorrupt, bit};
  return {};
}

}  // namespace rocelab
