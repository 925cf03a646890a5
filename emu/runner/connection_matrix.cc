#include "emu/runner/connection_matrix.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "emu/runner/text_file.h"

namespace rocelab {
namespace {

enum class Kind : std::uint8_t { kNone, kOneShot, kMultiShot, kBarrier };

struct Trigger {
  Kind kind = Kind::kNone;
  std::int64_t count = 0;                 // barrier
  std::size_t line = 0;                   // where it is first spoken of
  std::vector<std::uint32_t> fired_by{};  // flows, by place
  std::vector<std::uint32_t> starts{};
};

class Reader {
 public:
  Reader(const std::string& text, const std::string& name, FlowOp op, Duration epoch,
         const Topology& topology)
      : lines_(text, name), op_(op), epoch_(epoch), topology_(topology) {}

  std::vector<ListedFlow> read() {
    while (lines_.next()) read_line();
    count("Connections", flows_.size());
    count("Triggers", specified_);
    if (flows_.empty()) lines_.fail("there is no connection: a line is for example 0->3 start 0 size 500000");
    for (const auto& [id, trigger] : triggers_) apply(id, trigger);
    check_all_start();
    return std::move(flows_);
  }

 private:
  void read_line() {
    const std::string& first = lines_.words()[0];
    if (first == "Nodes" || first == "Connections" || first == "Triggers") {
      if (lines_.words().size() != 2) lines_.fail(first + " is followed by one number");
      headers_[first] = {lines_.integer(1, "the number"), lines_.line()};
      if (first == "Nodes") check_nodes();
    } else if (first.find("->") != std::string::npos) {
      read_connection();
    } else if (first == "trigger") {
      read_trigger();
    } else if (first == "failure" || first == "Failures") {
      lines_.fail("failures of links are not read from here: write [[link_event]] entries in the scenario");
    } else {
      lines_.fail("a line begins with Nodes, Connections, Triggers, src->dst or trigger, not \"" + first +
                  "\"");
    }
  }

  void check_nodes() const {
    if (headers_.at("Nodes").first > static_cast<std::int64_t>(topology_.hosts()))
      lines_.fail("the matrix is for " + lines_.words()[1] + " nodes, and the topology has " +
                  std::to_string(topology_.hosts()) + " hosts");
  }

  void count(const char* what, std::size_t have) const {
    const auto said = headers_.find(what);
    const std::int64_t want = said == headers_.end() ? 0 : said->second.first;
    if (want != static_cast<std::int64_t>(have))
      lines_.fail_at(
          said == headers_.end() ? lines_.line() : said->second.second,
          std::string(what) + " says " + std::to_string(want) + ", but there are " + std::to_string(have));
  }

  std::uint32_t node(const std::string& word) const {
    const auto nodes = headers_.find("Nodes");
    if (nodes == headers_.end()) lines_.fail("Nodes, the number of hosts, must stand before the connections");
    const bool digits =
        !word.empty() && word.size() < 10 && word.find_first_not_of("0123456789") == std::string::npos;
    if (!digits || std::stol(word) >= nodes->second.first)
      lines_.fail("a connection's ends are nodes from 0 to " + std::to_string(nodes->second.first - 1) +
                  ", not \"" + word + "\"");
    return static_cast<std::uint32_t>(std::stol(word));
  }

  std::int64_t value(std::size_t word, std::int64_t least) const {
    const std::string what = lines_.words()[word - 1];
    if (word == lines_.words().size()) lines_.fail(what + " is followed by a number");
    const std::int64_t number = lines_.integer(word, what.c_str());
    if (number < least) lines_.fail(what + " must be at least " + std::to_string(least));
    return number;
  }

  Trigger& trigger(std::int64_t id) {
    Trigger& t = triggers_[id];
    if (t.line == 0) t.line = lines_.line();
    return t;
  }

  Duration start_at(std::size_t word) const {
    if (word == lines_.words().size()) lines_.fail("start is followed by a number");
    const double ps = lines_.real(word, "start");  // which htsim reads as a decimal number, too
    if (ps < 0 || ps > static_cast<double>(kLongestDuration.ps())) lines_.fail("start is out of range");
    const Duration start = Duration::from_ps(std::llround(ps)) - epoch_;
    if (start.ps() < 0)
      lines_.fail("the flow starts before the epoch of " + to_string(epoch_) +
                  ": set epoch to an earlier time");
    return start;
  }

  void read_connection() {
    const std::vector<std::string>& words = lines_.words();
    const std::size_t arrow = words[0].find("->");
    ListedFlow flow;
    flow.op = op_;
    flow.src = node(words[0].substr(0, arrow));
    flow.dst = node(words[0].substr(arrow + 2));
    if (flow.src == flow.dst) lines_.fail("the flow goes to its own source");
    const auto place = static_cast<std::uint32_t>(flows_.size());
    int begins = 0;
    for (std::size_t w = 1; w < words.size(); ++w) {
      const std::string& word = words[w];
      if (word == "start") {
        flow.start = start_at(++w);
        ++begins;
      } else if (word == "size") {
        const std::int64_t size = value(++w, 0);
        if (size > kMaxFlow.count())
          lines_.fail("a flow of " + words[w] + " bytes is more than " + to_string(kMaxFlow));
        flow.size = Bytes::from_count(size);
      } else if (word == "id") {
        if (!ids_.emplace(value(++w, 1), place).second) lines_.fail("id " + words[w] + " is used twice");
      } else if (word == "trigger") {
        trigger(value(++w, 1)).starts.push_back(place);
        ++begins;
      } else if (word == "send_done_trigger" || word == "recv_done_trigger") {
        trigger(value(++w, 1)).fired_by.push_back(place);
      } else if (word == "prio") {
        lines_.fail("prio is not supported: all RoCE data is in one class; take it out");
      } else {
        lines_.fail(
            "a connection has start or trigger, size, id, send_done_trigger and recv_done_trigger, and "
            "no \"" +
            word + "\"");
      }
    }
    if (flow.size == 0_B)
      lines_.fail("a flow without a size never ends, which is not supported: give it one");
    if (begins != 1) lines_.fail("a connection has either a start or one trigger");
    flows_.push_back(flow);
    flow_lines_.push_back(lines_.line());
  }

  void read_trigger() {
    const std::vector<std::string>& words = lines_.words();
    if (words.size() < 3 || words[1] != "id") lines_.fail("a trigger is for example: trigger id 1 oneshot");
    Trigger& t = trigger(value(2, 1));
    if (t.kind != Kind::kNone) lines_.fail("trigger " + words[2] + " is specified twice");
    for (std::size_t w = 3; w < words.size(); ++w) {
      if (words[w] == "oneshot") {
        t.kind = Kind::kOneShot;
      } else if (words[w] == "multishot") {
        t.kind = Kind::kMultiShot;
      } else if (words[w] == "barrier") {
        t.kind = Kind::kBarrier;
      } else if (words[w] == "count") {
        t.count = value(++w, 1);
      } else {
        lines_.fail("a trigger is oneshot, multishot or barrier count N, not \"" + words[w] + "\"");
      }
    }
    if (t.kind == Kind::kNone || (t.kind == Kind::kBarrier) != (t.count > 0))
      lines_.fail("a trigger is oneshot, multishot or barrier count N");
    ++specified_;
  }

  void apply(std::int64_t id, const Trigger& t) {
    const std::string who = "trigger " + std::to_string(id);
    if (t.kind == Kind::kNone) lines_.fail_at(t.line, who + " has no line that specifies it");
    if (t.kind == Kind::kOneShot && t.fired_by.size() > 1)
      lines_.fail_at(t.line,
                     who + " is oneshot, but " + std::to_string(t.fired_by.size()) + " flows fire it");
    for (std::size_t i = 0; i < t.starts.size(); ++i) {
      ListedFlow& flow = flows_[t.starts[i]];
      for (const std::uint32_t other : t.fired_by) check_known(who, flow, other, flow_lines_[t.starts[i]]);
      for (const std::uint32_t other : t.fired_by) flow.after.push_back({other});
      flow.after_count = t.kind == Kind::kBarrier     ? static_cast<std::uint32_t>(t.count)
                         : t.kind == Kind::kMultiShot ? static_cast<std::uint32_t>(i) + 1
                                                      : 1;
    }
  }

  // Programs talk to nobody: one starts a flow when it has seen others end itself.
  void check_known(const std::string& who, const ListedFlow& flow, std::uint32_t fired_by,
                   std::size_t line) const {
    const bool pulls = op_ == FlowOp::kRead;
    const std::uint32_t poster = pulls ? flow.dst : flow.src;
    const ListedFlow& other = flows_[fired_by];
    if (poster == other.dst || (!pulls && poster == other.src)) return;
    lines_.fail_at(line, who + " starts this flow at node " + std::to_string(poster) +
                             ", which does not see the end of " + std::to_string(other.src) + "->" +
                             std::to_string(other.dst) + " in line " + std::to_string(flow_lines_[fired_by]) +
                             ": of a trigger all flows must share that node");
  }

  void check_all_start() const {
    std::vector<bool> starts(flows_.size());
    for (bool more = true; more;) {
      more = false;
      for (std::size_t i = 0; i < flows_.size(); ++i) {
        const auto ended =
            std::ranges::count_if(flows_[i].after, [&](const FlowEnd& end) { return starts[end.flow]; });
        if (starts[i] || ended < static_cast<std::ptrdiff_t>(flows_[i].after_count)) continue;
        more = starts[i] = true;
      }
    }
    for (std::size_t i = 0; i < flows_.size(); ++i)
      if (!starts[i])
        lines_.fail_at(flow_lines_[i], "the flow never starts: too few flows fire its trigger before it");
  }

  TextLines lines_;
  FlowOp op_;
  Duration epoch_;
  const Topology& topology_;
  std::map<std::string, std::pair<std::int64_t, std::size_t>> headers_;  // number and line
  std::map<std::int64_t, std::uint32_t> ids_;
  std::map<std::int64_t, Trigger> triggers_;
  std::size_t specified_ = 0;
  std::vector<ListedFlow> flows_;
  std::vector<std::size_t> flow_lines_;
};

}  // namespace

std::vector<ListedFlow> parse_connection_matrix(const std::string& text, const std::string& name, FlowOp op,
                                                Duration epoch, const Topology& topology) {
  return Reader(text, name, op, epoch, topology).read();
}

}  // namespace rocelab
