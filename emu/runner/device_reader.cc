// [switch], [nic] and [engine].
#include <algorithm>

#include "emu/runner/readers.h"
#include "emu/runner/schema_reader.h"
#include "emu/world/world.h"
#include "ovs_patches/switch_model/mechanism_table.h"
#include "ovs_patches/switch_model/mechanisms/slack.h"

namespace rocelab {
namespace {

constexpr auto kSwitch = fields(
    field<&SwitchConfig::ingress_buffer>("lossless_buffer",
                                         "with PFC: per ingress port and lossless class, headroom included"),
    field<&SwitchConfig::egress_limit>("lossy_buffer", "per egress queue of a lossy class"),
    field<&SwitchConfig::input_buffered>("input_buffered",
                                         "the IRN paper's switch: lossy frames are admitted by input port, "
                                         "outputs serve inputs round robin"),
    field<&SwitchConfig::input_buffer>("input_buffer", "per input port, with `input_buffered`"),
    field<&SwitchConfig::shared_pool>("shared_pool", "shared memory with a dynamic threshold; 0B: none"),
    field<&SwitchConfig::alpha_lossless>(
        "alpha_lossless", "a lossless class may hold so many times the free pool beyond its XOFF threshold")
        .within(1e-6, 1e6),
    field<&SwitchConfig::alpha_lossy>("alpha_lossy",
                                      "a lossy queue may hold so many times the free pool; 0: it has "
                                      "`lossy_buffer` and no part of the pool")
        .within(0, 1e6));

constexpr auto kPfc = fields(
    field<&PfcConfig::headroom>("headroom",
                                "room above XOFF; `computed`: exactly enough for each link, or what `xoff` "
                                "leaves of the buffer")
        .or_word("computed", kComputed),
    field<&PfcConfig::xoff>("xoff", "`computed`: the buffer less the headroom")
        .or_word("computed", kComputed),
    field<&PfcConfig::xon>("xon", "`computed`: XOFF less `xon_frames` maximum frames")
        .or_word("computed", kComputed),
    field<&PfcConfig::xon_frames>("xon_frames", "maximum frames from XON to XOFF").within(0, 1000),
    field<&PfcConfig::quanta>("quanta", "pause time in an XOFF").within(1, 0xffff),
    field<&PfcConfig::refresh_percent>("refresh_percent",
                                       "an XOFF that still holds is sent again after this part of its time")
        .within(1, 99),
    field<&PfcConfig::response_time>("response_time",
                                     "from the arrival of an XOFF until the neighbour starts no frame: one "
                                     "maximum frame, or a time")
        .or_word("one-frame", kOneMaxFrame));

constexpr auto kEcn = fields(
    field<&EcnConfig::enabled>("enabled",
                               "marking at enqueue. With a congestion control that needs marks: true, and "
                               "the thresholds of its preset"),
    field<&EcnConfig::k_min>("kmin", "queue length up to which nothing is marked"),
    field<&EcnConfig::k_max>("kmax", "queue length above which everything is marked"),
    field<&EcnConfig::p_max>("pmax", "share of frames that is marked at `kmax`").within(0, 1),
    field<&EcnConfig::average>("average",
                               "w_q: `kmin` and `kmax` hold against RED's average of the queue, in which its "
                               "present length has this weight, and marks come evenly; 1: against the length")
        .within(1e-6, 1));

constexpr auto kClassLists =
    fields(classes<&ClassLists::lossless>(
               "lossless_classes", "RoCE is class 3, unless `[classes]` or the program says otherwise"),
           classes<&ClassLists::strict>(
               "strict_classes", "served first, the higher before the lower; CNPs are class 6, likewise"));
constexpr auto kMarked = fields(classes<&ClassLists::marked>("classes", "classes whose frames are marked"));

void read_thresholds(ConfigSection& section, EcnConfig& ecn) {
  read_fields(section, std::span(kEcn.all).subspan(1), &ecn);
  if (ecn.k_max < ecn.k_min) section.fail_at("kmax", "is less than kmin");
}

// [[switch.ecn.by_rate]]: of links of one rate, where they are not those of all others.
std::vector<EcnOfRate> read_ecn_by_rate(ConfigSection& section, EcnConfig ecn) {
  std::vector<EcnOfRate> all;
  ecn.enabled = true;
  for (ConfigSection& entry : section.tables("by_rate")) {
    entry.require("rate");
    EcnOfRate of{entry.rate("rate", {}), ecn};
    for (const EcnOfRate& other : all)
      if (other.rate == of.rate) entry.fail_at("rate", "= " + to_string(of.rate) + " has thresholds already");
    read_thresholds(entry, of.ecn);
    entry.finish();
    all.push_back(of);
  }
  return all;
}

// Marking is on by itself where congestion control needs it, with the thresholds of its preset.
std::vector<EcnOfRate> read_ecn(ConfigSection section, SwitchConfig& config,
                                const CcPreset& congestion_control) {
  EcnConfig ecn;
  if (congestion_control.config.needs().marks && !congestion_control.config.needs().own_marks)
    ecn = {true, congestion_control.marking.k_min, congestion_control.marking.k_max,
           congestion_control.marking.p_max, congestion_control.marking.average};
  ecn.enabled = section.boolean("enabled", ecn.enabled);
  read_thresholds(section, ecn);
  std::vector<EcnOfRate> by_rate = read_ecn_by_rate(section, ecn);
  ClassLists lists;
  read_schema(section, marked_schema(), lists);
  for (std::size_t tc = 0; tc < kTrafficClasses; ++tc)
    if ((lists.marked >> tc & 1) != 0) config.classes[tc].ecn = ecn;
  section.finish();
  return by_rate;
}

void read_classes(ConfigSection& section, SwitchConfig& config) {
  ClassLists lists;
  read_schema(section, class_schema(), lists);
  for (std::size_t tc = 0; tc < kTrafficClasses; ++tc) {
    config.classes[tc].lossless = (lists.lossless >> tc & 1) != 0;
    config.classes[tc].selection = (lists.strict >> tc & 1) != 0 ? Selection::kStrict : Selection::kEts;
  }
  const std::vector<std::int64_t> weights =
      section.integers("ets_weights", {1, 1, 1, 1, 1, 1, 1, 1}, 1, 1000);
  if (weights.size() != kTrafficClasses)
    section.fail_at("ets_weights", "must have one weight for each of the 8 classes");
  for (std::size_t tc = 0; tc < weights.size(); ++tc)
    config.classes[tc].weight = static_cast<std::uint16_t>(weights[tc]);
}

// Thresholds by name, for which keys stand in (docs/explanation/pfc-thresholds.md has their sources).
struct PfcPreset {
  std::string_view name;
  Bytes lossless_buffer, xoff, xon;
};
constexpr PfcPreset kPfcPresets[] = {
    {"rocc-authors", 1200_KB, 500_KB, 10_KB},
    {"rocc-authors-100g", 1200_KB, 800_KB, 10_KB},
    {"escape-testbed", 240_KB, 125_KB, 10_KB},
};

// Before the keys of the switch are read, which change these values.
void follow_pfc_preset(ConfigSection& pfc, SwitchConfig& config) {
  std::vector<std::string_view> names = {"default"};
  for (const PfcPreset& preset : kPfcPresets) names.push_back(preset.name);
  const std::size_t chosen = pfc.choice("preset", std::span<const std::string_view>(names), 0);
  if (chosen == 0) return;
  const PfcPreset& preset = kPfcPresets[chosen - 1];
  config.ingress_buffer = preset.lossless_buffer;
  config.shared_pool = 0_B;
  config.pfc.xoff = preset.xoff;
  config.pfc.xon = preset.xon;
}

void read_pfc(ConfigSection& section, SwitchConfig& config) {
  read_schema(section, pfc_schema(), config.pfc);
  read_mechanisms(section, "switch.pfc", config);
  section.finish();
}

}  // namespace

Schema<SwitchConfig> switch_schema() { return kSwitch; }
Schema<PfcConfig> pfc_schema() { return kPfc; }
Schema<EcnConfig> ecn_schema() { return kEcn; }
Schema<ClassLists> class_schema() { return kClassLists; }
Schema<ClassLists> marked_schema() { return kMarked; }

SwitchConfig read_switch(ConfigSection section, bool pfc, const CcPreset& congestion_control, bool slack,
                         std::vector<EcnOfRate>& ecn_by_rate) {
  SwitchConfig config;
  config.pfc.enabled = pfc;
  config.mechanisms.of<SlackMechanism>().enabled = slack;
  ConfigSection pfc_section = section.table("pfc");
  follow_pfc_preset(pfc_section, config);
  read_schema(section, switch_schema(), config);
  read_queue_order(section, config);
  read_port_buffer(section, config);
  if (section.choice("classify", {"dscp", "pcp"}, 0) == 1)
    section.fail_at(
        "classify",
        "= \"pcp\" has nothing to go by: NICs send no VLAN tags here, and every frame would be of "
        "class 0. Use \"dscp\", and [classes] for a map of your own");
  read_classes(section, config);
  read_each_class(section, config);
  read_pfc(pfc_section, config);
  ecn_by_rate = read_ecn(section.table("ecn"), config, congestion_control);
  follow_label(config.mechanisms, name_of(congestion_control.config), congestion_control.name);
  read_mechanisms(section, "switch", config);
  check_mechanisms(section, config);
  check_ranks(section, config);
  section.node("openqueue");  // read_policies()
  section.finish();
  return config;
}

namespace {

constexpr std::string_view kMtus[] = {"256B", "512B", "1024B", "2048B", "4096B"};
constexpr auto kNicSettings = fields(
    choice<&NicSettings::path_mtu>("path_mtu", kMtus, "payload of a packet"),
    field<&NicSettings::vfs>("vfs", "programs that one host can run at once").within(1, kMaxVfsPerHost));

constexpr auto kNic = fields(
    field<&NicConfig::max_qps>("max_qps", "queue pairs of a host; more with `vfs = 1` only")
        .within(1, 1 << 18),
    field<&NicConfig::ack_interval>("ack_interval",
                                    "RoCE asks for an ACK on every n-th packet of a message and on its last; "
                                    "1 with `hpcc`, which needs one of each")
        .within(1, 1 << 20),
    field<&NicConfig::qp_burst>("qp_burst",
                                "data packets that a queue pair sends in a row while others of its host "
                                "wait: 1 is round robin by packets")
        .within(1, 1 << 16),
    field<&NicConfig::ecn_capable>(
        "ecn_capable", "data is sent as ECT(0); true with a congestion control that needs marks"));

void read_modes(ConfigSection& section, const char* key, TransportMode mode, const Topology& topology,
                NicSettings& nic) {
  for (const std::string& name : section.texts(key, {})) {
    const std::vector<std::uint32_t> hosts = topology.find_nics(name);
    if (hosts.empty()) section.fail_at(key, "names \"" + name + "\", which is no host of the topology");
    for (const std::uint32_t host : hosts) {
      const std::string& of = topology.nodes()[host].name;
      for (const auto& [other, otherwise] : nic.modes)
        if (other == of) section.fail_at(key, "names \"" + name + "\" again");
      nic.modes.emplace_back(of, mode);
    }
  }
}

}  // namespace

Schema<NicSettings> nic_settings_schema() { return kNicSettings; }
Schema<NicConfig> nic_schema() { return kNic; }

NicSettings read_nic(ConfigSection section, ConfigSection irn, TransportMode mode, bool pfc,
                     const CcConfig& congestion_control, const Topology& topology,
                     const ClassMap& class_map) {
  NicSettings nic;
  NicConfig& config = nic.config;
  config.mode = mode;
  config.pfc_enabled = pfc;
  config.cc = congestion_control;
  const CcNeeds& needs = congestion_control.needs();
  config.ecn_capable = needs.marks;
  read_schema(section, nic_settings_schema(), nic);
  config.active_mtu = 256u << static_cast<unsigned>(nic.path_mtu);
  read_modes(section, "roce_hosts", TransportMode::kRoce, topology, nic);
  read_modes(section, "irn_hosts", TransportMode::kIrn, topology, nic);
  const bool has_roce = mode == TransportMode::kRoce || std::ranges::any_of(nic.modes, [](const auto& host) {
                          return host.second == TransportMode::kRoce;
                        });
  if (needs.packet_acks && has_roce) config.ack_interval = 1;
  read_schema(section, nic_schema(), config);
  if (config.max_qps > kQpnsPerVf && nic.vfs > 1)
    section.fail_at("max_qps", "= " + std::to_string(config.max_qps) +
                                   " needs vfs = 1: the numbers of a host's queue pairs are dealt out to its "
                                   "programs, " +
                                   std::to_string(kQpnsPerVf) + " each");
  read_nic_classes(section, class_map, config);
  if (needs.bdp && has_roce)
    section.fail_at("roce_hosts", "run RoCE, and congestion_control.name is one of mode \"irn\" only");
  if (needs.packet_acks && has_roce && config.ack_interval != 1)
    section.fail_at("ack_interval", "= " + std::to_string(config.ack_interval) +
                                        " leaves packets without an acknowledgement, and congestion control "
                                        "needs one of each: write 1, or use mode \"irn\"");
  section.finish();

  read_irn(irn, nic);
  return nic;
}

namespace {

// Whether all that hosts send, CNPs apart, is of lossless classes at every switch.
bool all_lossless(const Settings& s) {
  const NicConfig& nic = s.nic.config;
  std::vector<std::uint8_t> dscps{nic.roce_dscp};
  for (const std::uint8_t dscp : {nic.ack_dscp, nic.read_dscp})
    if (dscp != NicConfig::kOfQueuePair) dscps.push_back(dscp);
  for (const WorkloadSettings& w : s.workloads) {
    if (w.dscp) dscps.push_back(*w.dscp);
    for (const ListedFlow& flow : w.flows)
      if (flow.dscp) dscps.push_back(*flow.dscp);
  }
  const auto lossless = [&](const ClassMap& map) {
    return std::ranges::all_of(switch_configs(s), [&](const SwitchConfig* config) {
      return std::ranges::all_of(
          dscps, [&](std::uint8_t dscp) { return config->classes[map.of(dscp).value].lossless; });
    });
  };
  return lossless(s.switches.class_map) &&
         std::ranges::all_of(s.class_maps, [&](const NodeClassMap& own) { return lossless(own.map); });
}

bool drops_on_purpose(const SwitchConfig& config) {
  const auto drops = [&](const MechanismType& type) { return type.drops(config.mechanisms.of(type)); };
  return std::ranges::any_of(mechanism_types(), drops) ||
         std::ranges::any_of(config.classes, [](const ClassConfig& c) { return c.egress_max > Bytes{}; });
}

}  // namespace

// Under PFC a frame of a lossless class is lost on a link only, or where something drops it on purpose.
bool may_lose_frames(const Settings& s) {
  const auto configs = switch_configs(s);
  return !s.switches.pfc.enabled || !all_lossless(s) || !s.link_events.empty() ||
         std::ranges::any_of(configs, [](const SwitchConfig* config) { return drops_on_purpose(*config); }) ||
         std::ranges::any_of(s.topology.links(), [](const Link& link) {
           return link.a_to_b != FaultConfig{} || link.b_to_a != FaultConfig{};
         });
}

namespace {

constexpr std::string_view kClocks[] = {"lockstep", "wall"};
constexpr auto kEngine = fields(
    choice<&EngineSettings::clock>("clock", kClocks,
                                   "experiment time advances with the slowest process; `wall`: with the "
                                   "machine's clock, for foreign devices (docs/reference/wall-clock.md)"),
    field<&EngineSettings::pace>("pace", "lockstep: N: at least N times slower than real time, for watching")
        .within(0, 1e9),
    field<&EngineSettings::poll_interval>("poll_interval",
                                          "an empty poll_cq returns after this at the latest")
        .positive(),
    field<&EngineSettings::threads>(
        "threads",
        "of virtual time, on as many cores; results are the same for any number. "
        "`auto`: a thread per core, fewer for a small network, one for each run of "
        "a sweep")
        .within(1, 256)
        .or_word("auto"),
    field<&EngineSettings::sample_interval>("sample_interval", "of queues and rates; 0: none"),
    field<&EngineSettings::warmup>("warmup", "flows that start earlier do not count"),
    field<&EngineSettings::measure>("measure", "flows that start within so long after `warmup` count")
        .positive()
        .or_word("all", Duration::infinite()),
    field<&EngineSettings::limit>("limit",
                                  "experiment time at which the clock of an unfinished run stops; a flow "
                                  "that would begin then or later is an error")
        .positive(),
    field<&EngineSettings::frames_per_vf>("frames_per_vf",
                                          "frame buffers of one program; `computed`: from buffers, links and "
                                          "the smallest message")
        .within(64, 1 << 22)
        .or_word("computed"));
constexpr auto kWallClock =
    fields(field<&EngineSettings::dilation>(
               "dilation", "of the wall clock: seconds of the machine's clock per second of experiment")
               .within(1e-3, 1e9));

}  // namespace

Schema<EngineSettings> engine_schema() { return kEngine; }
Schema<EngineSettings> wall_clock_schema() { return kWallClock; }

EngineSettings read_engine(ConfigSection section) {
  EngineSettings engine;
  read_schema(section, engine_schema(), engine);
  if (engine.clock == ClockKind::kWall) {
    if (engine.pace != 0) section.fail_at("pace", "is of the lockstep clock; the wall clock has `dilation`");
    if (section.is_word("dilation", "auto", false))
      section.fail_at("dilation",
                      "= \"auto\" has nothing to calibrate: programs and switches advance in lock step under "
                      "the wall clock, too, and nothing among them is ever late; with a foreign device it is "
                      "1, unless its timers are as slow");
    read_schema(section, wall_clock_schema(), engine);
  }
  section.finish();
  return engine;
}

}  // namespace rocelab
