// [congestion_control.rocc]: what the congestion points of the switches do, beside the reaction points of the
// NICs (irn_provider/cc/rocc_rp.h). Both ends are parts of one algorithm, so that one table has them.
#include "emu/runner/readers.h"
#include "emu/runner/schema_reader.h"

namespace rocelab {
namespace {

constexpr auto kPoints = fields(
    field<&RoccSettings::period>("period", "T").positive().or_word("by-link"),
    field<&RoccSettings::q_ref>("q_ref", "Q_ref: length at which the fair rate rests").or_word("by-link"),
    field<&RoccSettings::q_mid>("q_mid", "Q_mid: growth in one T that halves it").or_word("by-link"),
    field<&RoccSettings::q_max>("q_max", "Q_max: length that forces `f_min`").or_word("by-link"),
    field<&RoccSettings::delta_q>("delta_q", "unit of lengths").or_word("by-link"),
    field<&RoccSettings::delta_f>("delta_f", "unit of rates").or_word("by-link"),
    field<&RoccSettings::f_min>("f_min", "least rate; the highest is the link's").or_word("by-link"),
    field<&RoccSettings::alpha>("alpha", "gain on the distance to `q_ref`, in `delta_f` per `delta_q`")
        .within(0, 1e6)
        .or_word("by-link"),
    field<&RoccSettings::beta>("beta", "gain on the growth").within(0, 1e6).or_word("by-link"),
    field<&RoccSettings::allow_unstable>("allow_unstable", "run parameters that the checks below refuse"));

constexpr std::string_view kTables[] = {"queue", "age", "elephant-trap"};  // RoccFlowTableKind
constexpr auto kTable = fields(
    choice<&RoccFlowTableParams::kind>(
        "flow_table", kTables,
        "who is told: flows in the queue; `age`, the default where hosts compute: flows of the last "
        "`table_age`; `elephant-trap`: sampled ones"),
    field<&RoccFlowTableParams::entries>("table_entries",
                                         "0: highest over least rate for `age`, 64 for the trap")
        .within(0, 1'000'000),
    field<&RoccFlowTableParams::max_age>("table_age", "`age`: a flow leaves after so long without a frame")
        .positive(),
    field<&RoccFlowTableParams::sampling>("table_sampling", "share of frames that the trap looks at")
        .within(1e-9, 1));

}  // namespace

Schema<RoccSettings> rocc_point_schema() { return kPoints; }
Schema<RoccFlowTableParams> rocc_table_schema() { return kTable; }

RoccSettings rocc_preset(std::string_view name) {
  RoccSettings points;
  if (name == "paper") return points;  // all by link
  points.q_ref = 75_KB;
  points.q_mid = 150_KB;
  points.q_max = 210_KB;
  points.period = name == "dpdk-testbed" ? 100_us : 20_us;
  if (name == "p4-testbed") points.delta_q = 80_B;
  return points;
}

RoccParams RoccSettings::params(Rate link) const {
  RoccParams p = rocc_params_for(link);
  p.period = period.value_or(p.period);
  p.q_ref = q_ref.value_or(p.q_ref);
  p.q_mid = q_mid.value_or(p.q_mid);
  p.q_max = q_max.value_or(p.q_max);
  p.delta_q = delta_q.value_or(p.delta_q);
  p.delta_f = delta_f.value_or(p.delta_f);
  p.f_min = f_min.value_or(p.f_min);
  p.alpha = alpha.value_or(p.alpha);
  p.beta = beta.value_or(p.beta);
  return p;
}

void read_rocc_points(ConfigSection& section, std::string_view preset, RoccReading& rocc, RoccRpParams& rp) {
  rocc.points = rocc_preset(preset);
  read_schema(section, rocc_point_schema(), rocc.points);
  rocc.config.form = rp.form;
  // Hosts that compute have to be told of an empty queue, too, or F never rises again (docs/paper-rocc.md):
  // by age where they do.
  if (rp.form != RoccForm::kRate) rocc.config.table.kind = RoccFlowTableKind::kAge;
  read_schema(section, rocc_table_schema(), rocc.config.table);
  const RoccParams defaults = rocc.points.params(40_Gbps);
  rp.delta_f = defaults.delta_f;
  if (rp.recovery_timer == Duration{}) rp.recovery_timer = defaults.period * 2;
}

}  // namespace rocelab
