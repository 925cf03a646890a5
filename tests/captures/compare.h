// What is different between a replay and the recorded exchange, beyond the differences that the sidecar
// names: frames (all of them, field by field, requests and answers each in their order), completions, memory.
// Not compared: identification, TTL and ECN of the IP header, which are the network's, and when requests
// leave; an answer leaves at the latest when the recorded one did.
#pragma once

#include <string>
#include <vector>

#include "tests/captures/replay.h"

namespace rocelab::captures {

std::vector<std::string> differences(const Sidecar& sidecar, const std::vector<Frame>& frames, End ours,
                                     Replay& replay);

}  // namespace rocelab::captures
