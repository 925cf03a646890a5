// The mechanisms of this build as data, for the reader of scenarios, the documents and the counters: they
// need not see the list (mechanisms/mechanisms.h), so that a new mechanism compiles few sources.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/schema.h"

namespace rocelab {

// Parameters of the mechanisms that bring their own, in the order of the list. Part of SwitchConfig, which
// lies in shared memory.
struct MechanismParams {
  static constexpr std::size_t kSize = 512;
  MechanismParams();  // every mechanism's defaults
  alignas(8) std::array<std::byte, kSize> bytes;
};

struct PortConfig;
struct SwitchConfig;

struct MechanismType {
  std::string_view name;               // [switch.<name>]
  std::span<const Field> (*fields)();  // of its parameters
  std::size_t offset;                  // of its parameters in MechanismParams::bytes
  std::optional<SchemaProblem> (*problem_of)(const void* params);
  std::string (*problem_in)(const void* params, const SwitchConfig&, std::span<const PortConfig>);
  bool (*is_on)(const void* params);
  bool ranks;  // has rank(), for queues of QueueOrder::kRanked
};
std::span<const MechanismType> mechanism_types();

// Counters of a port that mechanisms bring; at most this many.
inline constexpr std::size_t kMostMechanismCounters = 32;
std::span<const char* const> mechanism_counter_names();

}  // namespace rocelab
