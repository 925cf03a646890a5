#include "ovs_patches/openqueue/explain.h"

#include <algorithm>
#include <vector>

#include "base/units.h"
#include "ovs_patches/openqueue/decompile.h"
#include "ovs_patches/openqueue/explain_code.h"
#include "ovs_patches/openqueue/explain_names.h"

namespace rocelab {
namespace oq {
namespace {

std::string size_text(std::int64_t size, bool in_packets) {
  return in_packets ? std::to_string(size) + " packets" : to_string(Bytes::from_count(size));
}

std::string percent(PolicyShare share) {
  if (share.whole != 0 && std::uint64_t{share.part} * 100 % share.whole == 0)
    return std::to_string(std::uint64_t{share.part} * 100 / share.whole) + "%";
  return std::to_string(share.part) + "/" + std::to_string(share.whole);
}

class Sentences {
 public:
  explicit Sentences(const PolicyProgram& program) : program_(program) {}

  std::string queue(const PolicyQueue& queue) const {
    std::string text = queue.lossless
                           ? ", which is lossless: ingress accounting bounds it, and nothing drops from it"
                           : ", at most " + size_text(queue.size, queue.in_packets);
    text += ". It serves " + service(queue.service) + ".";
    if (!queue.congestion.empty()) {
      text += " After an arrival, which is counted: " + cases(queue.congestion) + ".";
      if (drops(queue.congestion)) text += " What is dropped is " + victim(queue.drop) + ".";
    } else if (!queue.lossless && queue.buffer == kNoPolicyObject) {
      text += " A frame that does not fit is refused.";
    } else if (queue.buffer != kNoPolicyObject) {
      text += " Where " + program_.buffers[queue.buffer].name + " drops from it, that is " +
              victim(queue.drop) + ".";
    }
    if (!queue.post_admission.empty()) text += " After admission: " + cases(queue.post_admission) + ".";
    return text + " " + structure(queue);
  }

  std::string buffer(const PolicyBuffer& buffer) const {
    std::string text = "holds at most " + size_text(buffer.size, buffer.in_packets) + " over ";
    std::vector<std::string> names;
    for (const std::uint32_t queue : buffer.queues) names.push_back(program_.queues[queue].name);
    text += names_of(names) + ".";
    if (!buffer.congestion.empty()) {
      text += " After an arrival in one of them: " + cases(buffer.congestion) + ".";
      if (drops(buffer.congestion))
        text += " The queue that loses is the one of " + key(buffer.drop_from) + ", lossless ones excepted.";
    }
    if (!buffer.post_admission.empty()) text += " After admission: " + cases(buffer.post_admission) + ".";
    return text;
  }

  std::string port(const PolicyPort& port) const {
    std::string text = port.internal
                           ? "moves frames within the switch, at " + to_string(Rate::from_bps(port.rate))
                           : "sends";
    if (!port.internal && port.share.part < port.share.whole)
      text += " at " + percent(port.share) + " of its link's rate";
    if (port.internal)
      text += port.drops_ahead ? ", also to queues that drop them"
                               : ", and waits while the queue ahead would drop";
    if (port.cycle > 0) text += ", " + to_string(Duration::from_ps(port.cycle)) + " of processing each";
    text += ". It serves ";
    const PolicySchedule& schedule = port.schedule;
    const std::string rest = schedule.turn != kNoPolicyObject
                                 ? "the turn " + program_.turns[schedule.turn].name
                             : port.queues.size() == 1 ? "its queue"
                                                       : "the queue of " + key(schedule.order);
    std::vector<std::string> strict;
    for (const std::uint32_t queue : port.queues)
      if (program_.queues[queue].strict > 0) strict.push_back(inside(program_.queues[queue].name));
    if (schedule.has_strict)
      text += (strict.empty() ? std::string("strict queues, of which it has none,")
                              : "first " + names_of(strict)) +
              " by " + key(schedule.strict_order) + ", then " + rest;
    else
      text += rest;
    text += ".";
    if (!port.post_scheduling.empty()) text += " After a departure: " + cases(port.post_scheduling) + ".";
    if (port.internal) text += " Next: " + selection(port.next) + ".";
    return text;
  }

  std::string selection(const PolicySelection& selection) const {
    std::string text;
    for (const PolicySelection::Case& one : selection.cases) {
      text += text.empty() ? "" : "; ";
      const bool last = &one == &selection.cases.back();
      text += one.predicate                        ? predicate_of(program_, one.predicate)
              : last && selection.cases.size() > 1 ? "else"
                                                   : "all";
      std::vector<std::string> names;
      for (std::uint32_t i = 0; i < one.count; ++i)
        names.push_back(inside(program_.queues[one.first + i].name));
      text +=
          " to " + (one.count == 1 || !one.index ? names.front()
                                                 : inside(program_.queues[one.first].name) + " and on, by " +
                                                       expression_of(program_, one.index));
    }
    return text;
  }

  std::string turn(const PolicyTurn& turn) const {
    std::string text = "visits queues in a circle, and serves one";
    const std::string when = predicate_of(program_, turn.serve);
    text += (when == "1" ? " packet of each" : " when " + when) + ".";
    if (!turn.enter.empty()) text += " On entering one: " + actions(turn.enter) + ".";
    if (!turn.after.empty()) text += " After a service: " + actions(turn.after) + ".";
    if (!turn.empty.empty()) text += " When one has become empty: " + actions(turn.empty) + ".";
    return text;
  }

 private:
  // Without the block's prefix: of a port, its own queues.
  static std::string inside(const std::string& name) {
    const std::size_t dot = name.rfind('.');
    return dot == std::string::npos ? name : name.substr(dot + 1);
  }

  std::string key(const PolicyKey& key) const {
    std::string text;
    for (const PolicyKey::Component& component : key.components) {
      std::string value = predicate_of(program_, component.value);
      const bool largest = value.starts_with("-");
      if (largest) value = value.substr(1);
      if (value.starts_with("(") && value.ends_with(")") && !component.divisor)
        value = value.substr(1, value.size() - 2);
      if (component.divisor) value += " / " + expression_of(program_, component.divisor);
      text +=
          (text.empty() ? "" : ", then ") + std::string(largest ? "the largest " : "the smallest ") + value;
    }
    return text.empty() ? "the lowest index" : text;
  }

  std::string service(const PolicyOrder& order) const {
    switch (order.kind) {
      case PolicyOrder::Kind::kOldest:
        return "in the order of arrival";
      case PolicyOrder::Kind::kNewest:
        return "the newest first";
      case PolicyOrder::Kind::kRoundRobin:
        return "round robin over ingress ports, of each in the order of arrival";
      case PolicyOrder::Kind::kKey:
        break;
    }
    return key(order.key) + " first, of equals the oldest";
  }

  std::string victim(const PolicyOrder& order) const {
    switch (order.kind) {
      case PolicyOrder::Kind::kOldest:
        return "the oldest";
      case PolicyOrder::Kind::kNewest:
        return "the newest";
      case PolicyOrder::Kind::kRoundRobin:  // of service alone
      case PolicyOrder::Kind::kKey:
        break;
    }
    return "the frame of " + key(order.key) + ", of equals the newest";
  }

  std::string structure(const PolicyQueue& queue) const {
    const int heaps = (queue.service.kind == PolicyOrder::Kind::kKey ? 1 : 0) +
                      (queue.drop.kind == PolicyOrder::Kind::kKey ? 1 : 0);
    return heaps == 0   ? "(A list: O(1) a frame.)"
           : heaps == 1 ? "(A list and a heap: O(log n) a frame.)"
                        : "(Two heaps: O(log n) a frame.)";
  }

  static bool drops(const PolicyCases& cases) {
    for (const PolicyCase& one : cases)
      for (const PolicyAction& action : one.actions)
        if (action.kind == PolicyAction::Kind::kDrop) return true;
    return false;
  }

  std::string cases(const PolicyCases& cases) const {
    std::string text;
    for (const PolicyCase& one : cases) {
      const bool repeats =
          std::any_of(one.actions.begin(), one.actions.end(), [](const PolicyAction& action) {
            return action.kind == PolicyAction::Kind::kDrop && action.share.part >= action.share.whole;
          });
      text += text.empty() ? "" : "; else ";
      text += one.predicate ? (repeats ? "while " : "if ") + predicate_of(program_, one.predicate)
                            : std::string("always");
      text += ", " + actions(one.actions);
    }
    return text;
  }

  std::string actions(const std::vector<PolicyAction>& actions) const {
    std::string text;
    for (const PolicyAction& action : actions) text += (text.empty() ? "" : " and ") + this->action(action);
    return text;
  }

  std::string action(const PolicyAction& action) const {
    switch (action.kind) {
      case PolicyAction::Kind::kDrop:
        return action.share.part >= action.share.whole
                   ? "one is dropped"
                   : "one is dropped with probability " + percent(action.share);
      case PolicyAction::Kind::kMark:
        return "the packet is marked";
      case PolicyAction::Kind::kNotify:
        return "a notice is recorded";
      case PolicyAction::Kind::kPauseUpstream:
        return "its sender is paused";
      case PolicyAction::Kind::kResumeUpstream:
        return "its sender goes on";
      case PolicyAction::Kind::kModify:
        break;
    }
    const bool context = action.object == kContextObject;
    std::string of = "packet.value";
    if (action.of == PolicyAction::Of::kQueue)
      of =
          (context ? "queue" : program_.queues[action.object].name) + "." + state_name(program_, action.slot);
    if (action.of == PolicyAction::Of::kBuffer)
      of = (context ? "buffer" : program_.buffers[action.object].name) + "." +
           state_name(program_, action.slot);
    if (action.of == PolicyAction::Of::kPort)
      of = (context ? "port" : program_.ports[action.object].name) + "." + state_name(program_, action.slot);
    return of + " := " + predicate_of(program_, action.value);
  }

  const PolicyProgram& program_;
};

std::string counted(std::size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace
}  // namespace oq

std::string explain(const PolicyProgram& program, const ExplainOptions& options) {
  const oq::Sentences sentences(program);
  std::string text = program.name + ": " + oq::counted(program.queues.size(), "queue") + ", " +
                     oq::counted(program.buffers.size(), "buffer") + ", " +
                     oq::counted(program.ports.size(), "port") + ".\n\nQueues\n";
  oq::Groups queues, buffers, ports, selections, turns;
  for (const PolicyQueue& queue : program.queues) queues.add(queue.name, sentences.queue(queue), queue.takes);
  for (const PolicyBuffer& buffer : program.buffers) buffers.add(buffer.name, sentences.buffer(buffer));
  for (const PolicyPort& port : program.ports) ports.add(port.name, sentences.port(port));
  for (const PolicyTurn& turn : program.turns) turns.add("Turn " + turn.name, sentences.turn(turn));
  for (std::size_t i = 0; i < program.select.size(); ++i)
    selections.add("port[" + std::to_string(i) + "]", "- " + sentences.selection(program.select[i]) + ".");
  text += queues.text();
  if (!program.buffers.empty()) text += "\nBuffers\n" + buffers.text();
  text += "\nPorts\n" + ports.text() + turns.text();
  text += "\nFrames for each egress port\n" + selections.text();
  const PolicyBounds& bounds = program.bounds;
  text += "\nA frame costs at most " + std::to_string(bounds.arrival_instructions) + " instructions and " +
          std::to_string(bounds.evictions) + " evictions when it arrives, and " +
          std::to_string(bounds.departure_instructions) + " instructions when it leaves.\n";
  if (options.code) text += "\nCode\n" + oq::listing_of(program);
  return text;
}

}  // namespace rocelab
