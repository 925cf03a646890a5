// RoccLoop: the control loop of RoCC's congestion point and N sources, opened, and its phase margin.
// Source: RoCC journal, section V, equations 2 to 6:
//
//     G(s) = K (1 + s / z1) / s^2 e^(-s D),   z1 = alpha / ((beta + alpha / 2) T),   K = kappa N alpha / T
//
// kappa = Delta^F / Delta^Q, in (bytes per second) per byte; D is the loop's delay, which the paper takes as
// T. Multiplicative decreases are left out, as there. Scenarios are checked by it when they are loaded, and
// `rocelab rocc tune` prints it.
#pragma once

#include <cstdint>
#include <string>

#include "emu/runner/plan.h"
#include "ovs_patches/switch_model/rocc_cp.h"

namespace rocelab {

struct RoccLoop {
  double alpha = 0.3, beta = 1.5;  // Delta^F per Delta^Q
  double period = 40e-6;           // T, s
  double delay = 40e-6;            // D, s
  double kappa = 10e6 / 8 / 600;   // 1/s

  double gain(double flows) const { return kappa * flows * alpha / period; }  // K, 1/s^2
  double zero() const { return alpha / ((beta + alpha / 2) * period); }       // z1, rad/s
  // The frequency at which |G| = 1, rad/s.
  double crossover(double flows) const;
  // Degrees: 180 + the phase of G at the crossover. At 0 and below the loop is unstable.
  double phase_margin(double flows) const;
  // With the gains that AUTO_TUNE chooses when F = F_max / flows.
  RoccLoop tuned(double flows) const;
};

// AUTO_TUNE's divisor of the gains where the fair rate is F_max / flows: 1, 2 ... 32.
int rocc_region(double flows);

// `feedback`: from a congestion point's decision to its effect at the point. D is T, or this where it is
// more.
RoccLoop loop_of(const RoccParams& params, Duration feedback);

// One line that says what is wrong, or nothing: T below `round_trip`, the network's own; alpha of 0; a phase
// margin of 0 or below for some N of 2 .. min(flows, 128), the range of the paper's analysis.
std::string problem_of_loop(const RoccParams& params, Duration round_trip, Duration reaction_delay,
                            std::uint64_t flows);
// The same of all links of a run that has RoCC, with as many flows as it has; without a workload any number
// may come.
std::string problem_of_loops(const RunPlan& plan);

}  // namespace rocelab
