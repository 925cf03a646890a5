// [[fault]] and [[link_event]]: what happens to links.
#include <algorithm>
#include <map>

#include "base/nearest.h"
#include "emu/runner/readers.h"
#include "emu/runner/schema_reader.h"

namespace rocelab {

void refuse_machine(ConfigSection& section, const char* key, const Topology& topology,
                    const std::string& name) {
  const std::vector<std::uint32_t> nics = topology.find_nics(name);
  if (nics.size() > 1)
    section.fail_at(key, "names the host \"" + name + "\", which has " + std::to_string(nics.size()) +
                             " NICs: name one of them, \"" + topology.nodes()[nics.front()].name +
                             "\" to \"" + topology.nodes()[nics.back()].name + "\"");
}

std::uint32_t find_node(ConfigSection& section, const char* key, const Topology& topology,
                        const std::string& name) {
  const std::uint32_t node = topology.find(name);
  if (node == Topology::kNoNode) {
    refuse_machine(section, key, topology, name);
    std::vector<std::string> names;
    for (const Node& known : topology.nodes()) names.push_back(known.name);
    const std::string near = nearest(name, names);
    section.fail_at(key, "names the unknown node \"" + name + "\"" +
                             (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
  }
  return node;
}

std::uint32_t find_link(ConfigSection& section, const char* key, const Topology& topology, std::uint32_t a,
                        std::uint32_t b) {
  const std::vector<std::uint32_t> found = topology.links_between(a, b);
  if (found.empty())
    section.fail_at(key, "names nodes that share no link: \"" + topology.nodes()[a].name + "\" and \"" +
                             topology.nodes()[b].name + "\"");
  if (found.size() > 1 && !section.has("link")) {
    const std::string many = std::to_string(found.size());
    section.fail_at(key, "names nodes that share " + many + " links: say which, link = 1 to " + many +
                             " in the order of their ports");
  }
  if (!section.has("link")) return found.front();
  return found[static_cast<std::size_t>(
                   section.integer("link", 1, 1, static_cast<std::int64_t>(found.size()))) -
               1];
}

namespace {

constexpr auto kFault =
    fields(field<&FaultConfig::drop_rate>("drop_rate", "share of all RoCE frames that vanish").within(0, 1),
           field<&FaultConfig::corrupt_rate>(
               "corrupt_rate",
               "share of them of which one bit behind the IP header flips; the receiver's ICRC finds it")
               .within(0, 1));

}  // namespace

Schema<FaultConfig> fault_schema() { return kFault; }

void read_faults(std::vector<ConfigSection> sections, Topology& topology) {
  for (ConfigSection& section : sections) {
    section.require("from");
    section.require("to");
    const std::uint32_t from = find_node(section, "from", topology, section.text("from", "")),
                        to = find_node(section, "to", topology, section.text("to", ""));
    const std::uint32_t index = find_link(section, "to", topology, from, to);
    FaultConfig fault;
    read_schema(section, fault_schema(), fault);
    std::vector<std::int64_t> list = section.integers("drop_list", {}, 1, std::int64_t{1} << 62);
    if (list.size() > FaultConfig::kMaxListed)
      section.fail_at("drop_list", "holds more than " + std::to_string(FaultConfig::kMaxListed) +
                                       " ordinals; use drop_rate");
    std::sort(list.begin(), list.end());
    if (std::adjacent_find(list.begin(), list.end()) != list.end())
      section.fail_at("drop_list", "names a frame twice");
    for (const std::int64_t ordinal : list)
      fault.drop_list[fault.listed++] = static_cast<std::uint64_t>(ordinal);
    section.finish();
    Link& link = topology.link(index);
    FaultConfig& side = link.a == from ? link.a_to_b : link.b_to_a;
    if (side != FaultConfig{})
      section.fail("the link from \"" + topology.nodes()[from].name + "\" has a fault already");
    side = fault;
  }
  for (std::uint32_t i = 0; i < topology.links().size(); ++i)
    for (FaultConfig* side : {&topology.link(i).a_to_b, &topology.link(i).b_to_a})
      if (*side == FaultConfig{}) *side = topology.everywhere;
}

namespace {

constexpr std::string_view kStates[] = {"down", "up"};
constexpr auto kLinkEvent = fields(
    field<&LinkEvent::at>("at", "experiment time").at_least(0_ps),
    choice<&LinkEvent::up>("state", kStates, "of the link from then on"),
    field<&LinkEvent::reroute_after>(
        "reroute_after", "until the switches' rules react; events of one instant are one change of rules")
        .at_least(0_ps));

std::uint32_t link_between(ConfigSection& section, const Topology& topology) {
  const std::vector<std::string> ends = section.texts("between", {});
  if (ends.size() != 2) section.fail_at("between", "must name two nodes, for example [\"s1\", \"s2\"]");
  return find_link(section, "between", topology, find_node(section, "between", topology, ends[0]),
                   find_node(section, "between", topology, ends[1]));
}

}  // namespace

Schema<LinkEvent> link_event_schema() { return kLinkEvent; }

std::vector<LinkEvent> read_link_events(std::vector<ConfigSection> sections, const Topology& topology) {
  std::vector<std::pair<LinkEvent, ConfigSection*>> read;
  for (ConfigSection& section : sections) {
    for (const std::string_view key : kLinkEventRequires) section.require(key);
    LinkEvent event;
    event.link = link_between(section, topology);
    read_schema(section, link_event_schema(), event);
    section.finish();
    read.emplace_back(event, &section);
  }
  std::stable_sort(read.begin(), read.end(),
                   [](const auto& a, const auto& b) { return a.first.at < b.first.at; });
  std::map<std::uint32_t, LinkEvent> last;
  std::vector<LinkEvent> events;
  for (auto& [event, section] : read) {
    const auto before = last.find(event.link);
    const bool is_up = before == last.end() || before->second.up;
    if (event.up == is_up)
      section->fail_at("state", std::string("= \"") + (is_up ? "up" : "down") +
                                    "\" is what the link is at that time already");
    if (before != last.end() && before->second.at == event.at)
      section->fail_at("at", "is the time of another event of the same link");
    last[event.link] = event;
    events.push_back(event);
  }
  return events;
}

}  // namespace rocelab
