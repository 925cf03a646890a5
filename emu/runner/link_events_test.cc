#include "emu/runner/link_events.h"

#include <gtest/gtest.h>

#include <set>

#include "emu/runner/complaint_fixture.h"

namespace rocelab {
namespace {

const std::string kLeafSpine = R"(transport = "irn"
[topology]
kind = "leaf-spine"
leaves = 3
spines = 2
hosts_per_leaf = 2
[[workload]]
kind = "permutation"
size = "1MB"
)";

Scenario scenario_of(const std::string& events) { return parse_scenario(kLeafSpine + events, "t.toml"); }

RunPlan plan_of(const std::string& events) {
  const Scenario s = scenario_of(events);
  return make_plan(s, s.settings.at(0), 1);
}

std::string complaint(const std::string& events) {
  return complaint_of([&] { scenario_of(events); });
}

std::string event(const char* at, const char* between, const char* state, const char* more = "") {
  return std::string("[[link_event]]\nat = \"") + at + "\"\nbetween = " + between + "\nstate = \"" + state +
         "\"\n" + more;
}

const char* const kUplink = R"(["leaf1", "spine1"])";

TEST(LinkEventsTest, PlansNameBothEndsInTheOrderOfTime) {
  const RunPlan plan = plan_of(event("30us", kUplink, "up") + event("10us", kUplink, "down") +
                               event("20us", R"(["leaf2", "h3"])", "down"));
  const std::vector<LinkChangeEntry>& changes = plan.world.link_changes;
  ASSERT_EQ(changes.size(), 5u);  // both ends of the uplink, twice; the switch's end of h3's link
  const auto interface_of = [&](std::size_t i) {
    return std::string(plan.world.ports[changes[i].port].interface);
  };
  for (const std::size_t i : {0u, 1u}) {
    EXPECT_EQ(Time::from_ps(changes[i].at_ps), Time::zero() + 10_us);
    EXPECT_EQ(changes[i].up, 0u);
  }
  EXPECT_EQ(plan.world.ports[changes[0].port].peer_port, changes[1].port);
  EXPECT_EQ((std::set<std::string>{interface_of(0), interface_of(1)}),
            (std::set<std::string>{"leaf1-eth3", "spine1-eth1"}));
  EXPECT_EQ(Time::from_ps(changes[2].at_ps), Time::zero() + 20_us);
  EXPECT_EQ(interface_of(2), "leaf2-eth1");
  for (const std::size_t i : {3u, 4u}) {
    EXPECT_EQ(Time::from_ps(changes[i].at_ps), Time::zero() + 30_us);
    EXPECT_EQ(changes[i].up, 1u);
  }
}

TEST(LinkEventsTest, RoutesReactAfterTheirDelayAndComeBack) {
  const RunPlan plan = plan_of(event("10us", kUplink, "down", "reroute_after = \"5us\"\n") +
                               event("30us", kUplink, "up", "reroute_after = \"5us\"\n"));
  ASSERT_EQ(plan.route_changes.size(), 2u);
  const RouteChange& change = plan.route_changes[0];
  EXPECT_EQ(change.at, Time::zero() + 15_us);
  // Who sent through the link: leaf1, and the other leaves where they go to leaf1. spine1 has no other way
  // there.
  EXPECT_EQ(change.switches.front(), 0u);
  EXPECT_GE(change.switches.size(), 3u);
  for (const Route& route : change.routes)
    EXPECT_FALSE(route.switch_index == 0 && route.port_id == 2);  // leaf1 to spine1
  EXPECT_EQ(plan.route_changes[1].at, Time::zero() + 35_us);
  EXPECT_EQ(routes_after(plan, 0), plan.routes);
  EXPECT_NE(routes_after(plan, 1), plan.routes);
  EXPECT_EQ(routes_after(plan, 2), plan.routes);
}

TEST(LinkEventsTest, EventsOfOneInstantAreOneChange) {
  const RunPlan plan =
      plan_of(event("10us", kUplink, "down") + event("10us", R"(["leaf2", "spine1"])", "down"));
  EXPECT_EQ(plan.world.link_changes.size(), 4u);
  EXPECT_EQ(plan.route_changes.size(), 1u);
}

TEST(LinkEventsTest, ALinkOfAHostChangesNoRoute) {
  EXPECT_TRUE(plan_of(event("10us", R"(["h1", "leaf1"])", "down")).route_changes.empty());
}

TEST(LinkEventsTest, ImpossibleEventsAreRefused) {
  EXPECT_NE(complaint(event("10us", kUplink, "up")).find("state = \"up\" is what the link is at that time"),
            std::string::npos);
  EXPECT_NE(complaint(event("10us", kUplink, "down") + event("20us", kUplink, "down"))
                .find("t.toml:17:9: link_event.1.state = \"down\" is what the link is at that time already"),
            std::string::npos);
  EXPECT_NE(complaint(event("10us", kUplink, "down") + event("10us", kUplink, "up"))
                .find("is the time of another event of the same link"),
            std::string::npos);
  EXPECT_NE(complaint(event("10us", R"(["leaf1", "leaf2"])", "down")).find("names nodes that share no link"),
            std::string::npos);
  EXPECT_NE(complaint(event("10us", R"(["leaf1", "spin1"])", "down")).find("did you mean \"spine1\"?"),
            std::string::npos);
  EXPECT_NE(complaint(event("10us", kUplink, "broken")).find("is none of down, up"), std::string::npos);
  EXPECT_NE(complaint(event("10", kUplink, "down")).find("link_event.0.at"), std::string::npos);
}

}  // namespace
}  // namespace rocelab
