#include "emu/runner/workload_type.h"

#include <array>

#include "emu/runner/workload_parts.h"
#include "emu/runner/workloads/workloads.h"

namespace rocelab {
namespace {

template <class W>
concept HasParams = requires {
  typename W::Params;
};

// Optional members of a kind: what it does not say has no effect.
template <class W>
constexpr WorkloadType entry() {
  WorkloadType type{};
  type.name = W::kName;
  type.keys = W::kKeys;
  if constexpr (requires { W::kRequired; }) type.required = W::kRequired;
  if constexpr (requires { W::kOwnKeys; }) type.own_keys = W::kOwnKeys;
  type.fields = []() -> std::span<const Field> {
    if constexpr (HasParams<W>) return Schema<typename W::Params>(W::schema()).fields;
    return {};
  };
  type.make = []() -> std::unique_ptr<Workload> { return std::make_unique<W>(); };
  type.params = [](Workload& workload) -> void* {
    if constexpr (HasParams<W>) return &static_cast<W&>(workload).params;
    return nullptr;
  };
  type.problem_of = [](const Workload& workload) -> std::optional<SchemaProblem> {
    if constexpr (requires { W::problem_of(static_cast<const W&>(workload).params); })
      return W::problem_of(static_cast<const W&>(workload).params);
    return std::nullopt;
  };
  return type;
}

template <class... W>
constexpr std::array<WorkloadType, sizeof...(W)> table_of(TypeList<W...> /*list*/) {
  return {entry<W>()...};
}

constexpr auto kTable = table_of(Workloads{});

}  // namespace

std::span<const WorkloadType> workload_types() { return kTable; }

void Workload::read(ConfigSection&, WorkloadSettings&, const WorkloadContext&) {}

void Workload::check(ConfigSection& section, const WorkloadSettings& w, const Topology& topology) const {
  if (senders_of(w, topology).size() < 2) section.fail_at("kind", "needs at least two hosts");
}

std::optional<WorkloadRate> Workload::rate(const WorkloadSettings&, const Topology&, std::uint32_t) const {
  return std::nullopt;
}

std::optional<CollectiveFacts> Workload::collective(const WorkloadSettings&) const { return std::nullopt; }

std::optional<RpcFacts> Workload::rpc(const WorkloadSettings&) const { return std::nullopt; }

void Workload::offer(const WorkloadSettings&, std::uint32_t, OfferedTraffic&) const {}

double Workload::expected_flows(const WorkloadSettings&, const Topology&, std::uint32_t) const { return 0; }

}  // namespace rocelab
