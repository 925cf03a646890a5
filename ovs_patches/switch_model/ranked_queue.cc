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

void RankedQueue::push(std::vector<RankedOrder::Places>& places, std::uint32_t node, std::uint64_t flow,
                       Bytes length, std::int64_t rank) {
  if (by_level_) return levels_.push(places, node, rank);
  ++pushed_;
  if (order_ == QueueOrder::kFifo) rank = 0;
  if (order_ == QueueOrder::kLevels) rank = std::clamp<std::int64_t>(rank, 0, LevelOrder::kMostLevels - 1);
  if (order_ == QueueOrder::kLifo) rank = -pushed_;
  if (order_ == QueueOrder::kRandom) rank = static_cast<std::int64_t>(rng_.next() >> 1);
  if (order_ == QueueOrder::kFair) rank = fair_.next(flow, length);
  heap_.push(places, node, rank);
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
  if (by_level_) return levels_.erase(places, node);
  const RankedOrder::Key key = heap_.key_of(places, node);
  heap_.erase(places, node);
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
