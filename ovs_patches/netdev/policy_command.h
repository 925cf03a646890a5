// `ovs-appctl lossless/openqueue`: queueing policies of a run that goes on, loaded and shown by hand.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/segment.h"
#include "ovs_patches/netdev/fabric.h"

namespace rocelab {

// load SWITCH|all FILE|builtin [at=TIME] [change=drain|requeue] [NAME=VALUE]...
struct PolicyLoad {
  std::vector<PolicyChange> changes;    // of `switches`, compiled; `at` is still to be set
  std::vector<std::uint32_t> switches;  // indices
  std::optional<Time> at;               // none: now
};

// The words behind `load`. Reads the file and compiles it for each switch; knows no fabric, so that time goes
// on meanwhile. Throws std::runtime_error with what is wrong: the words, the file, or the program, with its
// lines.
PolicyLoad read_load(const lockstep::Segment& segment, std::span<const std::string> words);
// Between two windows. What was done, as a line; throws std::runtime_error where the time is over or a switch
// has no policies.
std::string carry_out(Fabric& fabric, PolicyLoad load);
// `name`: one switch; "": all. The columns of the chapter's list 2.1 for each queue.
std::string show_policies(const Fabric& fabric, const std::string& name);

}  // namespace rocelab
