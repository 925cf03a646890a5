#include "emu/runner/link_events.h"

#include <algorithm>
#include <map>

#include "emu/runner/routing.h"

namespace rocelab {
namespace {

using BySwitch = std::map<std::uint32_t, std::vector<Route>>;

BySwitch by_switch(const std::vector<Route>& routes) {
  BySwitch result;
  for (const Route& route : routes) result[route.switch_index].push_back(route);
  return result;
}

// The switches whose rules differ, with all that they have now.
RouteChange difference(Time at, const BySwitch& before, const BySwitch& after) {
  RouteChange change;
  change.at = at;
  for (const auto& [index, routes] : after) {
    const auto was = before.find(index);
    if (was != before.end() && was->second == routes) continue;
    change.switches.push_back(index);
    change.routes.insert(change.routes.end(), routes.begin(), routes.end());
  }
  return change;
}

}  // namespace

std::vector<LinkChangeEntry> link_changes(const Settings& settings, const World& world) {
  std::vector<LinkChangeEntry> changes;
  const Topology& t = settings.topology;
  const auto add = [&](const LinkEvent& event, std::uint32_t node, std::uint32_t port) {
    if (!t.is_host(node))
      changes.push_back({event.at.ps(), world.switches[node - t.hosts()].first_port + port, event.up});
  };
  for (const LinkEvent& event : settings.link_events) {
    const Link& link = t.links()[event.link];
    add(event, link.b, link.b_port);
    add(event, link.a, link.a_port);
  }
  std::ranges::stable_sort(changes, {}, &LinkChangeEntry::at_ps);
  return changes;
}

std::vector<LinkState> link_states(const Settings& settings) {
  std::vector<LinkEvent> known = settings.link_events;  // when the routes react to them
  for (LinkEvent& event : known) event.at = event.at + event.reroute_after;
  std::stable_sort(known.begin(), known.end(),
                   [](const LinkEvent& a, const LinkEvent& b) { return a.at < b.at; });
  std::vector<LinkState> states;
  std::vector<bool> dead(settings.topology.links().size());
  for (std::size_t i = 0; i < known.size(); ++i) {
    dead[known[i].link] = !known[i].up;
    if (i + 1 < known.size() && known[i + 1].at == known[i].at) continue;  // one change for all of an instant
    states.push_back({Time::zero() + known[i].at, dead});
  }
  return states;
}

std::vector<RouteChange> route_changes(const Settings& settings, const std::vector<Route>& before, Rng seed) {
  std::vector<RouteChange> changes;
  BySwitch rules = by_switch(before);
  for (const LinkState& state : link_states(settings)) {
    BySwitch now = by_switch(Routing(settings.topology, state.dead).all_rules(seed));
    RouteChange change = difference(state.at, rules, now);
    if (!change.switches.empty()) changes.push_back(std::move(change));
    rules = std::move(now);
  }
  return changes;
}

std::vector<Route> routes_after(const RunPlan& plan, std::size_t changes) {
  BySwitch rules = by_switch(plan.routes);
  for (std::size_t i = 0; i < changes; ++i) {
    const RouteChange& change = plan.route_changes.at(i);
    for (const std::uint32_t index : change.switches) rules[index].clear();
    for (const Route& route : change.routes) rules[route.switch_index].push_back(route);
  }
  std::vector<Route> all;
  for (const auto& [index, routes] : rules) all.insert(all.end(), routes.begin(), routes.end());
  return all;
}

}  // namespace rocelab
