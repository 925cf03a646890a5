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

struct MechanismType;

// Parameters of all mechanisms, in the order of the list. Part of SwitchConfig, which lies in shared memory.
class MechanismParams {
 public:
  static constexpr std::size_t kSize = 1024;
  MechanismParams();  // every mechanism's defaults
  // Those of the mechanism M, whose header the caller includes.
  template <class M>
  typename M::Params& of() {
    return *static_cast<typename M::Params*>(at(M::kName, sizeof(typename M::Params)));
  }
  template <class M>
  const typename M::Params& of() const {
    return const_cast<MechanismParams*>(this)->of<M>();
  }
  void* of(const MechanismType& type);
  const void* of(const MechanismType& type) const { return const_cast<MechanismParams*>(this)->of(type); }
  bool is_on(std::string_view name) const;  // the mechanism is part of the switch; false: unknown, too

 private:
  void* at(std::string_view name, std::size_t size);
  alignas(8) std::array<std::byte, kSize> bytes_;
};

struct NetworkFacts;
struct PortConfig;
struct SwitchConfig;

// A mechanism as data; functions are those that mechanism.h describes.
struct MechanismType {
  std::string_view name;
  std::string_view section;            // of the scenario; empty: switch.<name>
  std::span<const Field> (*fields)();  // of its parameters
  std::size_t offset, size;            // of its parameters in MechanismParams
  bool (*is_on)(const void* params);
  void (*follow)(void* params, std::string_view congestion_control, std::string_view preset);  // or null
  std::optional<SchemaProblem> (*problem_of)(const void* params);
  std::optional<SchemaProblem> (*problem_beside)(const void* params, const SwitchConfig&);
  std::string (*problem_in)(const void* params, const SwitchConfig&, std::span<const PortConfig>);
  std::optional<SchemaProblem> (*problem_of_network)(const void* params, const SwitchConfig&,
                                                     const NetworkFacts&);  // or null
  bool (*drops)(const void* params);  // frames of lossless classes, on purpose
  Bytes (*headroom)(const void* params, const SwitchConfig&, const PortConfig& link);
  bool ranks;  // has rank(), for queues of QueueOrder::kRanked
};
std::span<const MechanismType> mechanism_types();
std::string section_of(const MechanismType& type);

// Mechanisms that are the switches' part of a congestion control, such as P4QCN's congestion points, are on
// where a label runs it, with the values of its preset; "none": no congestion control. Called before the keys
// of a scenario are read, which change these values.
void follow_label(MechanismParams& params, std::string_view congestion_control, std::string_view preset);

// Counters of a port that mechanisms bring; at most this many.
inline constexpr std::size_t kMostMechanismCounters = 32;
std::span<const char* const> mechanism_counter_names();

}  // namespace rocelab
