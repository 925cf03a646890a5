#include "ovs_patches/switch_model/mechanism_table.h"

#include <cstring>
#include <tuple>
#include <type_traits>

#include "ovs_patches/switch_model/mechanism_follow.h"
#include "ovs_patches/switch_model/mechanisms/mechanisms.h"

namespace rocelab {
namespace {

using Set = Mechanisms::Set;
static_assert(Set::params_before() <= MechanismParams::kSize, "raise MechanismParams::kSize");
static_assert(Set::kCounters <= kMostMechanismCounters, "raise kMostMechanismCounters");

// f(std::type_identity<M>()) of each mechanism.
template <class... M, class F>
constexpr void for_each(MechanismTypes<M...>, F&& f) {
  (f(std::type_identity<M>()), ...);
}

constexpr std::size_t count_with_params() {
  std::size_t count = 0;
  for_each(Mechanisms{}, [&]<class M>(std::type_identity<M>) { count += HasParams<M>; });
  return count;
}

template <class M>
std::optional<SchemaProblem> problem_in(const void* params) {
  if constexpr (requires(const typename M::Params& own) { M::problem_of(own); })
    return M::problem_of(*static_cast<const typename M::Params*>(params));
  return std::nullopt;
}

template <class M>
std::string problem_beside(const void* params, const SwitchConfig& config,
                           std::span<const PortConfig> ports) {
  const auto& own = *static_cast<const typename M::Params*>(params);
  if constexpr (requires { M::problem_in(own, config, ports); })
    if (M::is_on(own)) return M::problem_in(own, config, ports);
  return {};
}

template <class M>
concept GivesRanks = requires(M& m, const Packet& packet) {
  m.rank(PortId{}, packet, Time{});
};

template <class M>
constexpr MechanismType type_of() {
  return {M::kName,
          [] { return std::span<const Field>(M::schema().fields); },
          Set::params_before<M>(),
          &problem_in<M>,
          &problem_beside<M>,
          [](const void* params) { return M::is_on(*static_cast<const typename M::Params*>(params)); },
          GivesRanks<M>};
}

constexpr auto kTypes = [] {
  std::array<MechanismType, count_with_params()> types{};
  std::size_t next = 0;
  for_each(Mechanisms{}, [&]<class M>(std::type_identity<M>) {
    if constexpr (HasParams<M>) types[next++] = type_of<M>();
  });
  return types;
}();

constexpr auto kCounterNames = [] {
  std::array<const char*, Set::kCounters> names{};
  std::size_t next = 0;
  for_each(Mechanisms{}, [&]<class M>(std::type_identity<M>) {
    if constexpr (HasCounters<M>)
      for (const char* name : M::Counters::kNames) names[next++] = name;
  });
  return names;
}();

}  // namespace

MechanismParams::MechanismParams() : bytes{} {
  for_each(Mechanisms{}, [&]<class M>(std::type_identity<M>) {
    if constexpr (HasParams<M>) {
      static_assert(std::is_trivially_copyable_v<typename M::Params>);
      const typename M::Params defaults{};
      std::memcpy(bytes.data() + Set::params_before<M>(), &defaults, sizeof defaults);
    }
  });
}

void follow_label(MechanismParams& params, std::string_view congestion_control, std::string_view preset) {
  for_each(Mechanisms{}, [&]<class M>(std::type_identity<M>) {
    if constexpr (requires(typename M::Params & own) { M::follow(own, congestion_control, preset); }) {
      auto own = Set::params_of<M>(params);
      M::follow(own, congestion_control, preset);
      std::memcpy(params.bytes.data() + Set::params_before<M>(), &own, sizeof own);
    }
  });
}

std::span<const MechanismType> mechanism_types() { return kTypes; }
std::span<const char* const> mechanism_counter_names() { return kCounterNames; }

}  // namespace rocelab
