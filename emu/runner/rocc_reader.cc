// [congestion_control.rocc]: what the congestion points of the switches do, beside the reaction points of the
// NICs (irn_provider/cc/rocc_rp.h). Both ends are parts of one algorithm, so that one table has them.
#include "emu/runner/readers.h"
#include "emu/runner/schema_reader.h"

namespace rocelab {

RoccSettings rocc_preset(std::string_view name) {
  RoccSettings points;
  if (name == "authors") points.f_first = 10_Mbps;          // Delta^F for their 0: F_min after the first T
  if (name == "paper" || name == "authors") return points;  // the rest by link
  points.q_ref = 75_KB;
  points.q_mid = 150_KB;
  points.q_max = 210_KB;
  points.period = name == "dpdk-testbed" ? 100_us : 20_us;
  if (name == "p4-testbed") points.delta_q = 80_B;
  return points;
}

void read_rocc_points(ConfigSection& section, std::string_view preset, RoccSwitchParams& rocc,
                      RoccRpParams& rp) {
  rocc.points = rocc_preset(preset);
  if (rp.form != RoccForm::kRate) rocc.points.f_first.reset();  // the switch's, and here hosts compute F
  read_schema(section, RoccMechanism::point_schema(), rocc.points);
  rocc.form = rp.form;
  // Hosts that compute have to be told of an empty queue, too, or F never rises again (docs/papers/rocc.md):
  // by age where they do.
  if (rp.form != RoccForm::kRate) rocc.table.kind = RoccFlowTableKind::kAge;
  read_schema(section, RoccMechanism::table_schema(), rocc.table);
  const RoccParams defaults = rocc.points.params(40_Gbps);
  rp.delta_f = defaults.delta_f;
  if (rp.recovery_timer == Duration{}) rp.recovery_timer = defaults.period * 2;
}

}  // namespace rocelab
