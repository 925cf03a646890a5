#include "emu/runner/rocc_loop.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <set>

#include "irn_provider/cc/rocc_rp.h"
#include "ovs_patches/switch_model/mechanisms/rocc.h"

namespace rocelab {
namespace {

constexpr std::uint64_t kMostFlows = 128;  // V.B: N in [2, 128]

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

}  // namespace

// w^4 = K^2 (1 + w^2 / z1^2): a quadratic in w^2.
double RoccLoop::crossover(double flows) const {
  const double k2 = gain(flows) * gain(flows), b = k2 / (zero() * zero());
  return std::sqrt((b + std::sqrt(b * b + 4 * k2)) / 2);
}

double RoccLoop::phase_margin(double flows) const {
  const double w = crossover(flows);
  return (std::atan(w / zero()) - w * delay) * 180 / std::numbers::pi;
}

RoccLoop RoccLoop::tuned(double flows) const {
  RoccLoop loop = *this;
  const int ratio = rocc_region(flows);
  loop.alpha /= ratio, loop.beta /= ratio;
  return loop;
}

int rocc_region(double flows) {
  int level = 2;
  while (1 / flows < 1.0 / level && level < 64) level *= 2;
  return level / 2;
}

RoccLoop loop_of(const RoccParams& p, Duration feedback) {
  return {p.alpha, p.beta, p.period.seconds(), std::max(p.period, feedback).seconds(),
          static_cast<double>(p.delta_f.bps()) / 8 / static_cast<double>(p.delta_q.count())};
}

std::string problem_of_loop(const RoccParams& p, Duration round_trip, Duration reaction_delay,
                            std::uint64_t flows) {
  if (p.period < round_trip) {
    return "RoCC's period T " + to_string(p.period) + " is less than the network's round trip of " +
           to_string(round_trip) +
           ", and F would change again before its last change has taken effect: raise "
           "congestion_control.rocc.period";
  }
  if (p.alpha <= 0)  // no integral part, and no crossover
    return "RoCC's alpha is 0: nothing brings the queue to Q_ref, or F up again while it is empty; raise "
           "congestion_control.rocc.alpha";
  const RoccLoop loop = loop_of(p, round_trip + reaction_delay);
  for (std::uint64_t n = 2; n <= std::min(flows, kMostFlows); ++n) {
    const double margin = loop.tuned(static_cast<double>(n)).phase_margin(static_cast<double>(n));
    if (margin > 0) continue;
    return "RoCC is unstable with " + std::to_string(n) + " flows: alpha " + number(p.alpha) + ", beta " +
           number(p.beta) + ", T " + to_string(p.period) + ", Delta^Q " + to_string(p.delta_q) +
           " have a phase margin of " + number(margin) +
           " degrees there; lower the gains (rocelab rocc tune)";
  }
  return {};
}

std::string problem_of_loops(const RunPlan& plan) {
  const Settings& settings = plan.settings;
  const RoccSwitchParams& rocc = settings.switches.mechanisms.of<RoccMechanism>();
  if (!rocc.enabled || rocc.points.allow_unstable) return {};
  std::uint64_t flows = plan.flows.empty() ? kMostFlows : 0;
  for (const Flow& flow : plan.flows) flows += flow.qps;
  std::set<Rate> rates;
  for (const Link& link : settings.topology.links()) rates.insert(link.rate);
  for (const Rate rate : rates) {
    const Duration reaction = settings.nic.config.cc.get<RoccRp>()->reaction_delay;
    const std::string problem = problem_of_loop(rocc.points.params(rate), plan.base_rtt, reaction, flows);
    if (!problem.empty()) return "links of " + to_string(rate) + ": " + problem;
  }
  return {};
}

}  // namespace rocelab
