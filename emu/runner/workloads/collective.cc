#include "emu/runner/workloads/collective.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/quantity.h"
#include "emu/runner/workload_parts.h"

namespace rocelab {
namespace {

constexpr std::string_view kGroupings[] = {"consecutive", "strided"};
constexpr std::string_view kDependencies[] = {"data", "steps"};
constexpr double kMostNeeds = 2e7;  // of all flows together; each is 16 bytes of a plan

constexpr auto kFields = fields(
    field<&CollectiveParams::groups>("groups",
                                     "the ranks are dealt into so many groups of equal size, each with a "
                                     "collective of its own, all at once")
        .within(1, 4'096),
    choice<&CollectiveParams::grouping>(
        "grouping", kGroupings, "of `groups` = G: neighbours in rank order make a group, or every G-th rank"),
    field<&CollectiveParams::iterations>("iterations", "one after the other at each rank")
        .within(1, 1'000'000),
    field<&CollectiveParams::gap>("gap", "what a rank computes between two iterations").within(0_ps, 1_s),
    field<&CollectiveParams::step_gap>("step_gap",
                                       "what a rank computes on what it has received before it sends on")
        .within(0_ps, 1_s),
    field<&CollectiveParams::chunk>("chunk",
                                    "most bytes of a piece: what a rank sends in a step is cut into pieces "
                                    "that go on independently; `all`: it is one piece")
        .positive()
        .or_word("all"),
    choice<&CollectiveParams::dependencies>(
        "dependencies", kDependencies,
        "a rank sends when it has the data, or when all that it has sent and received in earlier steps is "
        "complete"),
    field<&CollectiveParams::skew>("skew",
                                   "of all-to-all: the rank with the k-th largest load receives k^-skew of "
                                   "the largest one; who that is is drawn for each iteration; a multiple "
                                   "of 0.5")
        .within(0, 4));

// k^-skew in halves: products and square roots, which are the same on every machine.
double load_of(std::uint32_t k, double skew) {
  double power = 1;
  for (int whole = static_cast<int>(skew); whole > 0; --whole) power *= k;
  return 1 / (skew == std::floor(skew) ? power : power * std::sqrt(static_cast<double>(k)));
}

}  // namespace

Schema<CollectiveParams> Collective::schema() { return kFields; }

std::optional<SchemaProblem> Collective::problem_of(const Params& params) {
  if (params.skew * 2 != std::floor(params.skew * 2))
    return SchemaProblem{"skew", "must be a multiple of 0.5"};
  return std::nullopt;
}

void Collective::read(ConfigSection& section, WorkloadSettings& w, const WorkloadContext& context) {
  if (section.has("stop")) section.fail_at("stop", "is not for collectives: give it fewer iterations");
  if (w.service != FlowService::kRc) section.fail_at("service", "must be \"rc\": a collective loses nothing");
  operation_ = static_cast<CollectiveOperation>(section.choice("operation", operation_names(), 0));
  const std::span<const CollectiveAlgorithm> algorithms = algorithms_of(operation_);
  std::vector<std::string_view> names;
  for (const CollectiveAlgorithm a : algorithms) names.push_back(to_string(a));
  algorithm_ = algorithms[section.choice("algorithm", names, 0)];
  w.size.min = w.size.max = read_size(section, "size");
  w.op = read_op(section, w.service);
  ranks_ = hosts_or_all(read_hosts(section, "ranks", context.topology), context.topology);
  if (section.has("root")) {
    if (operation_ != CollectiveOperation::kBroadcast)
      section.fail_at("root", "is that of operation = \"broadcast\"");
    if (params.groups > 1) section.fail_at("root", "excludes groups: the first rank of each is its root");
    const std::uint32_t host = find_host(section, "root", context.topology, section.text("root", ""));
    const auto found = std::ranges::find(ranks_, host);
    if (found == ranks_.end()) section.fail_at("root", "is none of the ranks");
    root_ = static_cast<std::uint32_t>(found - ranks_.begin());
  }
}

void Collective::check(ConfigSection& section, const WorkloadSettings& w, const Topology&) const {
  const char* at = section.has("groups") ? "groups" : section.has("ranks") ? "ranks" : "kind";
  const std::size_t all = ranks_.size();
  if (all % params.groups != 0)
    section.fail_at("groups", "= " + std::to_string(params.groups) + " does not divide the " +
                                  std::to_string(all) + " ranks");
  if (ranks_per_group() < 2)
    section.fail_at(
        at, "leaves a collective of " + std::to_string(ranks_per_group()) + " rank: it needs at least two");
  if (const std::string problem = rocelab::problem_of(algorithm_, ranks_per_group()); !problem.empty())
    section.fail_at("algorithm", "= " + problem);
  if (w.size.max.count() < ranks_per_group())
    section.fail_at("size",
                    "is less than a byte for each of the " + std::to_string(ranks_per_group()) + " ranks");
  if (w.op == FlowOp::kRead)
    section.fail_at("op",
                    "must be \"write\" or \"send\": a rank that reads does not know when the data is there");
  if (w.queue_pairs != QueuePairs::kPersistent)
    section.fail_at("queue_pairs", "must be \"persistent\": a rank keeps its queue pairs through all steps");
  if (section.has("skew") && operation_ != CollectiveOperation::kAllToAll)
    section.fail_at("skew", "is that of operation = \"all-to-all\"");
  check_amount(section, w);
}

void Collective::check_amount(ConfigSection& section, const WorkloadSettings& w) const {
  const double ranks = ranks_per_group();
  if (operation_ != CollectiveOperation::kBroadcast && algorithm_ != CollectiveAlgorithm::kHalvingDoubling &&
      ranks * (ranks - 1) > static_cast<double>(kMostFlows))
    section.fail_at("algorithm", "makes more than " + std::to_string(kMostFlows) + " flows of " +
                                     std::to_string(ranks_per_group()) + " ranks");
  const CollectiveSchedule schedule = schedule_of(operation_, algorithm_, ranks_per_group(), root_);
  const double each = static_cast<double>(w.size.max.count()) / schedule.blocks,
               chunk = static_cast<double>(params.chunk.count());
  const auto pieces = [&](const CollectiveSend& send) {
    return chunk == 0 ? 1 : std::max(1.0, std::ceil(each * send.blocks / chunk));
  };
  std::map<std::uint32_t, std::set<std::uint32_t>> peers;  // of a rank
  std::map<std::uint32_t, double> of_rank;                 // pieces that it sends and receives
  double flows = 0, needs = 0;                             // of an iteration of a group
  for (const CollectiveSend& send : schedule.sends) {
    flows += pieces(send);
    for (const auto& [rank, peer] : {std::pair{send.src, send.dst}, std::pair{send.dst, send.src}}) {
      peers[rank].insert(peer);
      of_rank[rank] += pieces(send);
    }
  }
  // A rank's first flow to each peer waits for all of the iteration before.
  for (const auto& [rank, others] : peers) {
    const auto count = static_cast<double>(others.size());
    needs += count * (w.qps == 1 ? 2 * count : of_rank[rank]);
  }
  const double groups = params.groups;
  const char* at = chunk > 0 ? "chunk" : params.iterations > 1 ? "iterations" : "ranks";
  if (flows * params.iterations * groups > static_cast<double>(kMostFlows))
    section.fail_at(at, "makes more than " + std::to_string(kMostFlows) + " flows");
  if (needs * (params.iterations - 1) * groups > kMostNeeds)
    section.fail_at("iterations", "of so many ranks wait for one another too often for one run: lower it");
}

std::optional<CollectiveFacts> Collective::collective(const WorkloadSettings& w) const {
  return CollectiveFacts{operation_, algorithm_, ranks_per_group(), params.groups, w.size.max};
}

std::vector<std::uint32_t> Collective::group(std::uint32_t index) const {
  const std::uint32_t n = ranks_per_group();
  std::vector<std::uint32_t> hosts;
  for (std::uint32_t r = 0; r < n; ++r)
    hosts.push_back(
        ranks_[params.grouping == Grouping::kStrided ? r * params.groups + index : index * n + r]);
  return hosts;
}

// Shares of the ranks, which add up to 1; empty: equal ones.
std::vector<double> Collective::draw_loads(FlowDraw& draw) const {
  std::vector<double> loads;
  if (params.skew == 0) return loads;
  for (std::uint32_t k = 1; k <= ranks_per_group(); ++k) loads.push_back(load_of(k, params.skew));
  for (std::size_t i = loads.size(); i > 1; --i) std::swap(loads[i - 1], loads[draw.rng().below(i)]);
  double sum = 0;
  for (const double load : loads) sum += load;
  for (double& load : loads) load /= sum;
  return loads;
}

std::int64_t Collective::offset_of(Bytes size, std::uint32_t ranks, std::uint32_t block,
                                   const std::vector<double>& loads) {
  if (loads.empty()) return size.count() / ranks * block + size.count() % ranks * block / ranks;
  // A byte for each, and the rest by load.
  double before = 0;
  for (std::uint32_t b = 0; b < block; ++b) before += loads[b];
  const auto rest = static_cast<double>(size.count() - ranks);
  return block == ranks ? size.count() : block + static_cast<std::int64_t>(rest * std::min(before, 1.0));
}

void Collective::draw(FlowDraw& draw) const {
  const CollectiveSchedule schedule = schedule_of(operation_, algorithm_, ranks_per_group(), root_);
  const WorkloadSettings& w = draw.workload();
  const bool in_order = w.qps == 1;
  for (std::uint32_t g = 0; g < params.groups; ++g) {
    const std::vector<std::uint32_t> hosts = group(g);
    std::vector<Duration> begins;
    for (std::size_t r = 0; r < hosts.size(); ++r) begins.push_back(draw.jitter());
    std::vector<std::vector<FlowEnd>> before(hosts.size());  // of each rank, in the last iteration
    std::vector<CollectivePiece> pieces;  // the same in all iterations, but where loads are drawn
    for (std::uint32_t i = 0; i < params.iterations; ++i) {
      const std::vector<double> loads = draw_loads(draw);
      const auto offsets = [&](std::uint32_t, std::uint32_t block) {
        return offset_of(w.size.max, schedule.blocks, block, loads);
      };
      if (i == 0 || !loads.empty())
        pieces = pieces_of(schedule, offsets, {params.chunk.count(), params.dependencies, in_order});
      const auto first = static_cast<std::uint32_t>(draw.flows());
      std::vector<std::vector<FlowEnd>> ends(hosts.size());
      for (std::uint32_t p = 0; p < pieces.size(); ++p) {
        const CollectivePiece& piece = pieces[p];
        Flow& flow = draw.add_plain(hosts[piece.src], hosts[piece.dst], begins[piece.src]);
        flow.size = Bytes::from_count(piece.bytes());
        flow.request = i * params.groups + g;
        flow.step = piece.step;
        flow.in_order = true;
        for (const std::uint32_t need : piece.needs) flow.after.push_back({first + need, params.step_gap});
        if (piece.first)
          flow.after.insert(flow.after.end(), before[piece.src].begin(), before[piece.src].end());
        flow.after_count = static_cast<std::uint32_t>(flow.after.size());
        if (piece.last || !in_order)
          for (const std::uint32_t rank : {piece.src, piece.dst})
            ends[rank].push_back({first + p, params.gap});
      }
      before = std::move(ends);
    }
  }
}

}  // namespace rocelab
