// [slack].
#include "base/slack.h"
#include "emu/runner/readers.h"
#include "emu/runner/schema_reader.h"

namespace rocelab {
namespace {

constexpr std::string_view kLaws[] = {"none",          "constant", "flow-size",   "remaining",
                                      "virtual-clock", "replay",   "replay-exit", "omniscient"};
constexpr auto kFields = fields(
    choice<&SlackConfig::law>(
        "law", kLaws,
        "what a NIC writes: `constant`: `value` (FIFO+); `flow-size`: packets of the "
        "message, or of a flow over `ud`, x `per_packet` (SJF); `remaining`: packets left of it x "
        "`per_packet` "
        "(as SRPT); `virtual-clock`: what a queue pair is ahead of `rate` (fairness); "
        "`replay`: what lets a packet arrive when it did in the label `of`; "
        "`replay-exit`: the same, and the initial value is the instant at which the packet "
        "left the network there, for `switch.slack.rank = \"initial\"`; `omniscient`: the same, and the "
        "instants at which all switches sent it there, by which switches rank it; `none`: frames carry no "
        "slack"),
    field<&SlackConfig::hop_times>(
        "hop_times",
        "frames have room for the instants at which the switches of the longest path send them, 8 bytes each "
        "and 4: so are they recorded for `omniscient`, which has it always"),
    field<&SlackConfig::value>("value", "of `constant`"),
    field<&SlackConfig::per_packet>("per_packet", "D: more than any delay, so that sizes decide").positive(),
    field<&SlackConfig::rate>("rate", "r_est of `virtual-clock`, in bytes on the wire").positive(),
    field<&SlackConfig::acks>("acks",
                              "of answers and CNPs; with `virtual-clock` those of a queue pair are a "
                              "flow of their own"));

constexpr std::string_view kAqm[] = {"none", "codel", "ecn"};
constexpr auto kEdge = fields(
    choice<&EdgeConfig::aqm>(
        "aqm", kAqm,
        "what the receiving NIC does with frames that waited too long in all switches together, "
        "by the slack that they used: `codel`: drops them as CoDel does, by queue pair; `ecn`: "
        "marks them"),
    field<&EdgeConfig::target>("target", "of `codel`: waiting up to which nothing is dropped").positive(),
    field<&EdgeConfig::interval>("interval", "of `codel`: for so long all must have waited longer")
        .positive(),
    field<&EdgeConfig::refresh>("refresh",
                                "of `codel`: frames sent so far apart do not tell of the time between")
        .positive(),
    field<&EdgeConfig::packets>("packets", "of `ecn`: K, in full frames on the slowest link")
        .within(1, 1'000'000));

// [slack.rates]: of single hosts.
SlackRates read_rates(ConfigSection& section, const Topology& topology, Rate of_others) {
  SlackRates rates;
  const ConfigNode* node = section.node("rates");
  ConfigSection table = section.table("rates");
  if (node != nullptr)
    for (const auto& [name, value] : node->members) {
      const std::vector<std::uint32_t> hosts = topology.find_nics(name);
      if (hosts.empty())
        table.fail_at(name, "is no host: write for example slack.rates = { h1 = \"1Gb/s\" }");
      for (const std::uint32_t host : hosts) rates.emplace_back(host, table.rate(name, of_others));
    }
  table.finish();
  return rates;
}

}  // namespace

Schema<EdgeConfig> edge_schema() { return kEdge; }
Schema<SlackConfig> slack_schema() { return kFields; }

SlackConfig read_slack(ConfigSection section, const Topology& topology, std::string& replay_of,
                       SlackRates& rates) {
  SlackConfig slack;
  replay_of = section.text("of", "");
  read_schema(section, slack_schema(), slack);
  const auto check = [&](const char* key, Duration d) {
    if (d.ps() > Slack::kMost) section.fail_at(key, "is more than a frame can carry: at most 26 days");
  };
  check("value", slack.value);
  check("per_packet", slack.per_packet);
  check("acks", slack.acks);
  const auto only = [&](const char* key, SlackLaw law, const char* name, bool fits) {
    if (section.has(key) && !fits && slack.law != law)
      section.fail_at(key, std::string("is of slack.law = \"") + name + "\"");
  };
  only("value", SlackLaw::kConstant, "constant", false);
  only("per_packet", SlackLaw::kFlowSize, "flow-size", slack.law == SlackLaw::kRemaining);
  only("rate", SlackLaw::kVirtualClock, "virtual-clock", false);
  only("rates", SlackLaw::kVirtualClock, "virtual-clock", false);
  rates = read_rates(section, topology, slack.rate);
  only("of", SlackLaw::kReplay, "replay", slack.replays());
  if (slack.law == SlackLaw::kOmniscient) {
    if (section.has("hop_times") && !slack.hop_times)
      section.fail_at("hop_times", "is how slack.law = \"omniscient\" works");
    slack.hop_times = true;
  }
  if (slack.hop_times && !slack.on())
    section.fail_at("hop_times", "is beside a slack: write slack.law = \"constant\"");
  if (slack.replays() && replay_of.empty())
    section.fail_at("law", "= \"" + std::string(kLaws[static_cast<std::size_t>(slack.law)]) +
                               "\" needs the label or case that is to be replayed: slack.of = \"NAME\"");
  ConfigSection edge = section.table("edge");
  read_schema(edge, edge_schema(), slack.edge);
  edge.finish();
  if (slack.edge.aqm != EdgeConfig::Aqm::kNone && !slack.on())
    section.fail_at("edge", "goes by the slack that frames carry: write a law, slack.law = \"constant\"");
  section.finish();
  return slack;
}

}  // namespace rocelab
