#include "ovs_patches/switch_model/mechanism_table.h"

#include <algorithm>
#include <new>
#include <type_traits>

#include "base/check.h"
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

template <class M>
const typename M::Params& own(const void* params) {
  return *static_cast<const typename M::Params*>(params);
}

template <class M>
std::span<const Field> fields_of() {
  if constexpr (requires { M::schema(); }) return M::schema().fields;
  return {};
}

template <class M>
std::optional<SchemaProblem> problem_of(const void* params) {
  if constexpr (requires { M::problem_of(own<M>(params)); }) return M::problem_of(own<M>(params));
  return std::nullopt;
}

template <class M>
std::optional<SchemaProblem> problem_beside(const void* params, const SwitchConfig& config) {
  if constexpr (requires { M::problem_beside(own<M>(params), config); })
    if (M::is_on(own<M>(params))) return M::problem_beside(own<M>(params), config);
  return std::nullopt;
}

template <class M>
std::string problem_in(const void* params, const SwitchConfig& config, std::span<const PortConfig> ports) {
  if constexpr (requires { M::problem_in(own<M>(params), config, ports); })
    if (M::is_on(own<M>(params))) return M::problem_in(own<M>(params), config, ports);
  return {};
}

template <class M>
constexpr auto problem_of_network() -> decltype(MechanismType::problem_of_network) {
  if constexpr (requires(const typename M::Params& p, const SwitchConfig& config, const NetworkFacts& facts) {
                  M::problem_of_network(p, config, facts);
                })
    return [](const void* params, const SwitchConfig& config, const NetworkFacts& facts) {
      return M::problem_of_network(own<M>(params), config, facts);
    };
  return nullptr;
}

template <class M>
bool drops(const void* params) {
  if constexpr (requires { M::drops(own<M>(params)); })
    return M::is_on(own<M>(params)) && M::drops(own<M>(params));
  return false;
}

template <class M>
Bytes headroom(const void* params, const SwitchConfig& config, const PortConfig& link) {
  if constexpr (requires { M::headroom(own<M>(params), config, link); })
    if (M::is_on(own<M>(params))) return M::headroom(own<M>(params), config, link);
  return 0_B;
}

template <class M>
constexpr auto follow_of() -> decltype(MechanismType::follow) {
  if constexpr (requires(typename M::Params & p) { M::follow(p, "", ""); })
    return [](void* params, std::string_view congestion_control, std::string_view preset) {
      M::follow(*static_cast<typename M::Params*>(params), congestion_control, preset);
    };
  return nullptr;
}

template <class M>
constexpr std::string_view section() {
  if constexpr (requires { M::kSection; }) return M::kSection;
  return {};
}

template <class M>
concept GivesRanks = requires(M& m, const Packet& packet) {
  m.rank(PortId{}, packet, Time{});
};

template <class M>
constexpr MechanismType type_of() {
  return {M::kName,
          section<M>(),
          &fields_of<M>,
          Set::params_before<M>(),
          sizeof(typename M::Params),
          [](const void* params) { return M::is_on(own<M>(params)); },
          follow_of<M>(),
          &problem_of<M>,
          &problem_beside<M>,
          &problem_in<M>,
          problem_of_network<M>(),
          &drops<M>,
          &headroom<M>,
          GivesRanks<M>};
}

constexpr auto kTypes = [] {
  std::array<MechanismType, Set::kCount> types{};
  std::size_t next = 0;
  for_each(Mechanisms{}, [&]<class M>(std::type_identity<M>) { types[next++] = type_of<M>(); });
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

MechanismParams::MechanismParams() : bytes_{} {
  for_each(Mechanisms{}, [&]<class M>(std::type_identity<M>) {
    static_assert(std::is_trivially_copyable_v<typename M::Params>);
    new (bytes_.data() + Set::params_before<M>()) typename M::Params{};
  });
}

void* MechanismParams::of(const MechanismType& type) { return bytes_.data() + type.offset; }

void* MechanismParams::at(std::string_view name, std::size_t size) {
  const MechanismType* type = std::ranges::find(kTypes, name, &MechanismType::name);
  RL_CHECK(type != kTypes.end() && type->size == size);
  return of(*type);
}

bool MechanismParams::is_on(std::string_view name) const {
  return std::ranges::any_of(
      kTypes, [&](const MechanismType& type) { return type.name == name && type.is_on(of(type)); });
}

void follow_label(MechanismParams& params, std::string_view congestion_control, std::string_view preset) {
  for (const MechanismType& type : kTypes)
    if (type.follow != nullptr) type.follow(params.of(type), congestion_control, preset);
}

std::span<const MechanismType> mechanism_types() { return kTypes; }
std::string section_of(const MechanismType& type) {
  return type.section.empty() ? "switch." + std::string(type.name) : std::string(type.section);
}
std::span<const char* const> mechanism_counter_names() { return kCounterNames; }

}  // namespace rocelab
