// [congestion_control]: which algorithm, and a table of parameters for each: [congestion_control.dcqcn] and
// so on. A table begins with a preset, whose values its keys change.
#include <algorithm>
#include <string>

#include "base/nearest.h"
#include "emu/runner/readers.h"
#include "emu/runner/schema_reader.h"
#include "irn_provider/cc/cc_limiter.h"
#include "irn_provider/cc/rocc_rp.h"

namespace rocelab {
namespace {

// The preset that a table names, or the first; `fail` names the others.
CcPreset read_preset(ConfigSection& section, const CcAlgorithm& algorithm) {
  const std::vector<CcPreset> presets = algorithm.presets();
  const std::string name = section.text("preset", presets.front().name);
  std::vector<std::string> names;
  for (const CcPreset& p : presets) {
    if (p.name == name) return p;
    names.emplace_back(p.name);
  }
  std::string all;
  for (const std::string& n : names) all += (all.empty() ? "\"" : ", \"") + n + "\"";
  const std::string near = nearest(name, names);
  section.fail_at("preset", "= \"" + name + "\" is none of " + all +
                                (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
}

// One algorithm's table. All tables are checked, so that a mistake shows whatever the label; those of the
// algorithm in use are listed among the parameters.
CcPreset read_algorithm(ConfigSection section, const CcAlgorithm& algorithm, RoccSwitchParams& rocc) {
  CcPreset preset = read_preset(section, algorithm);
  CcConfig& config = preset.config;
  read_fields(section, algorithm.fields(), algorithm.params(config));
  if (RoccRpParams* p = config.get<RoccRp>()) read_rocc_points(section, preset.name, rocc, *p);
  section.finish();
  refuse_problem(section, algorithm.problem_of(config));
  return preset;
}

void check_mode(ConfigSection& section, const CcConfig& config, TransportMode mode) {
  if (config.needs().bdp && mode != TransportMode::kIrn)
    section.fail_at("name",
                    "= \"" + std::string(name_of(config)) +
                        "\" is a window in units of the BDP over packets that are acknowledged one by "
                        "one, which RoCE has not: use it with mode \"irn\"");
}

void read_rtt_segment(ConfigSection& section, CcConfig& config) {
  const Bytes burst = config.burst().segment;
  config.rtt_segment = section.bytes("rtt_segment", burst);
  if (burst > 0_B && config.rtt_segment != burst) {
    const std::string name(name_of(config));
    section.fail_at("rtt_segment", "differs from " + name + ".segment, of which " + name + " takes RTTs");
  }
  if (config.rtt_segment > 0_B && shares_limiter(config))
    section.fail_at("rtt_segment",
                    "is of queue pairs with a limiter of their own: not with flow = \"hosts\"");
  if (config.rtt_segment > 1000_MB) section.fail_at("rtt_segment", "is more than 1000MB");
}

}  // namespace

CcPreset read_congestion_control(ConfigSection section, TransportMode mode,
                                 std::vector<Parameter>* parameters, RoccSwitchParams& rocc) {
  std::vector<std::string_view> names{"none"};
  for (const CcAlgorithm& algorithm : cc_algorithms()) names.push_back(algorithm.name);
  const std::string_view name = names[section.choice("name", names, 0)];
  CcPreset chosen{};
  for (const CcAlgorithm& algorithm : cc_algorithms()) {
    const bool in_use = algorithm.name == name;
    const CcPreset preset =
        read_algorithm(ConfigSection(section.node(algorithm.name), section.path_of(algorithm.name),
                                     in_use ? parameters : nullptr, section.place()),
                       algorithm, rocc);
    if (in_use) chosen = preset;
  }
  rocc.enabled = chosen.config.get<RoccRp>() != nullptr;
  check_mode(section, chosen.config, mode);
  read_rtt_segment(section, chosen.config);
  chosen.config.trace_rates = section.boolean("trace_rates", false);
  section.finish();
  return chosen;
}

}  // namespace rocelab
