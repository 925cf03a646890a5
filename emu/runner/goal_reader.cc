#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <tuple>

#include "base/quantity.h"
#include "emu/runner/goal_file.h"
#include "emu/runner/readers.h"
#include "emu/runner/text_file.h"

namespace rocelab {
namespace {

constexpr std::int64_t kMostNs = 1'000'000'000'000'000;

enum class Kind : std::uint8_t { kSend, kRecv, kCalc };

// When an operation begins or is complete: behind the last of these ends, with their delays, and not before
// `at`.
struct When {
  Duration at;
  std::map<std::uint32_t, Duration> ends;  // by flow

  void add(const When& other, Duration delay = {}) {
    if (other.at.ps() > 0 || other.ends.empty()) at = std::max(at, other.at + delay);
    for (const auto& [flow, behind] : other.ends) {
      Duration& mine = ends.try_emplace(flow, Duration{}).first->second;
      mine = std::max(mine, behind + delay);
    }
  }
};

struct Op {
  Kind kind = Kind::kCalc;
  std::uint32_t rank = 0, peer = 0, tag = 0;
  std::int64_t amount = 0;  // bytes, nanoseconds
  std::size_t line = 0;
  std::vector<std::size_t> requires_end = {}, requires_begin = {};
  std::uint32_t flow = 0;  // of a send, and of its receive
  When begin = {}, end = {};
};

// Without comments; lines keep their numbers.
std::string without_comments(const std::string& text) {
  std::string clean;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "//") == 0) {
      while (i < text.size() && text[i] != '\n') ++i;
    } else if (text.compare(i, 2, "/*") == 0) {
      for (i += 2; i < text.size() && text.compare(i, 2, "*/") != 0; ++i)
        if (text[i] == '\n') clean += '\n';
      ++i;
      continue;
    }
    if (i < text.size()) clean += text[i] == ':' ? std::string(": ") : std::string(1, text[i]);
  }
  return clean;
}

class Reader {
 public:
  Reader(const std::string& clean, const std::string& name, FlowOp op, const Topology& topology)
      : lines_(clean, name), op_(op), topology_(topology) {}

  std::vector<ListedFlow> read() {
    while (lines_.next()) read_line();
    if (in_rank_) lines_.fail("rank " + std::to_string(rank_) + " has no closing }");
    match();
    if (flows_.empty()) lines_.fail("there is no send");
    order();
    for (const Op& op : ops_)
      if (op.kind == Kind::kSend) set_start(flows_[op.flow], op);
    check_all_start();
    return std::move(flows_);
  }

 private:
  void read_line() {
    const std::vector<std::string>& words = lines_.words();
    if (words[0] == "num_ranks" && words.size() == 2) return read_ranks();
    if (words[0] == "rank" && words.size() == 3 && words[2] == "{") return begin_rank();
    if (words[0] == "}") {
      if (!in_rank_) lines_.fail("} closes no rank");
      in_rank_ = false;
      labels_.clear();
      return;
    }
    if (!in_rank_)
      lines_.fail("a line outside of ranks is num_ranks N or rank N {, not \"" + words[0] + "\"");
    if (words.size() == 3 && (words[1] == "requires" || words[1] == "irequires")) return read_dependency();
    read_op();
  }

  void read_ranks() {
    ranks_ = number(lines_.words()[1], "num_ranks", topology_.hosts(),
                    "the topology has " + std::to_string(topology_.hosts()) + " hosts");
  }

  void begin_rank() {
    if (in_rank_) lines_.fail("rank " + std::to_string(rank_) + " has no closing }");
    if (ranks_ == 0) lines_.fail("num_ranks must stand before the ranks");
    rank_ = static_cast<std::uint32_t>(
        number(lines_.words()[1], "the rank", ranks_ - 1, "num_ranks says " + std::to_string(ranks_)));
    in_rank_ = true;
  }

  void read_dependency() {
    const std::vector<std::string>& words = lines_.words();
    for (const std::size_t at : {0, 2})
      if (!labels_.contains(words[at]))
        lines_.fail("no operation of rank " + std::to_string(rank_) + " above is called \"" + words[at] +
                    "\"");
    Op& op = ops_[labels_[words[0]]];
    (words[1] == "requires" ? op.requires_end : op.requires_begin).push_back(labels_[words[2]]);
  }

  void read_op() {
    std::vector<std::string> words = lines_.words();
    if (words[0].back() == ':') {
      const std::string label = words[0].substr(0, words[0].size() - 1);
      if (!labels_.emplace(label, ops_.size()).second) lines_.fail("label \"" + label + "\" is used twice");
      words.erase(words.begin());
    }
    Op op;
    op.rank = rank_;
    op.line = lines_.line();
    if (words.size() >= 2 && words[0] == "calc") {
      op.amount = number(words[1], "the time of a calc", kMostNs, "");
      read_options(op, words, 2);
    } else if (words.size() >= 4 &&
               ((words[0] == "send" && words[2] == "to") || (words[0] == "recv" && words[2] == "from"))) {
      op.kind = words[0] == "send" ? Kind::kSend : Kind::kRecv;
      read_message(op, words);
    } else {
      lines_.fail(
          "an operation is calc NS, send Nb to RANK or recv Nb from RANK, behind its label, or A requires B");
    }
    ops_.push_back(std::move(op));
  }

  void read_message(Op& op, const std::vector<std::string>& words) {
    if (words[1].back() != 'b')
      lines_.fail("a size is a number of bytes with b behind it, not \"" + words[1] + "\"");
    op.amount = number(words[1].substr(0, words[1].size() - 1), "a size", kMaxFlow.count(), "");
    if (words[3] == "-1") lines_.fail("a recv from any rank is not supported: name the rank");
    op.peer = static_cast<std::uint32_t>(
        number(words[3], "the rank", ranks_ - 1, "num_ranks says " + std::to_string(ranks_)));
    if (op.peer == op.rank) lines_.fail("the message goes to its own rank");
    read_options(op, words, 4);
  }

  // tag, cpu and nic, each with a number. All processors and NICs of a rank are one.
  void read_options(Op& op, const std::vector<std::string>& words, std::size_t from) {
    for (std::size_t w = from; w < words.size(); w += 2) {
      const bool known =
          words[w] == "cpu" || words[w] == "nic" || (words[w] == "tag" && op.kind != Kind::kCalc);
      if (!known || w + 1 == words.size())
        lines_.fail("behind an operation stand tag N, cpu N and nic N, not \"" + words[w] + "\"");
      if (words[w + 1] == "-1") lines_.fail("a recv of any tag is not supported: name the tag");
      const std::int64_t value = number(words[w + 1], "it", 0xffffffff, "");
      if (words[w] == "tag") op.tag = static_cast<std::uint32_t>(value);
    }
  }

  std::int64_t number(const std::string& word, const std::string& what, std::int64_t most,
                      const std::string& why) const {
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || value < 0 || value > most)
      lines_.fail(what + " must be a whole number up to " + std::to_string(most) + ", not \"" + word + "\"" +
                  (why.empty() ? "" : ": " + why));
    return value;
  }

  // The n-th send from a rank to another one with a tag goes to the n-th recv.
  void match() {
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::vector<std::size_t>> receives;
    for (std::size_t i = 0; i < ops_.size(); ++i)
      if (ops_[i].kind == Kind::kRecv) receives[{ops_[i].peer, ops_[i].rank, ops_[i].tag}].push_back(i);
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::size_t> used;
    for (Op& op : ops_) {
      if (op.kind != Kind::kSend) continue;
      const auto key = std::tuple(op.rank, op.peer, op.tag);
      const std::size_t place = used[key]++;
      if (place >= receives[key].size())
        lines_.fail_at(op.line, "no recv of rank " + std::to_string(op.peer) + " takes this message");
      Op& receive = ops_[receives[key][place]];
      if (receive.amount != op.amount)
        lines_.fail_at(op.line, "sends " + std::to_string(op.amount) + " bytes, and the recv in line " +
                                    std::to_string(receive.line) + " takes " +
                                    std::to_string(receive.amount));
      op.flow = receive.flow = static_cast<std::uint32_t>(flows_.size());
      ListedFlow flow;
      flow.src = op.rank;
      flow.dst = op.peer;
      flow.op = op_;
      flow.size = Bytes::from_count(std::max<std::int64_t>(op.amount, 1));
      flows_.push_back(flow);
    }
    for (const auto& [key, list] : receives)
      if (used[key] < list.size()) lines_.fail_at(ops_[list[used[key]]].line, "no send goes to this recv");
  }

  // Of each operation, behind those that it requires.
  void order() {
    std::vector<std::vector<std::size_t>> before(ops_.size());
    std::vector<std::size_t> missing(ops_.size()), ready;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      for (const auto* list : {&ops_[i].requires_end, &ops_[i].requires_begin})
        for (const std::size_t other : *list) before[other].push_back(i);
      missing[i] = ops_[i].requires_end.size() + ops_[i].requires_begin.size();
      if (missing[i] == 0) ready.push_back(i);
    }
    for (std::size_t next = 0; next < ready.size(); ++next) {
      settle(ops_[ready[next]]);
      for (const std::size_t i : before[ready[next]])
        if (--missing[i] == 0) ready.push_back(i);
    }
    if (ready.size() == ops_.size()) return;
    const auto stuck = std::ranges::find_if(missing, [](std::size_t n) { return n > 0; });
    lines_.fail_at(ops_[static_cast<std::size_t>(stuck - missing.begin())].line,
                   "the operation requires itself, by way of others");
  }

  void settle(Op& op) {
    for (const std::size_t other : op.requires_end) op.begin.add(ops_[other].end);
    for (const std::size_t other : op.requires_begin) op.begin.add(ops_[other].begin);
    op.end.add(op.begin, op.kind == Kind::kCalc ? Duration::from_ps(op.amount * 1'000) : Duration{});
    if (op.kind == Kind::kCalc) return;
    if (op.kind == Kind::kSend) op.end = When{};  // its end says that it has begun
    op.end.ends[op.flow] = {};
  }

  static void set_start(ListedFlow& flow, const Op& op) {
    flow.start = op.begin.at;
    for (const auto& [other, delay] : op.begin.ends) flow.after.push_back({other, delay});
    flow.after_count = static_cast<std::uint32_t>(flow.after.size());
  }

  void check_all_start() const {
    std::vector<std::vector<std::uint32_t>> waiters(flows_.size());
    std::vector<std::uint32_t> missing(flows_.size()), started;
    for (std::uint32_t i = 0; i < flows_.size(); ++i) {
      for (const FlowEnd& end : flows_[i].after) waiters[end.flow].push_back(i);
      missing[i] = flows_[i].after_count;
      if (missing[i] == 0) started.push_back(i);
    }
    for (std::size_t next = 0; next < started.size(); ++next)
      for (const std::uint32_t i : waiters[started[next]])
        if (--missing[i] == 0) started.push_back(i);
    for (const Op& op : ops_)
      if (op.kind == Kind::kSend && missing[op.flow] > 0)
        lines_.fail_at(op.line, "the message is never sent: it waits for ranks that wait for it");
  }

  TextLines lines_;
  const FlowOp op_;
  const Topology& topology_;
  std::int64_t ranks_ = 0;
  std::uint32_t rank_ = 0;
  bool in_rank_ = false;
  std::map<std::string, std::size_t> labels_;  // of this rank
  std::vector<Op> ops_;
  std::vector<ListedFlow> flows_;
};

}  // namespace

std::vector<ListedFlow> parse_goal(const std::string& text, const std::string& name, FlowOp op,
                                   const Topology& topology) {
  const std::string clean = without_comments(text);
  return Reader(clean, name, op, topology).read();
}

}  // namespace rocelab
