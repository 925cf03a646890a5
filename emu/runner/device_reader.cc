// [switch], [nic] and [engine].
#include <algorithm>

#include "emu/runner/readers.h"
#include "emu/runner/schema_reader.h"
#include "emu/world/world.h"
#include "ovs_patches/switch_model/mechanism_follow.h"

namespace rocelab {
namespace {

void read_thresholds(ConfigSection& section, EcnConfig& ecn) {
  ecn.k_min = section.bytes("kmin", ecn.k_min);
  ecn.k_max = section.bytes("kmax", ecn.k_max);
  ecn.p_max = section.real("pmax", ecn.p_max, 0, 1);
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
  if (congestion_control.config.needs().marks)
    ecn = {true, congestion_control.marking.k_min, congestion_control.marking.k_max,
           congestion_control.marking.p_max};
  ecn.enabled = section.boolean("enabled", ecn.enabled);
  read_thresholds(section, ecn);
  std::vector<EcnOfRate> by_rate = read_ecn_by_rate(section, ecn);
  for (const std::int64_t tc : section.integers("classes", {3}, 0, kTrafficClasses - 1))
    config.classes[static_cast<std::size_t>(tc)].ecn = ecn;
  section.finish();
  return by_rate;
}

void read_classes(ConfigSection& section, SwitchConfig& config) {
  for (ClassConfig& c : config.classes) {
    c.lossless = false;
    c.selection = Selection::kEts;
  }
  for (const std::int64_t tc : section.integers("lossless_classes", {3}, 0, kTrafficClasses - 1))
    config.classes[static_cast<std::size_t>(tc)].lossless = true;
  for (const std::int64_t tc : section.integers("strict_classes", {6, 7}, 0, kTrafficClasses - 1))
    config.classes[static_cast<std::size_t>(tc)].selection = Selection::kStrict;
  const std::vector<std::int64_t> weights =
      section.integers("ets_weights", {1, 1, 1, 1, 1, 1, 1, 1}, 1, 1000);
  if (weights.size() != kTrafficClasses)
    section.fail_at("ets_weights", "must have one weight for each of the 8 classes");
  for (std::size_t tc = 0; tc < weights.size(); ++tc)
    config.classes[tc].weight = static_cast<std::uint16_t>(weights[tc]);
}

// A size that the switch can also derive itself.
Bytes computed_or_bytes(ConfigSection& section, const char* key) {
  return section.is_word(key, "computed", !section.has(key)) ? kComputed : section.bytes(key, Bytes{});
}

void read_pfc(ConfigSection section, PfcConfig& pfc) {
  pfc.headroom = computed_or_bytes(section, "headroom");
  pfc.xoff = computed_or_bytes(section, "xoff");
  pfc.xon = computed_or_bytes(section, "xon");
  pfc.xon_frames = static_cast<std::uint16_t>(section.integer("xon_frames", pfc.xon_frames, 0, 1000));
  pfc.quanta = static_cast<std::uint16_t>(section.integer("quanta", pfc.quanta, 1, 0xffff));
  pfc.refresh_percent =
      static_cast<std::uint16_t>(section.integer("refresh_percent", pfc.refresh_percent, 1, 99));
  if (!section.is_word("response_time", "one-frame", !section.has("response_time")))
    pfc.response_time = section.duration("response_time", Duration{});
  ConfigSection watchdog = section.table("watchdog");
  if (!watchdog.is_word("period", "off", !watchdog.has("period"))) {
    pfc.watchdog.period = watchdog.duration("period", pfc.watchdog.period);
    if (pfc.watchdog.period.ps() <= 0) watchdog.fail_at("period", "must be more than 0, or \"off\"");
  }
  pfc.watchdog.action = static_cast<WatchdogAction>(watchdog.choice("action", {"report", "drop"}, 0));
  watchdog.finish();
  section.finish();
}

constexpr std::string_view kEscapeFixes[] = {"pool", "order", "reclaim", "headroom", "hosts"};  // by bit

// All that are lossless, or some of them.
std::uint8_t read_escape_classes(ConfigSection& section, const SwitchConfig& config) {
  if (section.is_word("classes", "lossless", !section.has("classes"))) return EscapeConfig{}.classes;
  std::uint8_t classes = 0;
  for (const std::int64_t tc : section.integers("classes", {}, 0, kTrafficClasses - 1)) {
    if (!config.classes[static_cast<std::size_t>(tc)].lossless)
      section.fail_at("classes", "names class " + std::to_string(tc) + ", which is not in lossless_classes");
    classes = static_cast<std::uint8_t>(classes | 1 << tc);
  }
  if (classes == 0) section.fail_at("classes", "names none; \"lossless\" is all that are");
  return classes;
}

void read_escape(ConfigSection section, const SwitchConfig& config, EscapeConfig& escape) {
  escape.enabled = section.boolean("enabled", escape.enabled);
  escape.classes = read_escape_classes(section, config);
  escape.fixes = static_cast<std::uint8_t>(read_set(section, "fixes", kEscapeFixes, kAllEscapeFixes));
  escape.tokens = static_cast<std::uint16_t>(section.integer("tokens", escape.tokens, 1, 1024));
  if (!section.is_word("flows", "by-pool", !section.has("flows")))
    escape.flows = static_cast<std::uint16_t>(section.integer("flows", 0, 1, 4096));
  escape.by_hosts = section.choice("flow", {"connection", "hosts"}, 0) == 1;
  if (!section.is_word("period", "2-link-delays", !section.has("period"))) {
    escape.period = section.duration("period", escape.period);
    if (escape.period.ps() <= 0) section.fail_at("period", "must be more than 0");
  }
  escape.reclaim = section.duration("reclaim", escape.reclaim);
  if (escape.reclaim.ps() <= 0) section.fail_at("reclaim", "must be more than 0");
  escape.announce = section.boolean("announce", escape.announce);
  escape.return_tokens = section.boolean("return_tokens", escape.return_tokens);
  if (escape.return_tokens && !(escape.has(EscapeFix::kPool) && escape.has(EscapeFix::kReclaim)))
    section.fail_at("return_tokens", "needs the fixes \"pool\" and \"reclaim\"");
  section.finish();
}

void read_loop_breaker(ConfigSection section, LoopBreakerConfig& breaker) {
  breaker.enabled = section.boolean("enabled", breaker.enabled);
  breaker.drop = static_cast<LoopBreakerDrop>(section.choice("drop", {"queue", "to-xon"}, 0));
  breaker.interval = section.duration("interval", breaker.interval);
  if (breaker.interval.ps() <= 0) section.fail_at("interval", "must be more than 0");
  if (!section.is_word("period", "by-interval", !section.has("period"))) {
    breaker.period = section.duration("period", breaker.period);
    if (breaker.period.ps() <= 0) section.fail_at("period", "must be more than 0");
  }
  section.finish();
}

}  // namespace

SwitchConfig read_switch(ConfigSection section, bool pfc, const CcPreset& congestion_control,
                         std::vector<EcnOfRate>& ecn_by_rate) {
  SwitchConfig config;
  config.pfc.enabled = pfc;
  config.ingress_buffer = section.bytes("lossless_buffer", config.ingress_buffer);
  config.egress_limit = section.bytes("lossy_buffer", config.egress_limit);
  config.input_buffered = section.boolean("input_buffered", config.input_buffered);
  config.input_buffer = section.bytes("input_buffer", config.input_buffer);
  config.shared_pool = section.bytes("shared_pool", config.shared_pool);
  config.alpha_lossless = section.real("alpha_lossless", config.alpha_lossless, 1e-6, 1e6);
  config.alpha_lossy = section.real("alpha_lossy", config.alpha_lossy, 0, 1e6);
  read_queue_order(section, config);
  read_port_buffer(section, config);
  if (section.choice("classify", {"dscp", "pcp"}, 0) == 1)
    section.fail_at(
        "classify",
        "= \"pcp\" has nothing to go by: NICs send no VLAN tags here, and every frame would be of "
        "class 0. Use \"dscp\", and [classes] for a map of your own");
  read_classes(section, config);
  read_each_class(section, config);
  read_pfc(section.table("pfc"), config.pfc);
  ecn_by_rate = read_ecn(section.table("ecn"), config, congestion_control);
  read_escape(section.table("escape"), config, config.escape);
  if (config.escape.enabled && !pfc)
    section.fail_at("escape", "needs PFC: give the label a transport with it, such as \"roce+pfc\"");
  for (std::size_t tc = 0; config.escape.enabled && tc < config.classes.size(); ++tc)
    if (config.classes[tc].lossless && config.classes[tc].order != QueueOrder::kFifo)
      section.fail_at("escape", "takes frames out of FIFO queues only, and class " + std::to_string(tc) +
                                    " has another order");
  follow_label(config.mechanisms, name_of(congestion_control.config), congestion_control.name);
  read_mechanisms(section, config);
  check_ranks(section, config);
  read_loop_breaker(section.table("loop_breaker"), config.loop_breaker);
  if (config.loop_breaker.enabled && !pfc)
    section.fail_at("loop_breaker", "needs PFC: give the label a transport with it, such as \"roce+pfc\"");
  if (config.loop_breaker.enabled && config.escape.enabled)
    section.fail_at("loop_breaker", "and escape are for the same deadlocks: use one of them");
  section.finish();
  return config;
}

namespace {

void read_modes(ConfigSection& section, const char* key, TransportMode mode, const Topology& topology,
                NicSettings& nic) {
  for (const std::string& name : section.texts(key, {})) {
    const std::uint32_t host = topology.find(name);
    if (host == Topology::kNoNode || !topology.is_host(host))
      section.fail_at(key, "names \"" + name + "\", which is no host of the topology");
    for (const auto& [other, otherwise] : nic.modes)
      if (other == name) section.fail_at(key, "names \"" + name + "\" again");
    nic.modes.emplace_back(name, mode);
  }
}

}  // namespace

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
  static constexpr std::int64_t kMtus[] = {256, 512, 1024, 2048, 4096};
  const std::size_t mtu = section.choice("path_mtu", {"256B", "512B", "1024B", "2048B", "4096B"}, 2);
  config.active_mtu = static_cast<std::uint32_t>(kMtus[mtu]);
  nic.vfs = static_cast<std::uint32_t>(section.integer("vfs", nic.vfs, 1, kMaxVfsPerHost));
  read_modes(section, "roce_hosts", TransportMode::kRoce, topology, nic);
  read_modes(section, "irn_hosts", TransportMode::kIrn, topology, nic);
  config.max_qps = static_cast<std::uint32_t>(section.integer("max_qps", config.max_qps, 1, 1 << 18));
  if (config.max_qps > kQpnsPerVf && nic.vfs > 1)
    section.fail_at("max_qps", "= " + std::to_string(config.max_qps) +
                                   " needs vfs = 1: the numbers of a host's queue pairs are dealt out to its "
                                   "programs, " +
                                   std::to_string(kQpnsPerVf) + " each");
  const bool has_roce = mode == TransportMode::kRoce || std::ranges::any_of(nic.modes, [](const auto& host) {
                          return host.second == TransportMode::kRoce;
                        });
  if (needs.packet_acks && has_roce) config.ack_interval = 1;
  config.ack_interval =
      static_cast<std::uint32_t>(section.integer("ack_interval", config.ack_interval, 1, 1 << 20));
  config.qp_burst = static_cast<std::uint32_t>(section.integer("qp_burst", config.qp_burst, 1, 1 << 16));
  config.ecn_capable = section.boolean("ecn_capable", config.ecn_capable);
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
  return config.loop_breaker.enabled ||
         std::ranges::any_of(config.classes, [](const ClassConfig& c) { return c.egress_max > Bytes{}; }) ||
         (config.pfc.watchdog.period > Duration{} && config.pfc.watchdog.action == WatchdogAction::kDrop);
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

EngineSettings read_engine(ConfigSection section) {
  EngineSettings engine;
  engine.clock =
      section.choice("clock", {"lockstep", "wall"}, 0) == 1 ? ClockKind::kWall : ClockKind::kLockstep;
  engine.pace = section.real("pace", engine.pace, 0, 1e9);
  if (engine.clock == ClockKind::kWall) {
    if (engine.pace != 0) section.fail_at("pace", "is of the lockstep clock; the wall clock has `dilation`");
    if (section.is_word("dilation", "auto", false))
      section.fail_at("dilation",
                      "= \"auto\" has nothing to calibrate: programs and switches advance in lock step under "
                      "the wall clock, too, and nothing among them is ever late; with a foreign device it is "
                      "1, unless its timers are as slow");
    engine.dilation = section.real("dilation", engine.dilation, 1e-3, 1e9);
  }
  engine.poll_interval = section.duration("poll_interval", engine.poll_interval);
  if (engine.poll_interval.ps() <= 0) section.fail_at("poll_interval", "must be more than 0");
  engine.sample_interval = section.duration("sample_interval", engine.sample_interval);
  engine.warmup = section.duration("warmup", engine.warmup);
  if (section.has("measure")) engine.measure = section.duration("measure", engine.measure);
  if (engine.measure.ps() <= 0) section.fail_at("measure", "must be more than 0");
  engine.limit = section.duration("limit", engine.limit);
  if (engine.limit.ps() <= 0) section.fail_at("limit", "must be more than 0");
  if (!section.is_word("frames_per_vf", "computed", !section.has("frames_per_vf")))
    engine.frames_per_vf = static_cast<std::uint32_t>(section.integer("frames_per_vf", 0, 64, 1 << 22));
  section.finish();
  return engine;
}

}  // namespace rocelab
