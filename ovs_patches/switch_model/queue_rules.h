// The rules of a queue that a scenario chooses: in which order frames leave, and what a full queue does.
#pragma once

#include <cstdint>

namespace rocelab {

enum class QueueOrder : std::uint8_t {
  kFifo,
  kRoundRobin,   // packet by packet over the ingress ports: the papers' virtual output queues
  kLifo,         // the latest arrival first
  kRandom,       // by lot among the frames that wait, at each departure
  kFair,         // flows share the departures by bytes (ranked_queue.h)
  kRanked,       // the smallest rank first: a mechanism's rank() gives it
  kLevels,       // the same for ranks 0 to 63, in O(1); a rank beyond is taken for the nearest
  kRankedFlows,  // the frame with the smallest rank names a flow, whose earliest frame leaves (pFabric's
                 // SRPT)
  kSpPifo,       // kRanked by few FIFO queues whose bounds follow the ranks (ranked_queue.h)
  kTurns,        // FIFO queues in turn, a frame each, those apart that are shut; a mechanism's rank() says
                 // which queue a frame joins, and queue 0 is never shut and comes first
                 // (SwitchActions::serve_in_turn)
};
// The orders from kRanked on.
constexpr bool is_by_rank(QueueOrder order) { return order >= QueueOrder::kRanked; }

// Lossy queues at egress_limit.
enum class FullRule : std::uint8_t {
  kRefuse,          // the arriving frame is dropped
  kPushOutLast,     // the frame that would leave last is dropped, be it the arriving one
  kPushOutLongest,  // the last frame of the flow with most bytes in the queue is dropped
};

// The lossy classes of an egress port that hold port_buffer together.
enum class PortRule : std::uint8_t {
  kRefuse,        // the arriving frame is dropped
  kPushOutLower,  // the last frames of classes that are served strictly after the arriving frame's, the
                  // lowest first. Where those hold too little, the arriving frame is dropped alone
};

}  // namespace rocelab
