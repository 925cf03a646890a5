// Links that fail and recover in the middle of a run.
#include <gtest/gtest.h>

#include "base/wire/controls.h"
#include "emu/des/des_run.h"
#include "emu/runner/scenario.h"

namespace rocelab::des {
namespace {

struct Outcome {
  std::vector<FlowOutcome> flows;
  std::uint64_t lost = 0, down = 0;
  bool completed() const {
    for (const FlowOutcome& f : flows)
      if (f.status != 0 || f.placed.is_never()) return false;
    return true;
  }
};

Outcome run(const std::string& text) {
  const Scenario scenario = parse_scenario(text, "t.toml");
  const RunPlan plan = make_plan(scenario, scenario.settings.at(0), 1);
  DesRun run(plan, DesOptions{});
  while (!run.advance(1 << 10)) {
  }
  Outcome outcome{run.flows()};
  for (std::uint32_t port = 0; port < plan.world.ports.size(); ++port)
    for (const LinkCounters& c : {run.network().link_in(port), run.network().link_out(port)}) {
      outcome.lost += c.lost_frames;
      outcome.down += c.down_frames;
    }
  return outcome;
}

std::string event(const std::string& at, const std::string& between, const std::string& state,
                  const std::string& reroute_after = "0us") {
  return "[[link_event]]\nat = \"" + at + "\"\nbetween = " + between + "\nstate = \"" + state +
         "\"\nreroute_after = \"" + reroute_after + "\"\n";
}

// h1 to h2 by the one way there is.
const std::string kLine = R"(transport = "irn"
[topology]
kind = "parking-lot"
switches = 2
[[workload]]
kind = "list"
jitter = "0us"
[[workload.flow]]
src = "h1"
dst = "h2"
size = "1MB"
[engine]
limit = "50ms"
)";

const std::string kTrunk = R"(["s1", "s2"])";

TEST(LinkFailureTest, AFlowWaitsForItsOnlyLinkAndLosesWhatItCarried) {
  const Outcome calm = run(kLine),
                cut = run(kLine + event("50us", kTrunk, "down") + event("400us", kTrunk, "up"));
  ASSERT_TRUE(calm.completed() && cut.completed());
  EXPECT_EQ(calm.lost, 0u);
  EXPECT_GT(cut.down, 0u);
  EXPECT_EQ(cut.lost, cut.down);
  // It stands still while the link is down, and until a timer finds out; the rest takes what it took.
  EXPECT_GE(cut.flows[0].placed, calm.flows[0].placed + 350_us);
  EXPECT_LE(cut.flows[0].placed, calm.flows[0].placed + 350_us + 700_us);
}

TEST(LinkFailureTest, ALinkThatStaysDownEndsTheFlowWithAnError) {
  const Outcome cut =
      run(kLine + event("50us", kTrunk, "down") + "[timers]\nverbs_timeout = 8\nverbs_retry_cnt = 1\n");
  EXPECT_FALSE(cut.completed());
  EXPECT_NE(cut.flows[0].status, 0);  // the verbs timeouts: 2 x 1 ms
}

// Where frames are lost on links, recovery timers run under PFC, too: otherwise each lost tail waits for 67
// ms.
TEST(LinkFailureTest, ALossyLinkIsNoSlowerUnderPfc) {
  const auto completed = [](const std::string& transport, const std::string& fault) {
    std::string text = kLine + fault;
    text.replace(text.find("\"irn\""), 5, "\"" + transport + "\"");
    text.replace(text.find("1MB"), 3, "5MB");
    const Outcome outcome = run(text);
    EXPECT_TRUE(outcome.completed()) << transport;
    EXPECT_GT(outcome.lost, 0u) << transport;
    return outcome.flows[0].placed - Time::zero();
  };
  const std::string tail = "[[fault]]\nfrom = \"s1\"\nto = \"s2\"\n";
  for (const std::string& fault : {tail + "drop_list = [4883]\n", tail + "drop_rate = 0.01\n"})
    for (const char* transport : {"roce", "irn"}) {
      const Duration plain = completed(transport, fault),
                     pfc = completed(transport + std::string("+pfc"), fault);
      EXPECT_LT(pfc.seconds(), 1.5 * plain.seconds()) << transport << ": " << to_string(pfc);
    }
}

TEST(LinkFailureTest, EventsBeforeAndAfterTheTrafficChangeNothing) {
  const Outcome calm = run(kLine),
                cut = run(kLine + event("20ms", kTrunk, "down") + event("21ms", kTrunk, "up"));
  EXPECT_EQ(cut.flows[0].placed, calm.flows[0].placed);
  EXPECT_EQ(cut.lost, 0u);
}

// Many flows over two spines, one of which loses its link to leaf1.
const std::string kTwoSpines = R"(transport = "irn"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
[[workload]]
kind = "all-to-all"
size = "200KB"
[engine]
limit = "50ms"
)";

TEST(LinkFailureTest, RoutesLeadAroundADeadLink) {
  const std::string uplink = R"(["leaf1", "spine1"])";
  const Outcome prompt = run(kTwoSpines + event("100us", uplink, "down")),
                late = run(kTwoSpines + event("100us", uplink, "down", "300us"));
  ASSERT_TRUE(prompt.completed() && late.completed());
  EXPECT_GT(prompt.down, 0u);
  // Without a reaction every frame of the flows on that link is lost, and their resends; with one, what was
  // on its way.
  EXPECT_GT(late.down, 3 * prompt.down);
}

// Departures of PFC frames to a host, by whether its link is down.
class PauseCounter final : public PortTap {
 public:
  PauseCounter(const RunPlan& plan, std::uint32_t host) : port_(plan.world.hosts[host].port) {
    for (const LinkChangeEntry& change : plan.world.link_changes)
      if (change.port == port_) schedule_.change(Time::from_ps(change.at_ps), change.up != 0);
  }
  std::uint64_t carried = 0, lost = 0;

 private:
  void on_frame(std::uint32_t port, Time time, const Packet& packet, bool arrives) override {
    if (port != port_ || arrives || packet.kind != kind_of<PfcFrame>) return;
    ++(schedule_.down_within(time, time) ? lost : carried);
  }
  void commit(Time) override {}
  std::uint32_t port_;
  LinkSchedule schedule_;
};

// A slow trunk: the switch keeps pausing h1, whose link fails now and then. Where the frame that ends a pause
// is lost, the pause runs out by itself.
TEST(LinkFailureTest, PausesAreLostTooAndRunOut) {
  std::string text = R"(transport = "irn+pfc"
[topology]
kind = "dumbbell"
left = 1
right = 1
rate = "100Gb/s"
trunk_rate = "10Gb/s"
[irn]
bdp_cap = 0
[timers]
timeouts = "on"
[[workload]]
kind = "list"
[[workload.flow]]
src = "h1"
dst = "h2"
size = "2MB"
[engine]
limit = "100ms"
)";
  for (int n = 1; n <= 20; ++n)
    text += event(std::to_string(100 * n) + "us", R"(["h1", "s1"])", "down") +
            event(std::to_string(100 * n + 10) + "us", R"(["h1", "s1"])", "up");
  const Scenario scenario = parse_scenario(text, "t.toml");
  const RunPlan plan = make_plan(scenario, scenario.settings.at(0), 1);
  PauseCounter pauses(plan, 0);
  Sinks sinks;
  sinks.tap = &pauses;
  Network network(plan, sinks);
  Engine engine(network, Driver::kWindows);
  while (engine.step(Time::zero() + 100_ms)) {
  }
  EXPECT_GT(pauses.carried, 10u);
  EXPECT_GT(pauses.lost, 0u);
  EXPECT_FALSE(network.given_up_since().is_never());
  EXPECT_FALSE(network.any_failed());
}

}  // namespace
}  // namespace rocelab::des
