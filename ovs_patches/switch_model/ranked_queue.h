// RankedQueue: the frames of a queue whose order is not that of arrival (QueueOrder), and which of them gives
// way where the queue is full (FullRule). It knows nodes, flows and lengths, no frames. EgressQueues has one
// for each queue that needs it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "base/units.h"
#include "ovs_patches/switch_model/level_order.h"
#include "ovs_patches/switch_model/queue_rules.h"
#include "ovs_patches/switch_model/ranked_order.h"

namespace rocelab {

// Ranks by start-time fair queueing (Goyal, Vin, Cheng, 1996) with the finish tag as rank: flows with frames
// share the queue's departures by bytes, one weight for all. A flow that was away comes back at the tag of
// the frame that left last.
class FairRanks {
 public:
  std::int64_t next(std::uint64_t flow, Bytes length);
  void left(std::int64_t rank, std::size_t frames_left);
  void dropped(std::uint64_t flow, std::int64_t rank, Bytes length);  // its last frame costs it nothing

 private:
  std::int64_t served_ = 0;                       // tag of the last frame that left
  std::map<std::uint64_t, std::int64_t> finish_;  // of flows that may have frames
};

// The order by lot: each frame that waits has the same chance to leave next.
class Lot {
 public:
  std::uint32_t first() const { return nodes_[drawn_]; }
  // Places::level is the place here: the heap beside it does not use it.
  void push(std::vector<RankedOrder::Places>& places, std::uint32_t node, Rng& rng);
  void erase(std::vector<RankedOrder::Places>& places, std::uint32_t node, Rng& rng);

 private:
  void draw(Rng& rng) { drawn_ = nodes_.empty() ? 0 : rng.below(nodes_.size()); }
  std::vector<std::uint32_t> nodes_;
  std::size_t drawn_ = 0;  // drawn anew whenever a frame comes or goes
};

// SP-PIFO (Alcoz, Dietmueller, Vanbever, NSDI 2020, section 4): strict queues in place of an order by rank.
// A frame joins the lowest queue whose bound its rank reaches, which takes the rank for its bound (push-up).
// Where it reaches none, it joins the highest, and all bounds fall by what it lacks (push-down).
class AdaptiveLevels {
 public:
  explicit AdaptiveLevels(std::size_t queues) : bounds_(queues) {}
  std::int64_t level_of(std::int64_t rank);

 private:
  std::vector<std::int64_t> bounds_;  // of the highest first
};

// QueueOrder::kTurns: which of up to 64 FIFO queues is served next. Queue 0 comes first; the others in turn,
// a frame each. Where all that wait are shut, as where a whole class is dropped, they are served all the
// same.
class Turns {
 public:
  void set_open(std::uint32_t queue, bool open) {
    const std::uint64_t bit = std::uint64_t{1} << queue;
    shut_ = open ? shut_ & ~bit : shut_ | bit;
  }
  void served(std::uint32_t queue) {
    if (queue != 0) last_ = queue;
  }
  std::uint32_t next(std::uint64_t waiting) const {  // a bit per queue; some queue must wait
    if ((waiting & 1) != 0) return 0;
    const std::uint64_t open = waiting & ~shut_;
    const std::uint64_t from = open != 0 ? open : waiting;
    const std::uint64_t behind = last_ < 63 ? from >> (last_ + 1) << (last_ + 1) : 0;
    return static_cast<std::uint32_t>(std::countr_zero(behind != 0 ? behind : from));
  }

 private:
  std::uint64_t shut_ = 0;
  std::uint32_t last_ = 0;
};

class RankedQueue {
 public:
  // `queues`: of kSpPifo, at most LevelOrder::kMostLevels.
  RankedQueue(QueueOrder order, FullRule rule, Rng rng, std::size_t queues)
      : order_(order),
        rule_(rule),
        by_level_((order == QueueOrder::kFifo || has_levels()) && rule != FullRule::kPushOutLongest),
        levels_(has_levels() ? LevelOrder::kMostLevels : 1),
        tells_flows_(order == QueueOrder::kFair || order == QueueOrder::kRankedFlows ||
                     rule == FullRule::kPushOutLongest),
        heap_alone_(order == QueueOrder::kRanked && !tells_flows_),
        heap_(rule == FullRule::kPushOutLast),
        rng_(rng),
        adaptive_(queues) {}

  // Whether push() and erase() look at flows.
  bool tells_flows() const { return tells_flows_; }
  // By rank alone: push() and erase() are those of its heap.
  RankedOrder* heap_alone() { return heap_alone_ ? &heap_ : nullptr; }
  // `rank`: for the orders by rank; the others have their own.
  void push(std::vector<RankedOrder::Places>& places, std::uint32_t node, std::uint64_t flow, Bytes length,
            std::int64_t rank);
  std::uint32_t first() const {
    if (heap_alone_) return heap_.first();
    if (by_level_)
      return order_ != QueueOrder::kTurns ? levels_.first()
                                          : levels_.first_of(turns_.next(levels_.waiting()));
    if (order_ == QueueOrder::kRandom) return lot_.first();
    if (order_ == QueueOrder::kRankedFlows) return earliest_.at(flow_of_[heap_.first()]).begin()->second;
    return heap_.first();
  }
  void set_open(std::uint32_t queue, bool open) { turns_.set_open(queue, open); }  // kTurns
  // The frame that gives way by the rule: the last in the order, or the last of the flow with most bytes (of
  // equals, the one with the largest key). Must not be empty; the rule must push out.
  std::uint32_t victim() const;
  // The node leaves; `served`: as the first, in its turn.
  void erase(std::vector<RankedOrder::Places>& places, std::uint32_t node, std::uint64_t flow, Bytes length,
             bool served);
  template <class F>
  void for_each(const std::vector<RankedOrder::Places>& places, F&& f) const {
    by_level_ ? levels_.for_each(places, f) : heap_.for_each(f);
  }

 private:
  struct Flow {
    std::int64_t bytes = 0;
    std::set<std::pair<RankedOrder::Key, std::uint32_t>> nodes;
  };
  bool has_levels() const {
    return order_ == QueueOrder::kLevels || order_ == QueueOrder::kSpPifo || order_ == QueueOrder::kTurns;
  }
  void change_length(std::uint64_t flow, Flow& at, std::int64_t bytes);

  QueueOrder order_;
  FullRule rule_;
  bool by_level_;  // the frames are in levels_, else in heap_
  LevelOrder levels_;
  bool tells_flows_, heap_alone_;
  RankedOrder heap_;
  Rng rng_;
  FairRanks fair_;
  Lot lot_;
  AdaptiveLevels adaptive_;
  Turns turns_;
  std::int64_t pushed_ = 0;
  std::map<std::uint64_t, std::set<std::pair<std::uint64_t, std::uint32_t>>>
      earliest_;                                              // kRankedFlows: by arrival
  std::vector<std::uint64_t> flow_of_;                        // of its nodes
  std::map<std::uint64_t, Flow> flows_;                       // FullRule::kPushOutLongest
  std::set<std::pair<std::int64_t, std::uint64_t>> lengths_;  // (bytes, flow) of these
};

}  // namespace rocelab
