// The rules of a queue that a scenario chooses: in which order frames leave, and what a full queue does.
#pragma once

#include <cstdint>

namespace rocelab {

enum class QueueOrder : std::uint8_t {
  kFifo,
  kRoundRobin,  // packet by packet over the ingress ports: the papers' virtual output queues
  kLifo,        // the latest arrival first
  kRandom,      // each waiting frame has a rank by lot
  kFair,        // flows share the departures by bytes (ranked_queue.h)
  kRanked,      // the smallest rank first: a mechanism's rank() gives it
};

// Lossy queues at egress_limit.
enum class FullRule : std::uint8_t {
  kRefuse,          // the arriving frame is dropped
  kPushOutLast,     // the frame that would leave last is dropped, be it the arriving one
  kPushOutLongest,  // the last frame of the flow with most bytes in the queue is dropped
};

}  // namespace rocelab
