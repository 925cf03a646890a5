// [congestion_control]: which algorithm, and a table of parameters for each: [congestion_control.dcqcn] and
// so on. A table begins with a preset, whose values its keys change.
#include <algorithm>
#include <string>

#include "emu/runner/readers.h"
#include "irn_provider/cc/algorithms.h"

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

Duration positive(ConfigSection& section, const char* key, Duration otherwise) {
  const Duration d = section.duration(key, otherwise);
  if (d.ps() <= 0) section.fail_at(key, "must be more than 0");
  return d;
}

std::uint32_t count(ConfigSection& section, const char* key, std::uint32_t otherwise, std::int64_t least,
                    std::int64_t most) {
  return static_cast<std::uint32_t>(section.integer(key, otherwise, least, most));
}

void read_dcqcn(ConfigSection& section, DcqcnParams& p) {
  p.g = section.real("g", p.g, 1e-9, 1);
  p.alpha_interval = positive(section, "alpha_interval", p.alpha_interval);
  p.rate_timer = positive(section, "rate_timer", p.rate_timer);
  p.byte_counter = section.bytes("byte_counter", p.byte_counter);
  p.fast_recovery = count(section, "fast_recovery", p.fast_recovery, 0, 1000);
  p.rate_ai = section.rate("rate_ai", p.rate_ai);
  p.rate_hai = section.rate("rate_hai", p.rate_hai);
  p.min_rate = section.rate("min_rate", p.min_rate);
  p.max_decrease = section.real("max_decrease", p.max_decrease, 1e-9, 1);
  p.clamp_target = section.boolean("clamp_target", p.clamp_target);
  p.periodic = section.boolean("periodic", p.periodic);
  p.decrease_interval = positive(section, "decrease_interval", p.decrease_interval);
  p.cnp_interval = section.duration("cnp_interval", p.cnp_interval);
  p.loss_backoff = section.real("loss_backoff", p.loss_backoff, 0, 0.99);
}

void read_timely(ConfigSection& section, TimelyParams& p) {
  p.segment = section.bytes("segment", p.segment);
  if (p.segment > 1_MB)
    section.fail_at("segment", "is more than 1MB: segments are bursts, 64KB at most in the paper");
  p.t_low = section.duration("t_low", p.t_low);
  p.t_high = positive(section, "t_high", p.t_high);
  if (p.t_high < p.t_low) section.fail_at("t_high", "is less than t_low");
  p.delta = section.rate("delta", p.delta);
  p.beta = section.real("beta", p.beta, 1e-9, 1);
  p.alpha = section.real("alpha", p.alpha, 1e-9, 1);
  p.min_rtt = positive(section, "min_rtt", p.min_rtt);
  p.hai_events = count(section, "hai_events", p.hai_events, 1, 1'000'000);
  p.hai_factor = count(section, "hai_factor", p.hai_factor, 1, 1'000'000);
  p.app_share = section.real("app_share", p.app_share, 0, 1);
  p.max_decrease = section.real("max_decrease", p.max_decrease, 1e-9, 1);
  p.min_rate = section.rate("min_rate", p.min_rate);
  if (!section.is_word("burst_rate", "line", !section.has("burst_rate")))
    p.burst_rate = section.rate("burst_rate", 1_Gbps);
  if (!section.is_word("max_outstanding", "computed", !section.has("max_outstanding")))
    p.max_outstanding = section.bytes("max_outstanding", 0_B);
  p.loss_backoff = section.real("loss_backoff", p.loss_backoff, 0, 0.99);
}

std::uint32_t read_initial_window(ConfigSection& section, std::uint32_t otherwise) {
  if (section.is_word("initial_window", "bdp", !section.has("initial_window") && otherwise == 0)) return 0;
  return count(section, "initial_window", otherwise, 1, 1 << 20);
}

void read_aimd(ConfigSection& section, AimdParams& p) {
  p.initial_window = read_initial_window(section, p.initial_window);
  p.slow_start = section.boolean("slow_start", p.slow_start);
  p.increase = section.real("increase", p.increase, 1e-9, 1000);
  p.decrease = section.real("decrease", p.decrease, 0, 1);
  p.min_window = count(section, "min_window", p.min_window, 1, 1 << 20);
}

void read_dctcp(ConfigSection& section, DctcpParams& p) {
  p.initial_window = read_initial_window(section, p.initial_window);
  p.g = section.real("g", p.g, 1e-9, 1);
  p.increase = section.real("increase", p.increase, 1e-9, 1000);
  p.min_window = count(section, "min_window", p.min_window, 1, 1 << 20);
}

void read_hpcc(ConfigSection& section, HpccParams& p) {
  p.eta = section.real("eta", p.eta, 0.01, 1);
  p.max_stage = count(section, "max_stage", p.max_stage, 0, 1000);
  if (!section.is_word("w_ai", "computed", !section.has("w_ai"))) p.w_ai = section.bytes("w_ai", 0_B);
  p.flows = count(section, "flows", p.flows, 1, 1'000'000);
  if (!section.is_word("base_rtt", "computed", !section.has("base_rtt")))
    p.base_rtt = positive(section, "base_rtt", p.base_rtt);
  p.min_rate = section.rate("min_rate", p.min_rate);
}

// One algorithm's table. All tables are checked, so that a mistake shows whatever the label; those of the
// algorithm in use are listed among the parameters.
CcPreset read_algorithm(ConfigSection section, const CcAlgorithm& algorithm, RoccReading& rocc) {
  CcPreset preset = read_preset(section, algorithm);
  CcConfig& config = preset.config;
  if (auto* p = config.get<DcqcnRp>()) read_dcqcn(section, *p);
  if (auto* p = config.get<Timely>()) read_timely(section, *p);
  if (auto* p = config.get<Aimd>()) read_aimd(section, *p);
  if (auto* p = config.get<Dctcp>()) read_dctcp(section, *p);
  if (auto* p = config.get<Hpcc>()) read_hpcc(section, *p);
  if (auto* p = config.get<RoccRp>()) read_rocc(section, preset.name, rocc, *p);
  section.finish();
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
  if (config.rtt_segment > 1000_MB) section.fail_at("rtt_segment", "is more than 1000MB");
}

}  // namespace

CcPreset read_congestion_control(ConfigSection section, TransportMode mode,
                                 std::vector<Parameter>* parameters, RoccReading& rocc) {
  std::vector<std::string_view> names{"none"};
  for (const CcAlgorithm& algorithm : cc_algorithms()) names.push_back(algorithm.name);
  const std::string_view name = names[section.choice("name", names, 0)];
  CcPreset chosen{};
  for (const CcAlgorithm& algorithm : cc_algorithms()) {
    const bool in_use = algorithm.name == name;
    const CcPreset preset =
        read_algorithm(ConfigSection(section.node(algorithm.name), section.path_of(algorithm.name),
                                     in_use ? parameters : nullptr),
                       algorithm, rocc);
    if (in_use) chosen = preset;
  }
  rocc.config.enabled = chosen.config.needs().fair_rates;
  check_mode(section, chosen.config, mode);
  read_rtt_segment(section, chosen.config);
  section.finish();
  return chosen;
}

}  // namespace rocelab
