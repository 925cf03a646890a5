// What a whole model must keep, beside what its expressions say: where frames of each class can go, lossless
// classes, and turns that end.
#pragma once

#include <span>

#include "ovs_patches/openqueue/model.h"
#include "ovs_patches/openqueue/ranges.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab::oq {

inline constexpr std::int64_t kMostVisits = 4'096;

// Fills takes and lossless of the queues, from what the selections can do with a frame of each class.
void find_ways(Model& model, const Ranges& ranges, const SwitchConfig& config, Diagnostics& diagnostics);

// No frame of a lossless class is dropped, or waits behind one of another class.
void check_lossless(Model& model, const SwitchConfig& config, Diagnostics& diagnostics);

// Visits of queues that a pick by the port's turn makes at most. Complains where it cannot see an end.
std::int64_t turn_visits(const Model& model, const ModelPort& port, const Ranges& ranges);

}  // namespace rocelab::oq
