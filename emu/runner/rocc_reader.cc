// [congestion_control.rocc]: the congestion points of the switches and the reaction points of the NICs. Both
// ends are parts of one algorithm, so that one table has them.
#include "emu/runner/readers.h"

namespace rocelab {
namespace {

// A value that replaces those of the links' sets.
template <class T, class Read>
void read_point(ConfigSection& section, const char* key, std::optional<T>& value, Read&& read) {
  if (section.is_word(key, "by-link", !section.has(key) && !value)) {
    value.reset();
    return;
  }
  value = read(value.value_or(T{}));
}

// The testbeds of 3.5.2 and 3.5.3; "paper" leaves all to the links' sets.
void apply_preset(std::string_view name, RoccSettings& points) {
  if (name == "paper") return;
  points.q_ref = 75_KB;
  points.q_mid = 150_KB;
  points.q_max = 210_KB;
  points.period = name == "dpdk-testbed" ? 100_us : 20_us;
  if (name == "p4-testbed") points.delta_q = 80_B;
}

void read_points(ConfigSection& section, RoccSettings& p) {
  const auto bytes = [&](const char* key) {
    return [&section, key](Bytes b) { return section.bytes(key, b); };
  };
  const auto rate = [&](const char* key) { return [&section, key](Rate r) { return section.rate(key, r); }; };
  const auto gain = [&](const char* key) {
    return [&section, key](double g) { return section.real(key, g, 0, 1e6); };
  };
  read_point(section, "period", p.period, [&](Duration d) { return section.duration("period", d); });
  if (p.period && p.period->ps() <= 0) section.fail_at("period", "must be more than 0");
  read_point(section, "q_ref", p.q_ref, bytes("q_ref"));
  read_point(section, "q_mid", p.q_mid, bytes("q_mid"));
  read_point(section, "q_max", p.q_max, bytes("q_max"));
  read_point(section, "delta_q", p.delta_q, bytes("delta_q"));
  read_point(section, "delta_f", p.delta_f, rate("delta_f"));
  read_point(section, "f_min", p.f_min, rate("f_min"));
  read_point(section, "alpha", p.alpha, gain("alpha"));
  read_point(section, "beta", p.beta, gain("beta"));
  p.allow_unstable = section.boolean("allow_unstable", p.allow_unstable);
}

// Hosts that compute have to be told of an empty queue, too, or F never rises again (docs/paper-rocc.md): by
// age where they do.
void read_table(ConfigSection& section, RoccForm form, RoccFlowTableParams& table) {
  table.kind = static_cast<RoccFlowTableKind>(
      section.choice("flow_table", {"queue", "age", "elephant-trap"}, form == RoccForm::kRate ? 0 : 1));
  table.entries = static_cast<std::uint32_t>(section.integer("table_entries", table.entries, 0, 1'000'000));
  table.max_age = section.duration("table_age", table.max_age);
  if (table.max_age.ps() <= 0) section.fail_at("table_age", "must be more than 0");
  table.sampling = section.real("table_sampling", table.sampling, 1e-9, 1);
}

}  // namespace

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

void read_rocc(ConfigSection& section, std::string_view preset, RoccReading& rocc, RoccRpParams& rp) {
  apply_preset(preset, rocc.points);
  read_points(section, rocc.points);
  rocc.config.form =
      static_cast<RoccForm>(section.choice("rate_computation", {"switch", "host-registry", "host"}, 0));
  rp.form = rocc.config.form;
  read_table(section, rocc.config.form, rocc.config.table);
  const RoccParams defaults = rocc.points.params(40_Gbps);
  rp.delta_f = defaults.delta_f;
  rp.reaction_delay = section.duration("reaction_delay", rp.reaction_delay);
  rp.recovery_timer = defaults.period * 2;
  if (!section.is_word("recovery_timer", "2T", !section.has("recovery_timer")))
    rp.recovery_timer = section.duration("recovery_timer", rp.recovery_timer);
  if (rp.recovery_timer.ps() <= 0) section.fail_at("recovery_timer", "must be more than 0");
}

}  // namespace rocelab
