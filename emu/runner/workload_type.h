// clang-format off
// How a kind of workload comes into scenarios. It is a class in emu/runner/workloads, derived from Workload, with
//
//   static constexpr std::string_view kName;   // the value of `kind`
//   static constexpr WorkloadKeys kKeys;       // which of the keys that kinds share it has
//
// and any of the following, which are found by their names:
//
//   using Params; Params params; static Schema<Params> schema();    // keys of its own (base/schema.h)
//   static std::optional<SchemaProblem> problem_of(const Params&);  // contradictions between them
//   static constexpr std::array<std::string_view, N> kRequired;     // keys without a default, of whichever sort
//   static constexpr std::array<KeyText, N> kOwnKeys;               // keys that read() reads itself: hosts, files
//
// The list of kinds is workloads/workloads.h. Only workload_type.cc sees the types.
// clang-format on
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/schema.h"
#include "emu/runner/collective_schedule.h"
#include "emu/runner/config_section.h"
#include "emu/runner/flow_draw.h"
#include "emu/runner/offered_load.h"
#include "emu/runner/readers.h"
#include "emu/runner/scenario.h"

namespace rocelab {

struct WorkloadKeys {
  bool hosts = true;       // senders, op
  bool receivers = false;  // with hosts
  bool size = true;        // size, size_min, size_max, cdf, cdf_form
  bool jitter = true;
  bool persistent = false;  // its flows share queue pairs unless `queue_pairs` says otherwise
};

// Of a collective operation: what bandwidths are computed from.
struct CollectiveFacts {
  CollectiveOperation operation = CollectiveOperation::kAllReduce;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  std::uint32_t ranks = 0, groups = 1;  // of a group
  Bytes size;                           // as the scenario says
};

// Of RPCs: over which time its clients send requests.
struct RpcFacts {
  bool open = false;  // requests have times of their own; else each follows an earlier response
  Time begin, end;    // never: when a client has no more requests
};

// A key that no schema reads, for docs/reference/scenarios.md.
struct KeyText {
  std::string_view key, otherwise, range, text;
};

// Of a workload that goes on for a while.
struct WorkloadRate {
  std::string_view key;    // to lower where links are offered too much: "load"
  double duration_ps = 0;  // flows start within it, about
};

class Workload {
 public:
  virtual ~Workload() = default;

  // Reads keys that no schema reads. Common keys ahead of jitter are in `w`, parameters in the object.
  virtual void read(ConfigSection& section, WorkloadSettings& w, const WorkloadContext& context);
  // Complains about contradictions; all keys are read. Here: fewer than two senders.
  virtual void check(ConfigSection& section, const WorkloadSettings& w, const Topology& topology) const;

  // Makes the flows of one run; all draws come from draw.rng().
  virtual void draw(FlowDraw& draw) const = 0;

  // Null: it puts its flows on the network and has no rate. With one, offer() says what it puts on links.
  virtual std::optional<WorkloadRate> rate(const WorkloadSettings& w, const Topology& topology,
                                           std::uint32_t path_mtu) const;
  virtual void offer(const WorkloadSettings& w, std::uint32_t path_mtu, OfferedTraffic& traffic) const;
  // Where the number of flows is drawn, too: about how many; else 0.
  virtual double expected_flows(const WorkloadSettings& w, const Topology& topology,
                                std::uint32_t path_mtu) const;
  // Null: it is none. Else its flows have `request`, iteration by iteration and in each group by group, and
  // `step`.
  virtual std::optional<CollectiveFacts> collective(const WorkloadSettings& w) const;
  // Null: it is none. Else its flows are pairs of request and response, with `request` and `step`.
  virtual std::optional<RpcFacts> rpc(const WorkloadSettings& w) const;
  virtual Bytes largest_flow(const WorkloadSettings& w) const { return w.size.max; }
};

struct WorkloadType {
  std::string_view name;
  WorkloadKeys keys;
  std::span<const std::string_view> required;
  std::span<const KeyText> own_keys;
  std::span<const Field> (*fields)();
  std::unique_ptr<Workload> (*make)();
  void* (*params)(Workload& workload);  // the struct of these fields
  std::optional<SchemaProblem> (*problem_of)(const Workload& workload);
};

std::span<const WorkloadType> workload_types();   // in the order of the list
std::span<const KeyText> shared_workload_keys();  // all but `kind`

}  // namespace rocelab
