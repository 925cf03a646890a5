// The parts of the scenario schema, one function a part; scenario.cc puts them together. Each asks its
// section for every key it knows and calls finish(). docs/reference/scenarios.md describes the same keys for
// people.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/schema.h"
#include "base/tc_mask.h"
#include "emu/runner/config_section.h"
#include "emu/runner/scenario.h"
#include "irn_provider/cc/cc_algorithm.h"
#include "irn_provider/cc/rocc_rp.h"
#include "ovs_patches/switch_model/mechanisms/rocc.h"

namespace rocelab {

// Which hosts there are, what their NICs say, and where the scenario stands.
struct WorkloadContext {
  const Topology& topology;
  const NicConfig& nic;
  const std::filesystem::path& folder;
};

// `folder`: of the scenario; files named in it are relative to it.
Topology read_topology(ConfigSection section, const std::filesystem::path& folder);
// [[topology.path]]: a pinned path, to one host or several of one switch. Every host has its link.
void read_path(ConfigSection section, Topology& topology);
// Complains at `key` when `name` is that of a host with several NICs.
void refuse_machine(ConfigSection& section, const char* key, const Topology& topology,
                    const std::string& name);
// Complains at `key` when there is no such node.
std::uint32_t find_node(ConfigSection& section, const char* key, const Topology& topology,
                        const std::string& name);
// The link of two nodes that `key` names; of links side by side the one that the key `link` says, from 1 in
// port order.
std::uint32_t find_link(ConfigSection& section, const char* key, const Topology& topology, std::uint32_t a,
                        std::uint32_t b);
// [[fault]]s, then topology.drop_rate and corrupt_rate where a direction has none.
void read_faults(std::vector<ConfigSection> sections, Topology& topology);
// The algorithm with its parameters, and the marking that goes with them where it needs marks.
CcPreset read_congestion_control(ConfigSection section, TransportMode mode,
                                 std::vector<Parameter>* parameters, RoccSwitchParams& rocc);
// The switches' part of [congestion_control.rocc]; `rp` is the NICs', which has been read.
void read_rocc_points(ConfigSection& section, std::string_view preset, RoccSwitchParams& rocc,
                      RoccRpParams& rp);
RoccSettings rocc_preset(std::string_view name);  // the testbeds of 3.5.2 and 3.5.3, and "paper"
inline constexpr std::string_view kLinkEventRequires[] = {"at", "between", "state"};
std::vector<LinkEvent> read_link_events(std::vector<ConfigSection> sections, const Topology& topology);
// [slack]: what NICs write into frames; switches keep it up to date wherever there is a law.
// `replay_of`: the label or case that `law = "replay"` names.
SlackConfig read_slack(ConfigSection section, const Topology& topology, std::string& replay_of,
                       SlackRates& rates);
Schema<SlackConfig> slack_schema();
Schema<EdgeConfig> edge_schema();
SwitchConfig read_switch(ConfigSection section, bool pfc, const CcPreset& congestion_control, bool slack,
                         std::vector<EcnOfRate>& ecn_by_rate);
// The network's map; `at` gets those of single nodes.
ClassMap read_class_map(ConfigSection section, const Topology& topology, std::vector<NodeClassMap>& at);
// The DSCP that `dscp` says, or one of the class that `class` says; null: neither is there. The keys' names
// begin with `prefix`.
std::optional<std::uint8_t> read_dscp(ConfigSection& section, const std::string& prefix, const ClassMap& map);
// nic.ack_dscp, nic.read_dscp, nic.strict_classes, nic.ets_weights.
void read_nic_classes(ConfigSection& section, const ClassMap& map, NicConfig& config);
// Warnings about settings that are allowed but probably not meant: one line each, with its place.
std::vector<std::string> class_warnings(const Settings& settings);
// The parts of [switch] that are about queues and mechanisms, in this order. `section` is [switch].
void read_queue_order(ConfigSection& section, SwitchConfig& config);
void read_port_buffer(ConfigSection& section, SwitchConfig& config);  // behind the buffers and the order
void read_each_class(ConfigSection& section,
                     SwitchConfig& config);  // behind lossless_classes and pfc.enabled
void read_mechanisms(ConfigSection& section, const std::string& path, SwitchConfig& config);
void check_mechanisms(ConfigSection& section, const SwitchConfig& config);
void check_ranks(ConfigSection& section, const SwitchConfig& config);
// switch.openqueue and [[policy_event]]. `section` is [switch].
PolicySettings read_policies(ConfigSection section, std::vector<ConfigSection> events,
                             const Topology& topology, const std::filesystem::path& folder);
inline constexpr std::string_view kPolicyEventRequires[] = {"at"};
Schema<PolicyEvent> policy_event_schema();
// [[switch_group]]: [switch] with some keys changed, for some switches. Without its class map, RoCC and
// telemetry, which are a network's.
std::vector<SwitchGroup> read_switch_groups(std::vector<ConfigSection> sections, const ConfigNode* base,
                                            const Topology& topology, bool pfc, const CcPreset& cc,
                                            bool slack, std::vector<Parameter>& parameters);
NicSettings read_nic(ConfigSection section, ConfigSection irn, TransportMode mode, bool pfc,
                     const CcConfig& congestion_control, const Topology& topology, const ClassMap& class_map);
void read_irn(ConfigSection& section, NicSettings& nic);
void read_rc3(ConfigSection section, bool computed_cap, NicConfig& config);  // after all else of [irn]
Schema<SwitchConfig> switch_schema();
Schema<PfcConfig> pfc_schema();
Schema<EcnConfig> ecn_schema();
// Keys that list classes; each class has the property in its ClassConfig.
struct ClassLists {
  TcMask lossless = 1 << 3, strict = 1 << 6 | 1 << 7, marked = 1 << 3;
};
Schema<ClassLists> class_schema();   // of [switch]
Schema<ClassLists> marked_schema();  // of [switch.ecn]
Schema<NicSettings> nic_settings_schema();
Schema<NicConfig> nic_schema();
Schema<EngineSettings> engine_schema();
Schema<EngineSettings> wall_clock_schema();  // of engine.clock = "wall" alone
Schema<FaultConfig> fault_schema();
Schema<LinkEvent> link_event_schema();
Schema<Topology> path_schema();
Schema<IrnConfig> irn_schema();
Schema<TimerSettings> timer_schema();
// `lossy`: frames of the hosts' flows may be lost, which is what "auto" asks.
TimerSettings read_timers(ConfigSection section, bool lossy);
bool may_lose_frames(const Settings& settings);
EngineSettings read_engine(ConfigSection section);
// Parts of a workload that its kind may read: a host that `key` names; the operation, which depends on the
// service; one size; the size keys, whose names begin with `prefix`; and its list of hosts.
std::uint32_t find_host(ConfigSection& section, const char* key, const Topology& topology,
                        const std::string& name);
FlowOp read_op(ConfigSection& section, FlowService service);
Bytes read_size(ConfigSection& section, std::string_view key);
SizeSettings read_sizes(ConfigSection& section, const std::filesystem::path& folder,
                        const std::string& prefix = "");
std::vector<std::uint32_t> read_hosts(ConfigSection& section, const char* key, const Topology& topology);
// Complains when nobody sends to anybody else.
void check_pairs(ConfigSection& section, const WorkloadSettings& w, const Topology& topology);
constexpr std::int64_t kMostFlows = 10'000'000;  // of a workload
// Complains when together they offer a link more than it carries (offered_load.h).
std::vector<WorkloadSettings> read_workloads(std::vector<ConfigSection> sections, const Topology& topology,
                                             const NicConfig& nic, const std::filesystem::path& folder);

}  // namespace rocelab
