// A plan's flows as a schedule in GOAL.
#include <algorithm>
#include <utility>

#include "emu/runner/written_flows.h"

namespace rocelab {
namespace {

std::string ns_text(std::int64_t ps) { return std::to_string((ps + 999) / 1'000); }

struct Rank {
  std::string operations, order;  // what requires what stands behind all operations that it names
};

class Writer {
 public:
  explicit Writer(const RunPlan& plan) : plan_(plan), ranks_(plan.world.hosts.size()) {}

  WrittenFlows write() {
    for (const Flow& flow : plan_.flows) add(flow);
    std::string text = "num_ranks " + std::to_string(ranks_.size()) + "\n";
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      text += "rank " + std::to_string(rank) + " {\n" + ranks_[rank].operations + ranks_[rank].order + "}\n";
    return {std::move(text), omissions()};
  }

 private:
  void add(const Flow& flow) {
    const std::string id = std::to_string(flow.id), size = std::to_string(flow.size.count()) + "b ";
    const std::string send = "s" + id;
    ranks_[flow.src].operations +=
        send + ": send " + size + "to " + std::to_string(flow.dst) + " tag " + id + "\n";
    ranks_[flow.dst].operations +=
        "r" + id + ": recv " + size + "from " + std::to_string(flow.src) + " tag " + id + "\n";
    if (flow.op == FlowOp::kRead && flow.after_count > 0) {
      ++reads_;
      return;
    }
    if (flow.after_count == 0 && flow.start > Time::zero()) wait(flow, "", flow.start - Time::zero(), "t");
    if (flow.after_count < flow.after.size()) ++some_;
    for (std::size_t i = 0; i < flow.after.size(); ++i) {
      const FlowEnd& end = flow.after[i];
      const bool received = plan_.flows[end.flow - 1].dst == flow.src;
      wait(flow, (received ? "r" : "s") + std::to_string(end.flow), end.delay, "c" + std::to_string(i) + "_");
    }
  }

  void wait(const Flow& flow, const std::string& behind, Duration delay, const std::string& prefix) {
    Rank& rank = ranks_[flow.src];
    const std::string send = "s" + std::to_string(flow.id), calc = prefix + std::to_string(flow.id);
    if (delay.ps() == 0) {
      rank.order += send + " requires " + behind + "\n";
      return;
    }
    rank.operations += calc + ": calc " + ns_text(delay.ps()) + "\n";
    if (!behind.empty()) rank.order += calc + " requires " + behind + "\n";
    rank.order += send + " requires " + calc + "\n";
  }

  std::vector<std::string> omissions() const {
    std::vector<std::string> list = plain_omissions(plan_);
    if (some_ > 0)
      list.push_back("that " + std::to_string(some_) +
                     " flows wait for some of several others (for all there)");
    if (reads_ > 0)
      list.push_back("that " + std::to_string(reads_) +
                     " READs begin when others have ended at their destination");
    return list;
  }

  const RunPlan& plan_;
  std::vector<Rank> ranks_;
  std::size_t some_ = 0, reads_ = 0;
};

}  // namespace

WrittenFlows write_goal(const RunPlan& plan) { return Writer(plan).write(); }

}  // namespace rocelab
