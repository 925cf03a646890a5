// The measurements of rocelab_perf, as the client takes them and the server serves them. Both follow the same
// plan: for each size, latency, then bandwidth.
//
// Latency: SEND and WRITE (with immediate, so that the peer gets a completion) go back and forth, and a
// sample is half of one round trip; a READ's sample is the time from posting to its completion. Bandwidth:
// payload of all iterations over the time from the first post to the last completion, up to Side::kSendDepth
// messages posted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verbs_app/perf/side.h"
#include "verbs_app/perf/statistics.h"

namespace rocelab::app {

struct Plan {
  Op op = Op::kWrite;
  std::vector<std::uint32_t> sizes;
  std::uint32_t iterations = 1'000;

  std::string encode() const;
  static Plan decode(const std::string& text);
};

struct Row {
  std::uint32_t size = 0, iterations = 0;
  double bandwidth_gbps = 0;
  Spread latency_us;
};

std::vector<Row> measure(Side& side, const Plan& plan);  // client
void serve(Side& side, const Plan& plan);                // server, until the client has finished

}  // namespace rocelab::app
