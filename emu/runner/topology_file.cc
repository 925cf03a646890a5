#include "emu/runner/topology_file.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "base/quantity.h"
#include "emu/runner/config_tree.h"
#include "emu/runner/scenario.h"
#include "emu/runner/text_file.h"

namespace rocelab {
namespace {

constexpr std::int64_t kMaxNodes = 8192;

class Reader {
 public:
  Reader(const std::string& text, const std::string& name, NvSwitches nv_switches)
      : lines_(text, name), leave_out_(nv_switches == NvSwitches::kLeaveOut) {}

  Topology read() {
    read_header();
    read_switches();
    for (const Kind kind : {Kind::kHost, Kind::kSwitch})
      for (std::size_t id = 0; id < kinds_.size(); ++id)
        if (kinds_[id] == kind) add(id);
    for (std::int64_t i = 0; i < links_; ++i) {
      if (!lines_.next())
        lines_.fail("the first line promises " + std::to_string(links_) + " links, but there are " +
                    std::to_string(i));
      read_link();
    }
    if (const auto problem = topology_.problem())
      lines_.fail_at(line_of_[topology_.number_of(problem->node)], problem->what);
    topology_.kind = "file";
    return std::move(topology_);
  }

 private:
  enum class Kind : std::uint8_t { kHost, kSwitch, kNvSwitch };

  void read_header() {
    constexpr const char* kHeader =
        "the first line of a topology file is: nodes, switches, links; or SimAI's: nodes, GPUs of a server, "
        "NVSwitches, switches, links, type of GPU";
    if (!lines_.next()) lines_.fail(std::string("is empty: ") + kHeader);
    header_ = lines_.line();
    const bool simai = lines_.words().size() == 6;
    if (!simai && lines_.words().size() != 3) lines_.fail(kHeader);
    nodes_ = lines_.integer(0, "the number of nodes");
    if (simai) nv_switches_ = lines_.integer(2, "the number of NVSwitches");
    switches_ = lines_.integer(simai ? 3 : 1, "the number of switches");
    links_ = lines_.integer(simai ? 4 : 2, "the number of links");
    if (switches_ == 0)
      lines_.fail("the topology has no switch: hosts that are joined to one another are not supported");
    if (nodes_ < 2 || nodes_ > kMaxNodes || switches_ < 1 || nv_switches_ < 0 ||
        switches_ + nv_switches_ >= nodes_ || links_ < 1)
      lines_.fail("there must be 2.." + std::to_string(kMaxNodes) +
                  " nodes, at least one of them a switch and one a host, and links");
    if (nv_switches_ > 0 && !leave_out_)
      lines_.fail(
          "NVSwitches are not supported: with one, a GPU has a second link beside the network's; "
          "nvswitches = \"leave-out\" reads the network without them, which "
          "then also carries what the GPUs of a server send to each other");
  }

  void read_switches() {
    const std::int64_t named = nv_switches_ + switches_;
    kinds_.resize(static_cast<std::size_t>(nodes_));
    if (!lines_.next() || static_cast<std::int64_t>(lines_.words().size()) != named)
      lines_.fail("the second line must name the " + std::to_string(named) + " switches");
    for (std::size_t w = 0; w < lines_.words().size(); ++w) {
      const std::size_t id = node(w, "the switch");
      if (kinds_[id] != Kind::kHost) lines_.fail("node " + std::to_string(id) + " is named twice");
      kinds_[id] = static_cast<std::int64_t>(w) < nv_switches_ ? Kind::kNvSwitch : Kind::kSwitch;
    }
    node_of_.resize(kinds_.size());
    for (const Kind kind : kinds_) line_of_.push_back(kind == Kind::kHost ? header_ : lines_.line());
  }

  std::size_t node(std::size_t word, const char* what) const {
    const std::int64_t id = lines_.integer(word, what);
    if (id < 0 || id >= nodes_)
      lines_.fail(std::string(what) + " " + std::to_string(id) + " is outside 0.." +
                  std::to_string(nodes_ - 1));
    return static_cast<std::size_t>(id);
  }

  void add(std::size_t id) {
    const bool host = kinds_[id] == Kind::kHost;
    const std::string name = (host ? "h" : "s") + std::to_string(id);
    node_of_[id] = host ? topology_.add_host(name) : topology_.add_switch(name);
    topology_.set_number(node_of_[id], static_cast<std::uint32_t>(id));
  }

  void read_link() {
    if (lines_.words().size() != 5)
      lines_.fail(
          "a link has five columns: src, dst, rate, delay, error rate; for example 0 32 100Gbps 1000ns 0");
    const std::size_t a = node(0, "the source"), b = node(1, "the destination");
    const double error = lines_.real(4, "the error rate");
    if (error < 0 || error > 1) lines_.fail("the error rate must be in 0..1");
    try {
      const Rate rate = parse_rate(lines_.words()[2]);
      const Duration delay = parse_duration(lines_.words()[3]);
      if (rate.bps() <= 0) lines_.fail("the rate must be more than 0");
      if (delay.ps() <= 0)
        lines_.fail("the delay must be more than 0: time can only advance where links delay");
      if (delay > kLongestDelay) lines_.fail("the delay is more than " + to_string(kLongestDelay));
      if (kinds_[a] == Kind::kNvSwitch || kinds_[b] == Kind::kNvSwitch) return;
      Link& link = topology_.link(topology_.add_link(node_of_[a], node_of_[b], rate, delay));
      link.a_to_b.drop_rate = link.b_to_a.drop_rate = error;
    } catch (const QuantityError& problem) {
      lines_.fail(problem.what());
    } catch (const std::invalid_argument& problem) {
      lines_.fail(problem.what());
    }
    for (const std::size_t end : {a, b})
      if (topology_.nodes()[node_of_[end]].links.size() == 1) line_of_[end] = lines_.line();
  }

  TextLines lines_;
  bool leave_out_;
  std::size_t header_ = 0;            // its line
  std::vector<std::size_t> line_of_;  // [id]: of its first link; without one, where it is counted or named
  std::int64_t nodes_ = 0, switches_ = 0, nv_switches_ = 0, links_ = 0;
  std::vector<Kind> kinds_;
  std::vector<std::uint32_t> node_of_;
  Topology topology_;
};

// As those files write them: whole Gbps and ns where that is exact.
std::string rate_text(Rate rate) {
  constexpr std::int64_t kGiga = 1'000'000'000;
  return rate.bps() % kGiga == 0 ? std::to_string(rate.bps() / kGiga) + "Gbps"
                                 : std::to_string(rate.bps()) + "bps";
}

std::string delay_text(Duration delay) {
  return delay.ps() % 1000 == 0 ? std::to_string(delay.ps() / 1000) + "ns"
                                : std::to_string(delay.ps()) + "ps";
}

// With six decimals, as the generators do, where that says all.
std::string error_text(double rate) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%f", rate);
  return std::strtod(text.data(), nullptr) == rate ? text.data() : shortest(rate);
}

std::string faults_left_out(const FaultConfig& fault, const FaultConfig& back) {
  std::string keys;
  const auto add = [&](bool there, const char* key) {
    if (there) keys += (keys.empty() ? "" : ", ") + std::string(key);
  };
  add(fault.drop_rate != 0 && fault.drop_rate != back.drop_rate, "drop_rate of one direction");
  add(fault.corrupt_rate != 0, "corrupt_rate");
  add(fault.listed != 0, "drop_list");
  return keys;
}

}  // namespace

Topology parse_topology_file(const std::string& text, const std::string& name, NvSwitches nv_switches) {
  return Reader(text, name, nv_switches).read();
}

std::string topology_file(const Topology& t) {
  std::string text = std::to_string(t.nodes().size()) + " " + std::to_string(t.switches()) + " " +
                     std::to_string(t.links().size()) + "\n";
  for (std::uint32_t s = t.hosts(); s < t.nodes().size(); ++s)
    text += (s == t.hosts() ? "" : " ") + std::to_string(t.number_of(s));
  text += "\n";
  for (const Link& link : t.links()) {
    const double rate = link.a_to_b.drop_rate == link.b_to_a.drop_rate ? link.a_to_b.drop_rate : 0;
    text += std::to_string(t.number_of(link.a)) + " " + std::to_string(t.number_of(link.b)) + " " +
            rate_text(link.rate) + " " + delay_text(link.delay) + " " + error_text(rate) + "\n";
  }
  return text;
}

std::vector<std::string> topology_file_omissions(const Settings& settings) {
  std::vector<std::string> omissions;
  const Topology& t = settings.topology;
  bool one_way = false;
  for (const Link& link : t.links()) {
    one_way = one_way || link.one_way;
    for (const bool back : {false, true}) {
      const std::string keys =
          back ? faults_left_out(link.b_to_a, link.a_to_b) : faults_left_out(link.a_to_b, link.b_to_a);
      const std::string &a = t.nodes()[link.a].name, &b = t.nodes()[link.b].name;
      if (!keys.empty())
        omissions.push_back("the fault from \"" + (back ? b : a) + "\" to \"" + (back ? a : b) + "\" (" +
                            keys + ")");
    }
  }
  if (one_way) omissions.emplace_back("that links are one-way (topology.clockwise)");
  if (!t.pinned.empty()) omissions.push_back(std::to_string(t.pinned.size()) + " pinned paths");
  if (t.nics_per_host > 1)
    omissions.push_back("which " + std::to_string(t.nics_per_host) + " NICs are of one host: each is a host");
  if (!settings.link_events.empty())
    omissions.push_back(std::to_string(settings.link_events.size()) + " link events");
  return omissions;
}

}  // namespace rocelab
