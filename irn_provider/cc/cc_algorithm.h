// CcAlgorithm: what the types of the list (algorithms.h) say of themselves, as one table: runner, NIC and
// documents go through it and name no algorithm. Only cc_algorithm.cc sees the types.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/schema.h"
#include "irn_provider/cc/cc_config.h"
#include "irn_provider/cc/congestion_control.h"

namespace rocelab {

struct CcPreset {
  std::string_view name, source;
  CcConfig config;
  CcMarking marking;
};

struct CcAlgorithm {
  std::string_view name;
  CcNeeds needs;
  CcConfig (*defaults)();              // this algorithm with a default-constructed Params
  std::vector<CcPreset> (*presets)();  // the default first
  std::span<const Field> (*fields)();  // keys of its table
  void* (*params)(CcConfig& config);   // the struct of these fields
  std::optional<SchemaProblem> (*problem_of)(const CcConfig& config);
  std::unique_ptr<CongestionControl> (*make)(const CcConfig& config, const CcContext& context);
  // Fills in what a scenario has left open and the network decides.
  void (*complete)(CcConfig& config, const CcNetwork& network);
  CcBurst (*burst)(const CcConfig& config);
  Duration (*cnp_interval)(const CcConfig& config);
};

std::span<const CcAlgorithm> cc_algorithms();  // in the order of the list
// Null: none is chosen.
const CcAlgorithm* algorithm_of(const CcConfig& config);
std::string_view name_of(const CcConfig& config);  // "none"
// The algorithm of this name with its default parameters; "none": none. Precondition: there is such a one.
CcConfig cc_config(std::string_view name);

}  // namespace rocelab
