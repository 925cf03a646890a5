// A plan's flows as a connection matrix of htsim.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "emu/runner/written_flows.h"

namespace rocelab {
namespace {

struct End {  // at which a connection fires a trigger
  std::uint32_t flow = 0;
  bool received = false;  // at its destination
  friend auto operator<=>(const End&, const End&) = default;
};

struct Trigger {
  std::vector<End> fired_by;
  std::vector<const Flow*> starts;
  std::uint32_t count = 0;  // ends that it takes; of a multishot: of the first of its flows
  bool each = false;        // multishot: one more for each flow
};

std::uint32_t poster(const Flow& flow) { return flow.op == FlowOp::kRead ? flow.dst : flow.src; }

class Writer {
 public:
  Writer(const RunPlan& plan, Duration epoch) : plan_(plan), epoch_(epoch) {}

  WrittenFlows write() {
    group();
    fire();
    std::string text = "Nodes " + std::to_string(plan_.world.hosts.size()) + "\nConnections " +
                       std::to_string(plan_.flows.size()) + "\nTriggers " + std::to_string(triggers_.size()) +
                       "\n";
    for (const Flow& flow : plan_.flows) text += line(flow);
    for (std::size_t t = 0; t < triggers_.size(); ++t)
      text += "trigger id " + std::to_string(t + 1) + " " + kind(triggers_[t]) + "\n";
    return {std::move(text), omissions()};
  }

 private:
  // Flows that wait for the same ends share a trigger: all of them start at one count, or one at each.
  void group() {
    std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, std::vector<const Flow*>> waiting;
    for (const Flow& flow : plan_.flows) {
      if (flow.after_count == 0) continue;
      std::vector<std::uint32_t> others;
      for (const FlowEnd& end : flow.after) others.push_back(end.flow);
      std::ranges::sort(others);
      waiting[{poster(flow), others}].push_back(&flow);
    }
    for (auto& [key, flows] : waiting) {
      std::ranges::stable_sort(flows, {}, &Flow::after_count);
      const auto counts_up = [&](std::size_t i) { return flows[i]->after_count == i + 1; };
      bool each = flows.size() > 1;
      for (std::size_t i = 0; i < flows.size(); ++i) each = each && counts_up(i);
      for (std::size_t begin = 0; begin < flows.size();) {
        std::size_t end = begin + 1;
        while (end < flows.size() && (each || flows[end]->after_count == flows[begin]->after_count)) ++end;
        add(key.first, key.second, {flows.begin() + begin, flows.begin() + end}, each);
        begin = end;
      }
    }
    std::ranges::stable_sort(triggers_, {}, [](const Trigger& t) { return t.starts.front()->id; });
  }

  void add(std::uint32_t host, const std::vector<std::uint32_t>& others, std::vector<const Flow*> flows,
           bool each) {
    Trigger trigger{{}, std::move(flows), 0, each};
    trigger.count = trigger.starts.front()->after_count;
    for (const std::uint32_t id : others) trigger.fired_by.push_back({id, plan_.flows[id - 1].dst == host});
    triggers_.push_back(std::move(trigger));
  }

  // An end fires one trigger: that of the flow with the lowest number.
  void fire() {
    std::vector<Trigger> kept;
    for (Trigger& trigger : triggers_) {
      const std::size_t all = trigger.fired_by.size();
      std::erase_if(trigger.fired_by, [&](const End& end) { return fires_.contains(end); });
      const std::size_t left = trigger.fired_by.size();
      if (left < all) fewer_ += trigger.starts.size();
      if (left == 0) continue;  // its flows start at their time
      trigger.count = static_cast<std::uint32_t>(
          trigger.count == all ? left : std::min<std::size_t>(trigger.count, left));
      kept.push_back(trigger);
      const auto id = static_cast<std::uint32_t>(kept.size());
      for (const End& end : trigger.fired_by) fires_[end] = id;
      for (const Flow* flow : trigger.starts) started_by_[flow->id] = id;
    }
    triggers_ = std::move(kept);
  }

  static std::string kind(const Trigger& trigger) {
    if (trigger.each) return "multishot";
    if (trigger.fired_by.size() == 1) return "oneshot";
    return "barrier count " + std::to_string(trigger.count);
  }

  std::string line(const Flow& flow) const {
    const auto node = [](std::uint32_t host) { return std::to_string(host); };
    std::string text = node(flow.src) + "->" + node(flow.dst) + " id " + std::to_string(flow.id);
    if (const auto trigger = started_by_.find(flow.id); trigger != started_by_.end())
      text += " trigger " + std::to_string(trigger->second);
    else
      text += " start " + std::to_string((flow.start - Time::zero() + epoch_).ps());
    text += " size " + std::to_string(flow.size.count());
    if (const auto t = fires_.find({flow.id, false}); t != fires_.end())
      text += " send_done_trigger " + std::to_string(t->second);
    if (const auto t = fires_.find({flow.id, true}); t != fires_.end())
      text += " recv_done_trigger " + std::to_string(t->second);
    return text + "\n";
  }

  std::vector<std::string> omissions() const {
    std::vector<std::string> list = plain_omissions(plan_);
    const auto delayed = std::ranges::count_if(plan_.flows, [](const Flow& flow) {
      return std::ranges::any_of(flow.after, [](const FlowEnd& end) { return end.delay.ps() > 0; });
    });
    if (delayed > 0)
      list.push_back("that " + std::to_string(delayed) +
                     " flows begin some time behind others' ends (at once there)");
    if (fewer_ > 0)
      list.push_back("some of the ends that " + std::to_string(fewer_) +
                     " flows wait for: they start another flow there, and an end fires one trigger");
    return list;
  }

  const RunPlan& plan_;
  const Duration epoch_;
  std::vector<Trigger> triggers_;
  std::map<End, std::uint32_t> fires_;                 // trigger
  std::map<std::uint32_t, std::uint32_t> started_by_;  // flow -> trigger
  std::size_t fewer_ = 0;
};

}  // namespace

WrittenFlows write_connection_matrix(const RunPlan& plan, Duration epoch) {
  return Writer(plan, epoch).write();
}

}  // namespace rocelab
