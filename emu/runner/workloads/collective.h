// Collective: all-reduce, all-gather, reduce-scatter, all-to-all and broadcast among ranks, step by step.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "emu/runner/collective_pieces.h"
#include "emu/runner/collective_schedule.h"
#include "emu/runner/workload_type.h"

namespace rocelab {

enum class Grouping : std::uint8_t { kConsecutive, kStrided };

struct CollectiveParams {
  std::uint32_t groups = 1;
  Grouping grouping = Grouping::kConsecutive;
  std::uint32_t iterations = 1;
  Duration gap{}, step_gap{};
  Bytes chunk{};  // zero: no limit
  Dependencies dependencies = Dependencies::kData;
  double skew = 0;
};

class Collective final : public Workload {
 public:
  using Params = CollectiveParams;
  static constexpr std::string_view kName = "collective";
  static constexpr WorkloadKeys kKeys{.hosts = false, .size = false, .persistent = true};
  static constexpr std::array<std::string_view, 2> kRequired = {"operation", "size"};
  static constexpr std::array<KeyText, 5> kOwnKeys = {
      {{"operation", "required", "`all-reduce`, `all-gather`, `reduce-scatter`, `all-to-all`, `broadcast`",
        ""},
       {"algorithm", "the first one",
        "`ring`, `halving-doubling`; all-to-all: `direct`, `pairwise`; broadcast: `ring`, `tree`",
        "who sends what to whom in which step (docs/explanation/collectives.md)"},
       {"size", "required", "at most 1000 GB",
        "of the buffer at each rank, as nccl-tests counts it (docs/explanation/collectives.md)"},
       {"ranks", "all hosts", "names, at least 2", "hosts in rank order"},
       {"root", "rank 0 of each group", "one of the ranks; one group", "of a broadcast: who has the data"}}};
  static Schema<Params> schema();
  static std::optional<SchemaProblem> problem_of(const Params& params);

  void read(ConfigSection& section, WorkloadSettings& w, const WorkloadContext& context) override;
  void check(ConfigSection& section, const WorkloadSettings& w, const Topology& topology) const override;
  void draw(FlowDraw& draw) const override;
  std::optional<CollectiveFacts> collective(const WorkloadSettings& w) const override;

  // Bytes of a collective's buffer before block `block` of `ranks`; `weights`: of the blocks, empty: equal.
  static std::int64_t offset_of(Bytes size, std::uint32_t ranks, std::uint32_t block,
                                const std::vector<double>& weights);

  Params params;

 private:
  std::vector<std::uint32_t> group(std::uint32_t index) const;  // hosts by rank
  std::uint32_t ranks_per_group() const { return static_cast<std::uint32_t>(ranks_.size()) / params.groups; }
  std::vector<double> draw_loads(FlowDraw& draw) const;
  void check_amount(ConfigSection& section, const WorkloadSettings& w) const;

  CollectiveOperation operation_ = CollectiveOperation::kAllReduce;
  CollectiveAlgorithm algorithm_ = CollectiveAlgorithm::kRing;
  std::vector<std::uint32_t> ranks_;
  std::uint32_t root_ = 0;  // rank
};

}  // namespace rocelab
