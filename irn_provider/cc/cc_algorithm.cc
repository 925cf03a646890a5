#include "irn_provider/cc/cc_algorithm.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "irn_provider/cc/algorithms.h"
#include "irn_provider/cc/cc_limiter.h"

namespace rocelab {
namespace {

template <class A>
const typename A::Params& params_of(const CcConfig& config) {
  const typename A::Params* params = config.get<A>();
  RL_CHECK(params != nullptr);
  return *params;
}

template <class A>
std::vector<CcPreset> presets_of() {
  const auto preset = [](const CcPresetOf<typename A::Params>& from) {
    CcPreset made{from.name, from.source, {}, from.marking};
    made.config.use<A>() = from.params;
    return made;
  };
  std::vector<CcPreset> all;
  if constexpr (requires { A::presets(); })
    for (const auto& from : A::presets()) all.push_back(preset(from));
  else
    all.push_back(preset({"default", "", {}, {}}));
  return all;
}

// Optional statics of an algorithm: what it does not say has no effect.
template <class A>
constexpr CcAlgorithm entry() {
  using Params = typename A::Params;
  static_assert(std::is_base_of_v<CongestionControl, A>);
  static_assert(std::is_constructible_v<A, const Params&, const CcContext&>);
  static_assert(
      !A::kNeeds.marks || requires { A::presets(); }, "marks need a preset, which has their thresholds");
  static_assert(
      !A::kNeeds.cnps || requires(Params p) { p.cnp_interval; }, "CNPs need Params::cnp_interval");
  static_assert(
      !requires { A::burst(Params{}); } || requires(Params p) { p.segment; }, "bursts need Params::segment");
  return {.name = A::kName,
          .needs = A::kNeeds,
          .defaults =
              [] {
                CcConfig config;
                config.use<A>();
                return config;
              },
          .presets = presets_of<A>,
          .fields = []() -> std::span<const Field> { return Schema<Params>(A::schema()).fields; },
          .params = [](CcConfig& config) -> void* { return config.get<A>(); },
          .problem_of = [](const CcConfig& config) -> std::optional<SchemaProblem> {
            if constexpr (requires(const Params& p) { A::problem_of(p); })
              return A::problem_of(params_of<A>(config));
            return std::nullopt;
          },
          .make = [](const CcConfig& config, const CcContext& context) -> std::unique_ptr<CongestionControl> {
            return std::make_unique<A>(params_of<A>(config), context);
          },
          .complete =
              [](CcConfig& config, const CcNetwork& network) {
                if constexpr (requires(Params p) { A::complete(p, network); })
                  A::complete(*config.get<A>(), network);
              },
          .burst = [](const CcConfig& config) -> CcBurst {
            if constexpr (requires { A::burst(Params{}); }) return A::burst(params_of<A>(config));
            return {};
          },
          .cnp_interval = [](const CcConfig& config) -> Duration {
            if constexpr (A::kNeeds.cnps) return params_of<A>(config).cnp_interval;
            return {};
          }};
}

template <class... A>
constexpr std::array<CcAlgorithm, sizeof...(A)> table_of(TypeList<A...> /*list*/) {
  return {entry<A>()...};
}

constexpr auto kTable = table_of(Algorithms{});

template <class... A>
bool has_shared_limiter(const CcConfig& config, TypeList<A...> /*list*/) {
  const auto shares = [&]<class One>(std::type_identity<One>) {
    if constexpr (requires(typename One::Params p) { p.limiter; })
      if (const typename One::Params* params = config.get<One>()) return params->limiter == CcLimiter::kHosts;
    return false;
  };
  return (shares(std::type_identity<A>()) || ...);
}

constexpr bool tags_differ() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (cc_tag(kTable[i].name) == 0) return false;
    for (std::size_t j = 0; j < i; ++j)
      if (cc_tag(kTable[i].name) == cc_tag(kTable[j].name)) return false;
  }
  return true;
}
static_assert(tags_differ(), "two algorithms have one name, or one tag");

}  // namespace

std::span<const CcAlgorithm> cc_algorithms() { return kTable; }

const CcAlgorithm* algorithm_of(const CcConfig& config) {
  if (!config.chosen()) return nullptr;
  const auto found =
      std::ranges::find_if(kTable, [&](const CcAlgorithm& a) { return cc_tag(a.name) == config.tag(); });
  RL_CHECK(found != kTable.end());
  return &*found;
}

std::string_view name_of(const CcConfig& config) {
  const CcAlgorithm* algorithm = algorithm_of(config);
  return algorithm == nullptr ? "none" : algorithm->name;
}

CcConfig cc_config(std::string_view name) {
  if (name == "none") return {};
  const auto found = std::ranges::find(kTable, name, &CcAlgorithm::name);
  RL_CHECK(found != kTable.end());
  return found->defaults();
}

CcBurst CcConfig::burst() const {
  const CcAlgorithm* algorithm = algorithm_of(*this);
  return algorithm == nullptr ? CcBurst{} : algorithm->burst(*this);
}

Duration CcConfig::cnp_interval() const {
  const CcAlgorithm* algorithm = algorithm_of(*this);
  return algorithm == nullptr ? Duration{} : algorithm->cnp_interval(*this);
}

bool shares_limiter(const CcConfig& config) { return has_shared_limiter(config, Algorithms{}); }

Bytes CcConfig::timed_segment() const {
  const Bytes segment = burst().segment;
  return segment > Bytes{} ? segment : rtt_segment;
}

}  // namespace rocelab
