#include "ovs_patches/switch_model/ranked_queue.h"

#include <algorithm>

namespace rocelab {

std::int64_t FairRanks::next(std::uint64_t flow, Bytes length) {
  std::int64_t& finish = finish_[flow];
  finish = std::max(finish, served_) + length.count();
  return finish;
}

void FairRanks::left(std::int64_t rank, std::size_t frames_left) {
  served_ = std::max(served_, rank);
  // A tag that has been served says nothing more. Half of the tags at least are of waiting frames then.
  if (finish_.size() > 2 * frames_left + 16)
    std::erase_if(finish_, [&](const auto& entry) { return entry.second <= served_; });
}

void FairRanks::dropped(std::uint64_t flow, std::int64_t rank, Bytes length) {
  const auto found = finish_.find(flow);
  if (found != finish_.end() && found->second == rank) found->second -= length.count();
}

void Lot::push(std::vector<RankedOrder::Places>& places, std::uint32_t node, Rng& rng) {
  places[node].level = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back(node);
  draw(rng);
}

void Lot::erase(std::vector<RankedOrder::Places>& places, std::uint32_t node, Rng& rng) {
  const std::uint32_t at = places[node].level;
  nodes_[at] = nodes_.back();
  places[nodes_[at]].level = at;
  nodes_.pop_back();
  draw(rng);
}

std::int64_t AdaptiveLevels::level_of(std::int64_t rank) {
  for (std::size_t level = bounds_.size(); level-- > 0;)
    if (rank >= bounds_[level]) {
      bounds_[level] = rank;
      return static_cast<std::int64_t>(level);
    }
  const std::int64_t cost = bounds_[0] - rank;
  for (std::int64_t& bound : bounds_) bound -= cost;
  return 0;
}

void RankedQueue::push(std::vector<RankedOrder::Places>& places, std::uint32_t node, std::uint64_t flow,
                       Bytes length, std::int64_t rank) {
  if (order_ == QueueOrder::kSpPifo) rank = adaptive_.level_of(rank);
  if (by_level_) return levels_.push(places, node, rank);
  ++pushed_;
  if (order_ == QueueOrder::kFifo || order_ == QueueOrder::kRandom) rank = 0;
  if (order_ == QueueOrder::kLevels) rank = std::clamp<std::int64_t>(rank, 0, LevelOrder::kMostLevels - 1);
  if (order_ == QueueOrder::kLifo) rank = -pushed_;
  if (order_ == QueueOrder::kFair) rank = fair_.next(flow, length);
  heap_.push(places, node, rank);
  if (order_ == QueueOrder::kRandom) lot_.push(places, node, rng_);
  if (order_ == QueueOrder::kRankedFlows) {
    if (node >= flow_of_.size()) flow_of_.resize(places.size());
    flow_of_[node] = flow;
    earliest_[flow].emplace(heap_.key_of(places, node).arrival, node);
  }
  if (rule_ != FullRule::kPushOutLongest) return;
  Flow& at = flows_[flow];
  at.nodes.emplace(heap_.key_of(places, node), node);
  change_length(flow, at, at.bytes + length.count());
}

std::uint32_t RankedQueue::victim() const {
  if (rule_ == FullRule::kPushOutLast) return by_level_ ? levels_.last() : heap_.last();
  return flows_.at(lengths_.rbegin()->second).nodes.rbegin()->second;
}

void RankedQueue::erase(std::vector<RankedOrder::Places>& places, std::uint32_t node, std::uint64_t flow,
                        Bytes length, bool served) {
  if (order_ == QueueOrder::kTurns && served) turns_.served(places[node].level);
  if (by_level_) return levels_.erase(places, node);
  const RankedOrder::Key key = heap_.key_of(places, node);
  heap_.erase(places, node);
  if (order_ == QueueOrder::kRandom) lot_.erase(places, node, rng_);
  if (order_ == QueueOrder::kRankedFlows) {
    const auto at = earliest_.find(flow);
    at->second.erase({key.arrival, node});
    if (at->second.empty()) earliest_.erase(at);
  }
  if (order_ == QueueOrder::kFair)
    served ? fair_.left(key.rank, heap_.size()) : fair_.dropped(flow, key.rank, length);
  if (rule_ != FullRule::kPushOutLongest) return;
  Flow& at = flows_.at(flow);
  at.nodes.erase({key, node});
  change_length(flow, at, at.bytes - length.count());
}

void RankedQueue::change_length(std::uint64_t flow, Flow& at, std::int64_t bytes) {
  lengths_.erase({at.bytes, flow});
  at.bytes = bytes;
  if (at.nodes.empty()) {
    flows_.erase(flow);
  } else {
    lengths_.emplace(bytes, flow);
  }
}

}  // namespace rocelab
