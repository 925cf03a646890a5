#include "ovs_patches/openqueue/explain.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/units.h"
#include "ovs_patches/openqueue/decompile.h"

namespace rocelab {
namespace oq {
namespace {

// --- names ------------------------------------------------------------------------------------------------

// A name apart: "port[3].q[0]" is "port[#].q[#]" and 3, 0.
struct Pattern {
  std::string text;
  std::vector<std::int64_t> numbers;
};

Pattern pattern_of(const std::string& name) {
  Pattern made;
  for (std::size_t i = 0; i < name.size(); ++i) {
    made.text += name[i];
    if (name[i] != '[') continue;
    const std::size_t end = name.find(']', i);
    made.numbers.push_back(std::stoll(name.substr(i + 1, end - i - 1)));
    made.text += "#";
    i = end - 1;
  }
  return made;
}

std::string with_numbers(const std::string& pattern, const std::vector<std::string>& numbers) {
  std::string text;
  std::size_t next = 0;
  for (const char c : pattern) text += c == '#' ? numbers[next++] : std::string(1, c);
  return text;
}

// "0..2, 4..7"
std::string runs(const std::set<std::int64_t>& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const std::int64_t from = *at;
    std::int64_t to = from;
    for (++at; at != numbers.end() && *at == to + 1; ++at) to = *at;
    text += (text.empty() ? "" : ", ") + std::to_string(from) + (to > from ? ".." + std::to_string(to) : "");
  }
  return text;
}

// Names of one pattern, whose numbers fill a grid: "port[0..3].q[0..2, 4..7]"; else the first few of them.
std::string names_of(const std::vector<std::string>& names) {
  std::map<std::string, std::vector<std::vector<std::int64_t>>> patterns;
  std::vector<std::string> order;
  for (const std::string& name : names) {
    const Pattern pattern = pattern_of(name);
    auto& all = patterns[pattern.text];
    if (all.empty()) order.push_back(pattern.text);
    all.push_back(pattern.numbers);
  }
  std::string text;
  for (const std::string& pattern : order) {
    const auto& all = patterns[pattern];
    std::vector<std::string> ranges;
    std::size_t grid = 1;
    for (std::size_t d = 0; d < all.front().size(); ++d) {
      std::set<std::int64_t> values;
      for (const auto& one : all) values.insert(one[d]);
      grid *= values.size();
      ranges.push_back(runs(values));
    }
    if (!text.empty()) text += ", ";
    if (grid == all.size()) {
      text += with_numbers(pattern, ranges);
      continue;
    }
    constexpr std::size_t kShown = 6;
    for (std::size_t i = 0; i < std::min(kShown, all.size()); ++i) {
      std::vector<std::string> numbers;
      for (const std::int64_t number : all[i]) numbers.push_back(std::to_string(number));
      text += (i > 0 ? ", " : "") + with_numbers(pattern, numbers);
    }
    if (all.size() > kShown) text += " and " + std::to_string(all.size() - kShown) + " more";
  }
  return text;
}

std::string classes(TcMask mask) {
  std::set<std::int64_t> all;
  for (int tc = 0; tc < kTrafficClasses; ++tc)
    if ((mask >> tc) & 1) all.insert(tc);
  return (all.size() == 1 ? "class " : "classes ") + runs(all);
}

// What several objects say of themselves, each text once, in the order of the first that says it. Queues also
// say which classes they receive.
class Groups {
 public:
  void add(const std::string& name, const std::string& text, std::optional<TcMask> takes = {}) {
    Group& group = groups_[text];
    if (group.names.empty()) order_.push_back(text);
    group.names.push_back(name);
    if (takes) group.takes.insert(*takes);
  }
  std::string text() const {
    std::string all;
    for (const std::string& text : order_) {
      const Group& group = groups_.at(text);
      all += names_of(group.names) + " " + received(group.takes) + text + "\n";
    }
    return all;
  }

 private:
  struct Group {
    std::vector<std::string> names;
    std::set<TcMask> takes;
  };
  static std::string received(const std::set<TcMask>& takes) {
    if (takes.empty()) return "";
    if (takes.size() == 1)
      return *takes.begin() == 0 ? "receives no frame" : "receives " + classes(*takes.begin());
    TcMask any = 0;
    bool single = true;
    for (const TcMask one : takes) {
      single &= (any & one) == 0 && (one & (one - 1)) == 0;
      any |= one;
    }
    return (single ? "receives one class each, of " : "receives some each of ") + classes(any);
  }
  std::map<std::string, Group> groups_;
  std::vector<std::string> order_;
};

// --- sentences --------------------------------------------------------------------------------------------

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
      of = (context ? "queue" : program_.queues[action.object].name) + "." + state_name(action.slot);
    if (action.of == PolicyAction::Of::kBuffer)
      of = (context ? "buffer" : program_.buffers[action.object].name) + "." + state_name(action.slot);
    if (action.of == PolicyAction::Of::kPort)
      of = (context ? "port" : program_.ports[action.object].name) + "." + state_name(action.slot);
    return of + " := " + predicate_of(program_, action.value);
  }

  const PolicyProgram& program_;
};

// --- code -------------------------------------------------------------------------------------------------

// Every piece of code once, under the first that has it.
class Listing {
 public:
  explicit Listing(const PolicyProgram& program) : program_(program) {}

  std::string text() {
    for (const PolicyQueue& queue : program_.queues) {
      add(queue.service.key, queue.name + ".procPrio");
      add(queue.drop.key, queue.name + ".dropFirst");
      add(queue.congestion, queue.name + ".congestion");
      add(queue.post_admission, queue.name + ".postAdmAct");
    }
    for (const PolicyBuffer& buffer : program_.buffers) {
      add(buffer.drop_from, buffer.name + ".dropFrom");
      add(buffer.congestion, buffer.name + ".congestion");
      add(buffer.post_admission, buffer.name + ".postAdmAct");
    }
    for (const PolicyPort& port : program_.ports) {
      add(port.schedule.strict_order, port.name + ".schedPrio, strict");
      add(port.schedule.order, port.name + ".schedPrio");
      add(port.post_scheduling, port.name + ".postSchedAct");
      add(port.next, "select " + port.name);
    }
    for (const PolicyTurn& turn : program_.turns) {
      add(turn.enter, "turn " + turn.name + ", enter");
      add(turn.serve, "turn " + turn.name + ", serve");
      add(turn.after, "turn " + turn.name + ", after");
      add(turn.empty, "turn " + turn.name + ", empty");
    }
    for (std::size_t i = 0; i < program_.select.size(); ++i)
      add(program_.select[i], "select for port " + std::to_string(i));
    return text_;
  }

 private:
  void add(PolicyCode code, const std::string& of) {
    if (!code || !known_.insert({code.first, of}).second) return;
    text_ += of + ": " + predicate_of(program_, code) + "\n" + listing_of(program_, code, "  ");
  }
  void add(const PolicyKey& key, const std::string& of) {
    for (const PolicyKey::Component& component : key.components) {
      add(component.value, of);
      add(component.divisor, of + ", divisor");
    }
  }
  void add(const std::vector<PolicyAction>& actions, const std::string& of) {
    for (const PolicyAction& action : actions) add(action.value, of + ", modify");
  }
  void add(const PolicyCases& cases, const std::string& of) {
    for (const PolicyCase& one : cases) {
      add(one.predicate, of);
      add(one.actions, of);
    }
  }
  void add(const PolicySelection& selection, const std::string& of) {
    for (const PolicySelection::Case& one : selection.cases) {
      add(one.predicate, of);
      add(one.index, of + ", index");
    }
  }

  const PolicyProgram& program_;
  std::map<std::uint32_t, std::string> known_;  // by first instruction
  std::string text_;
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
  if (options.code) text += "\nCode\n" + oq::Listing(program).text();
  return text;
}

}  // namespace rocelab
