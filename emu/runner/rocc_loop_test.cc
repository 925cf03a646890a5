#include "emu/runner/rocc_loop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "emu/runner/plan.h"

namespace rocelab {
namespace {

// The transfer function itself, for one flow.
std::complex<double> open_loop(const RoccLoop& loop, double w) {
  const std::complex<double> s(0, w);
  return loop.gain(1) * (1.0 + s / loop.zero()) / (s * s) * std::exp(-s * loop.delay);
}

TEST(RoccLoopTest, AtTheCrossoverTheGainIsOneAndThePhaseIsTheMargin) {
  for (const RoccLoop& loop :
       {RoccLoop{}, RoccLoop{.alpha = 0.45, .beta = 2.25}, RoccLoop{.period = 20e-6, .delay = 24e-6}})
    for (const double flows : {2.0, 10.0, 128.0}) {
      const double w = loop.crossover(flows);
      EXPECT_NEAR(flows * std::abs(open_loop(loop, w)), 1, 1e-9);
      const double margin = (loop.phase_margin(flows) - 180) * std::numbers::pi / 180;
      EXPECT_NEAR(std::abs(std::polar(1.0, margin) - open_loop(loop, w) * flows), 0, 1e-9);
    }
}

// RoCC journal, V.B: 0.3 : 3 at N = 2 and 10; 0.0093 : 0.0937 for N = 2 .. 128.
TEST(RoccLoopTest, MarginsAreThoseThatThePaperStates) {
  const RoccLoop figure{.alpha = 0.3, .beta = 3};
  EXPECT_NEAR(figure.phase_margin(2), 50, 5);
  EXPECT_LT(figure.phase_margin(10), 0);
  for (int n = 2; n <= 128; ++n)
    EXPECT_GT((RoccLoop{.alpha = 0.0093, .beta = 0.0937}.phase_margin(n)), 20) << n;
}

TEST(RoccLoopTest, ThePapersSetsAreStableForItsFlows) {
  for (const Rate link : {10_Gbps, 40_Gbps, 100_Gbps})
    EXPECT_EQ(problem_of_loop(rocc_params_for(link), 9_us, 15_us, 128), "") << to_string(link);
}

TEST(RoccLoopTest, ALongerLoopThanTCostsMargin) {
  const RoccParams p;
  EXPECT_EQ(loop_of(p, 24_us).phase_margin(2), loop_of(p, 40_us).phase_margin(2)) << "the law waits for T";
  EXPECT_LT(loop_of(p, 60_us).phase_margin(8), loop_of(p, 40_us).phase_margin(8));
}

std::string complaint(const std::string& more, const std::vector<Override>& overrides = {}) {
  const std::string text =
      "transport = [\"roce+pfc+rocc\"]\n[topology]\nkind = \"star\"\nhosts = 4\ndelay = \"2us\"\n"
      "[[workload]]\nkind = \"incast\"\nreceiver = \"h1\"\nsize = \"1MB\"\n" +
      more;
  try {
    const Scenario s = parse_scenario(text, "t.toml", overrides);
    make_plan(s, s.settings.at(0), 1);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "none";
}
void expect_part(const std::string& got, const std::string& want) {
  EXPECT_NE(got.find(want), std::string::npos) << "got: " << got;
  EXPECT_EQ(got.find('\n'), std::string::npos) << "one line";
}

TEST(RoccLoopTest, WhatCannotWorkIsRefusedWhenTheScenarioIsLoaded) {
  const std::string table = "[congestion_control.rocc]\n";
  EXPECT_EQ(complaint(""), "none");
  expect_part(
      complaint(table + "q_mid = \"400KB\"\n"),
      "t.toml:10:21: switch \"s1\": port 0: RoCC Q_ref 150KB, Q_mid 400KB, Q_max 360KB, need 0 < Q_ref < "
      "Q_mid < Q_max");
  expect_part(complaint(table + "q_ref = \"300KB\"\n"), "need 0 < Q_ref < Q_mid < Q_max");
  expect_part(complaint(table + "period = \"5us\"\n"), "less than the network's round trip of");
  expect_part(complaint(table + "alpha = 3\nbeta = 15\n"), "RoCC is unstable with 2 flows: alpha 3, beta 15");
  expect_part(complaint(table + "alpha = 3\nbeta = 15\n"), "lower the gains");
  expect_part(complaint(table + "alpha = 0\nbeta = 1e6\n"), "alpha is 0");
  EXPECT_EQ(complaint(table + "alpha = 3\nbeta = 15\nallow_unstable = true\n"), "none");
  EXPECT_EQ(complaint(table + "period = \"5us\"\nallow_unstable = true\n"), "none");
}

// The P4 testbed's Delta^Q of 80 B is 7.5 times the gain: right for its three flows, not for many.
TEST(RoccLoopTest, StabilityIsAskedForTheFlowsThatTheRunHas) {
  const std::string p4 = "[congestion_control.rocc]\npreset = \"p4-testbed\"\n";
  EXPECT_EQ(complaint(p4), "none");
  expect_part(complaint(p4, {{"topology.hosts", "101"}}), "RoCC is unstable with");
}

}  // namespace
}  // namespace rocelab
