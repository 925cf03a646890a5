// Scenario: what a scenario file says, after units, defaults, presets and --set have been applied; still
// without addresses, routes or draws. One Settings per label: labels differ in any key, so each has the whole
// set. docs/reference/scenarios.md is the reference of the keys.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "emu/runner/size_cdf.h"
#include "emu/runner/topology.h"
#include "emu/world/switch_policies.h"
#include "irn_provider/transport/nic_config.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {

// A mistake in a scenario: what() is one line, "file:line:column: what is wrong and what to write instead".
class ScenarioError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class FlowOp : std::uint8_t { kSend, kWrite, kRead };
const char* to_string(FlowOp op);

enum class FlowService : std::uint8_t { kRc, kUc, kUd };  // transport service of a flow's queue pairs
const char* to_string(FlowService service);

// When a flow's queue pairs are connected, and how long they live.
enum class QueuePairs : std::uint8_t {
  kAhead,      // each flow has its own, all connected before the run
  kPerFlow,    // each flow has its own, created for its start and destroyed behind its end
  kPersistent  // flows of one workload, source, destination, operation and DSCP share them
};

enum class Timeouts : std::uint8_t { kAuto, kOn, kOff };

struct TimerSettings {
  Duration rto_high = 320_us, rto_low = 100_us;  // 4.3.1 of the IRN chapter
  std::uint32_t rto_low_packets = 3;             // N
  bool restart_on_any_ack = false;               // or only at cumulative progress
  Timeouts timeouts = Timeouts::kAuto;
  bool recovery = true;  // what `timeouts` comes to: "auto" is off where PFC keeps all frames
  std::uint8_t verbs_timeout =
      14;  // 4.096 us * 2^14 = 67 ms: the liveness guard of the traffic program's QPs
  std::uint8_t verbs_retry_cnt = 7;
};

enum class PathMtu : std::uint8_t { k256, k512, k1024, k2048, k4096 };

struct NicSettings {
  PathMtu path_mtu = PathMtu::k1024;
  NicConfig config;             // link rate and delay are filled in per host
  bool compute_bdp_cap = true;  // bdp_cap = "computed"
  std::uint32_t vfs = 2;        // processes that one host can run at once
  // Hosts whose NICs run in another mode than the label's, by name.
  std::vector<std::pair<std::string, TransportMode>> modes;
};

struct EcnOfRate {  // marking of links of one rate
  Rate rate;
  EcnConfig ecn;
};

// Switches that differ from the others: [[switch_group]].
struct SwitchGroup {
  std::vector<std::uint32_t> nodes;
  SwitchConfig config;
  std::vector<EcnOfRate> ecn_by_rate;
};

struct NodeClassMap {  // of a node that does not go by the network's map
  std::uint32_t node = 0;
  ClassMap map;
};

struct LinkEvent {
  Duration at;
  std::uint32_t link = 0;  // of the topology
  bool up = false;         // it recovers; else it fails
  Duration reroute_after;  // until the routes react
};

// Where a flow's size comes from: fixed (min == max), uniform over [min, max], or a distribution.
struct SizeSettings {
  Bytes min, max;
  SizeCdf cdf{};  // not empty: min and max are its ends
};

// The end of a flow that another one waits for, and the time behind it; whole nanoseconds, rounded up.
struct FlowEnd {
  std::uint32_t flow = 0;
  Duration delay = {};
  friend bool operator==(const FlowEnd&, const FlowEnd&) = default;
};

struct ListedFlow {
  std::uint32_t src = 0, dst = 0;  // hosts
  Bytes size;
  Duration start;
  FlowOp op = FlowOp::kWrite;
  std::optional<Duration> stop;      // null: the workload's
  std::string group;                 // empty: the workload's name
  std::optional<std::uint8_t> dscp;  // null: the workload's
  std::vector<FlowEnd> after = {};   // of others of the workload, by place; it starts behind after_count
  std::uint32_t after_count = 0;
};

// Open loop: messages are posted by the clock, whether or not earlier ones are complete.
struct StreamSettings {
  Rate rate{};           // payload while it is on; zero: no stream
  Duration on{}, off{};  // bursts; off zero: it is always on
};

using SlackRates = std::vector<std::pair<std::uint32_t, Rate>>;  // by host

class Workload;

// Of hosts with several NICs: to which NICs of other hosts one of them sends.
enum class NicPairs : std::uint8_t {
  kSameRail,  // those of its own number
  kAny
};

struct WorkloadSettings {
  std::string name;                          // group of flows in the results
  std::string_view kind;                     // "incast": the name of its WorkloadType
  std::shared_ptr<const Workload> workload;  // what the kind knows (workload_type.h)
  std::vector<std::uint32_t> senders;        // hosts; empty: all, of an incast all but the receiver
  std::vector<std::uint32_t> receivers;      // hosts; empty: poisson, rpc all; else the senders
  NicPairs nic_pairs = NicPairs::kSameRail;
  std::uint32_t min_switches = 1;        // between a sender and a receiver, on a shortest path
  Duration stop = Duration::infinite();  // no message begins behind it, and none of a stream is due
  Duration settle = 10_ms;               // receivers wait so much longer for what is on its way
  std::vector<ListedFlow> flows;         // list, file
  SizeSettings size{1_MB, 1_MB};
  FlowService service = FlowService::kRc;
  FlowOp op = FlowOp::kWrite;
  std::optional<std::uint8_t> dscp;  // of its queue pairs; null: that of programs that set no traffic class
  Bytes message_size{};              // zero: one message per queue pair
  std::uint32_t qps = 1;             // queue pairs that a flow's messages go over in turn
  QueuePairs queue_pairs = QueuePairs::kAhead;
  Duration start{}, jitter = 1_us;  // start + uniform over [0, jitter)
  bool overload = false;            // its links may be offered more than they carry
  std::string during;               // also report the goodput while this other group runs
};

enum class ClockKind : std::uint8_t { kLockstep, kWall };

struct EngineSettings {
  ClockKind clock = ClockKind::kLockstep;
  double pace = 0;      // 0: as fast as it goes; N: at least N times slower than real time
  double dilation = 1;  // wall clock: seconds of the machine's clock per second of experiment
  Duration poll_interval = 10_us;
  std::uint32_t threads = 0;         // of virtual time; 0: as many as the run is worth
  Duration sample_interval = 20_us;  // zero: no samples
  Duration warmup{};                 // flows that start before it are not measured
  Duration measure = Duration::infinite();
  Duration limit = 1_s;             // experiment time after which an unfinished run is ended
  std::uint32_t frames_per_vf = 0;  // zero: computed
};

struct Parameter {
  std::string key, value;  // dotted key as in the file; value in scenario syntax
  friend bool operator==(const Parameter&, const Parameter&) = default;
};

struct PolicySettings {
  SwitchPolicies policies;
  std::vector<std::string> keys;  // by source: the key that names it
  std::vector<std::string> warnings;
};

struct Settings {
  std::string label;
  Topology topology;
  std::vector<LinkEvent> link_events;  // in the order of time
  PolicySettings policies;
  std::vector<NodeClassMap> class_maps;  // of single nodes; of all others: switches.class_map
  SwitchConfig switches;                 // of those in no group; max_frame is filled in with the wire MTU
  std::vector<EcnOfRate> ecn_by_rate;
  std::vector<SwitchGroup> switch_groups;  // disjoint
  NicSettings nic;                         // pfc_enabled and the timers are set
  std::string replay_of;                   // slack.of: a label, or a case of this one
  SlackRates slack_rates;                  // of single hosts; of all others: nic.config.slack.rate
  TimerSettings timers;
  std::vector<WorkloadSettings> workloads;
  EngineSettings engine;
  std::vector<Parameter>
      parameters;     // every key with its resolved value, in the order of docs/reference/scenarios.md
  std::string lists;  // lists of tables (workloads, faults, links ..), which `parameters` have only in part
  std::vector<std::filesystem::path> files;  // that it names
  std::vector<std::string> warnings;         // what is allowed, and hardly meant: a line each, with its place
  std::map<std::string, std::string>
      places;  // where its keys stand: of "switch.escape" for example "t.toml:12:1"
};

struct Comparison {  // a line of summary.json's comparisons
  std::string of, over, metric;
  double paper = 0;  // the paper's number; NaN: none
};

// The group that a switch is in; null: it goes by [switch].
const SwitchGroup* group_of(const Settings& settings, std::uint32_t node);
// The configurations that switches have: that of [switch], then those of the groups.
std::vector<const SwitchConfig*> switch_configs(const Settings& settings);

struct Scenario {
  std::string name, title, file;
  std::vector<std::uint64_t> seeds;
  std::vector<Settings> settings;         // one per label, in the file's order
  std::vector<std::string> known_labels;  // what `transport` may name: presets, and the file's [[label]]s
  std::vector<Comparison> comparisons;
};

using Override =
    std::pair<std::string, std::string>;  // --set key=value: dotted key, TOML value (a bare word is a string)

// Throws ScenarioError. `overrides` apply last, to every label.
Scenario read_scenario(const std::filesystem::path& file, const std::vector<Override>& overrides = {});
// The same from text; `name` stands for the file in messages.
Scenario parse_scenario(const std::string& text, const std::string& name,
                        const std::vector<Override>& overrides = {});

}  // namespace rocelab
