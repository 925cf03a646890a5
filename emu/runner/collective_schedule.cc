#include "emu/runner/collective_schedule.h"

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>

#include "base/check.h"

namespace rocelab {
namespace {

using enum CollectiveAlgorithm;

constexpr std::string_view kOperations[] = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all",
                                            "broadcast"};
constexpr std::string_view kAlgorithms[] = {"ring", "halving-doubling", "direct", "pairwise", "tree"};
constexpr CollectiveAlgorithm kReductions[] = {kRing, kHalvingDoubling};
constexpr CollectiveAlgorithm kExchanges[] = {kDirect, kPairwise};
constexpr CollectiveAlgorithm kBroadcasts[] = {kRing, kTree};

class Builder {
 public:
  Builder(std::uint32_t ranks, std::uint32_t blocks) {
    s_.ranks = ranks;
    s_.blocks = blocks;
  }

  // In step i rank r sends the block of rank r - i to its right, which has, or has added up, all of it behind
  // ranks - 1 steps. `ahead`: how far the first block is from the rank.
  void ring(bool reduces, std::uint32_t ahead) {
    const std::uint32_t n = s_.ranks;
    for (std::uint32_t i = 0; i + 1 < n; ++i, ++s_.steps)
      for (std::uint32_t r = 0; r < n; ++r)
        add({s_.steps, r, (r + 1) % n, (r + 2 * n - i - ahead) % n, 1, reduces});
  }

  // Each rank keeps the half of its blocks that its own is in, and sends the other half to the rank that
  // keeps that; then the same for the half, until one block is left.
  void halving() {
    for (std::uint32_t half = s_.ranks / 2; half > 0; half /= 2, ++s_.steps)
      for (std::uint32_t r = 0; r < s_.ranks; ++r) {
        const std::uint32_t peer = r ^ half;
        add({s_.steps, r, peer, peer & ~(half - 1), half, true});
      }
  }

  void doubling() {
    for (std::uint32_t have = 1; have < s_.ranks; have *= 2, ++s_.steps)
      for (std::uint32_t r = 0; r < s_.ranks; ++r) add({s_.steps, r, r ^ have, r & ~(have - 1), have, false});
  }

  void direct() {
    s_.steps = 1;
    for (std::uint32_t r = 0; r < s_.ranks; ++r)
      for (std::uint32_t i = 1; i < s_.ranks; ++i) add({0, r, (r + i) % s_.ranks, (r + i) % s_.ranks, 1});
  }

  void pairwise() {
    s_.ordered = true;
    for (std::uint32_t i = 1; i < s_.ranks; ++i, ++s_.steps)
      for (std::uint32_t r = 0; r < s_.ranks; ++r)
        add({s_.steps, r, (r + i) % s_.ranks, (r + i) % s_.ranks, 1});
  }

  void chain(std::uint32_t root) {
    for (; s_.steps + 1 < s_.ranks; ++s_.steps)
      add({s_.steps, (root + s_.steps) % s_.ranks, (root + s_.steps + 1) % s_.ranks, 0, 1});
  }

  // In each step all ranks that have the data send it on.
  void tree(std::uint32_t root) {
    for (std::uint32_t have = 1; have < s_.ranks; have *= 2, ++s_.steps)
      for (std::uint32_t r = 0; r < have && r + have < s_.ranks; ++r)
        add({s_.steps, (root + r) % s_.ranks, (root + r + have) % s_.ranks, 0, 1});
  }

  CollectiveSchedule take() {
    std::ranges::stable_sort(s_.sends, {}, [](const CollectiveSend& s) { return std::tie(s.step, s.src); });
    return std::move(s_);
  }

 private:
  void add(const CollectiveSend& send) { s_.sends.push_back(send); }

  CollectiveSchedule s_;
};

}  // namespace

std::span<const std::string_view> operation_names() { return kOperations; }
std::span<const std::string_view> algorithm_names() { return kAlgorithms; }
std::string_view to_string(CollectiveOperation operation) {
  return kOperations[static_cast<std::size_t>(operation)];
}
std::string_view to_string(CollectiveAlgorithm algorithm) {
  return kAlgorithms[static_cast<std::size_t>(algorithm)];
}

std::span<const CollectiveAlgorithm> algorithms_of(CollectiveOperation operation) {
  switch (operation) {
    case CollectiveOperation::kAllReduce:
    case CollectiveOperation::kAllGather:
    case CollectiveOperation::kReduceScatter:
      return kReductions;
    case CollectiveOperation::kAllToAll:
      return kExchanges;
    case CollectiveOperation::kBroadcast:
      return kBroadcasts;
  }
  return {};
}

std::string problem_of(CollectiveAlgorithm algorithm, std::uint32_t ranks) {
  if (algorithm == kHalvingDoubling && !std::has_single_bit(ranks))
    return "halving-doubling needs a power of two of ranks, not " + std::to_string(ranks) + ": use \"ring\"";
  return "";
}

CollectiveSchedule schedule_of(CollectiveOperation operation, CollectiveAlgorithm algorithm,
                               std::uint32_t ranks, std::uint32_t root) {
  RL_CHECK(ranks >= 2 && root < ranks && problem_of(algorithm, ranks).empty());
  const bool ring = algorithm == kRing;
  Builder builder(ranks, operation == CollectiveOperation::kBroadcast ? 1 : ranks);
  switch (operation) {
    case CollectiveOperation::kAllReduce:
      ring ? builder.ring(true, 1) : builder.halving();
      ring ? builder.ring(false, 0) : builder.doubling();
      break;
    case CollectiveOperation::kAllGather:
      ring ? builder.ring(false, 0) : builder.doubling();
      break;
    case CollectiveOperation::kReduceScatter:
      ring ? builder.ring(true, 1) : builder.halving();
      break;
    case CollectiveOperation::kAllToAll:
      algorithm == kDirect ? builder.direct() : builder.pairwise();
      break;
    case CollectiveOperation::kBroadcast:
      ring ? builder.chain(root) : builder.tree(root);
      break;
  }
  return builder.take();
}

double bus_factor(CollectiveOperation operation, std::uint32_t ranks) {
  const double others = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  switch (operation) {
    case CollectiveOperation::kAllReduce:
      return 2 * others;
    case CollectiveOperation::kAllGather:
    case CollectiveOperation::kReduceScatter:
    case CollectiveOperation::kAllToAll:
      return others;
    case CollectiveOperation::kBroadcast:
      return 1;
  }
  return 1;
}

}  // namespace rocelab
