#include "ovs_patches/switch_model/mechanisms/capfc.h"

#include <algorithm>

#include "ovs_patches/switch_model/headroom.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {
namespace {

constexpr std::string_view kPolicies[] = {"stop-max", "stop-calibrate"};
constexpr std::string_view kCounts[] = {"frames", "bytes"};
constexpr std::string_view kContributors[] = {"arrivals", "occupancy"};
constexpr std::string_view kFixNames[] = {"skip", "turn", "hairpin"};

constexpr auto kFields = fields(
    field<&CapfcParams::enabled>(
        "enabled", "CaPFC: long egress queues of lossless classes pause the links that fill them"),
    choice<&CapfcParams::policy>(
        "policy", kPolicies,
        "whom a queue at XOFF holds responsible: the port that contributes most, or the "
        "smallest set of ports that contribute `cut` of all"),
    field<&CapfcParams::xoff>(
        "xoff",
        "queue length from which it does. `computed`: so that `class.N.egress_max` is never "
        "exceeded, or half of the ingress XOFF where there is none")
        .positive()
        .or_word("computed", kComputed),
    field<&CapfcParams::xon>("xon", "queue length at which all are released; `computed`: 0.8 `xoff`")
        .at_least(0_B)
        .or_word("computed", kComputed),
    field<&CapfcParams::warn>("warn", "queue length from which arrivals are counted; `computed`: `xon`")
        .at_least(0_B)
        .or_word("computed", kComputed),
    field<&CapfcParams::cut>("cut", "share of all contributions, of `stop-calibrate`").within(0.01, 1),
    choice<&CapfcParams::count>("count", kCounts, "unit of a contribution"),
    choice<&CapfcParams::contributors>("contributors", kContributors,
                                       "a port's contribution: what came from it since the queue was last at "
                                       "`warn` (the paper's), or what of it waits"),
    set_of<&CapfcParams::fixes>(
        "fixes", kFixNames,
        "what the algorithms lack (DEVIATIONS.md#capfc). The paper to the letter: `[]`, "
        "with `count = \"frames\"` and `contributors = \"arrivals\"`"));

constexpr double kXonOfXoff = 0.8;  // table II: 20 of 25 KB

}  // namespace

Schema<CapfcParams> CapfcMechanism::schema() { return kFields; }

std::optional<SchemaProblem> CapfcMechanism::problem_of(const CapfcParams& p) {
  const auto above = [](Bytes a, Bytes b) { return a != kComputed && b != kComputed && a > b; };
  if (above(p.xon, p.warn)) return SchemaProblem{"xon", "is more than warn"};
  if (above(p.warn, p.xoff)) return SchemaProblem{"warn", "is more than xoff"};
  if (above(p.xon, p.xoff)) return SchemaProblem{"xon", "is more than xoff"};
  return std::nullopt;
}

CapfcThresholds CapfcMechanism::thresholds(const CapfcParams& params, const SwitchConfig& config,
                                           std::span<const PortConfig> ports, std::size_t egress, Tc tc) {
  CapfcThresholds at{params.xoff, params.xon, params.warn};
  const Bytes most = config.classes[tc.value].egress_max;
  if (at.xoff == kComputed && most > 0_B) {
    // What each other port can still deliver once it is chosen. Stop-Calibrate leaves ports alone that hold
    // less than 1 - CUT of the queue: they come on top.
    Bytes late;
    for (std::size_t i = 0; i < ports.size(); ++i)
      if (i != egress)
        late += headroom_for(ports[i], config.longest_frame(), response_time_of(config, ports[i]));
    const double paused = params.policy == CapfcPolicy::kStopCalibrate ? params.cut : 1;
    at.xoff = Bytes::from_count(static_cast<std::int64_t>(
                  static_cast<double>((most - config.longest_frame()).count()) * paused)) -
              late;
  } else if (at.xoff == kComputed) {
    at.xoff = Bytes::from_count(thresholds_for(config, ports[egress]).xoff.count() / 2);
  }
  if (at.xon == kComputed)
    at.xon = Bytes::from_count(static_cast<std::int64_t>(static_cast<double>(at.xoff.count()) * kXonOfXoff));
  if (at.warn == kComputed) at.warn = at.xon;
  return at;
}

std::optional<SchemaProblem> CapfcMechanism::problem_beside(const CapfcParams& params,
                                                            const SwitchConfig& config) {
  if (params.xoff == kComputed && config.mechanisms.is_on("pipeline"))
    return SchemaProblem{"xoff", "= \"computed\" knows nothing of frames before a pipeline: give a size"};
  return std::nullopt;
}

std::string CapfcMechanism::problem_in(const CapfcParams& params, const SwitchConfig& config,
                                       std::span<const PortConfig> ports) {
  const auto lossless = [](const ClassConfig& c) { return c.lossless; };
  if (!config.pfc.enabled || std::ranges::none_of(config.classes, lossless))
    return "CaPFC pauses links: it needs PFC and a lossless class";
  if (config.mechanisms.is_on("escape"))
    return "CaPFC and Escape have not been brought together: use one of them";
  for (std::size_t port = 0; port < ports.size(); ++port) {
    for (std::uint8_t n = 0; n < kTrafficClasses; ++n) {
      if (!config.classes[n].lossless) continue;
      const CapfcThresholds at = thresholds(params, config, ports, port, Tc{n});
      const Bytes most = config.classes[n].egress_max;
      const std::string where =
          "port " + std::to_string(port) + ", class " + std::to_string(n) + ": CaPFC's ";
      if (at.xoff < config.longest_frame() && params.xoff == kComputed)
        return where + "computed xoff would be " + to_string(at.xoff) + ": with " +
               std::to_string(ports.size()) + " ports egress_max " + to_string(most) +
               " cannot be kept; raise it, or give capfc.xoff";
      if (at.xon > at.warn || at.warn > at.xoff)
        return where + "thresholds must be xon <= warn <= xoff, and are " + to_string(at.xon) + ", " +
               to_string(at.warn) + ", " + to_string(at.xoff);
      if (most > 0_B && at.xoff >= most)
        return where + "xoff " + to_string(at.xoff) + " is not below egress_max " + to_string(most);
    }
  }
  return {};
}

CapfcMechanism::CapfcMechanism(const CapfcParams& params, SwitchActions actions, Rng)
    : params_(params),
      actions_(actions),
      queues_(actions.ports() * std::size_t{kTrafficClasses}),
      asking_(queues_.size()),
      counters_(actions.ports()) {
  for (std::uint16_t p = 0; p < actions_.ports(); ++p) {
    ports_.push_back(actions_.port(PortId{p}));
    actions_.watch(PortId{p}, actions_.lossless());
    actions_.watch_departures(PortId{p}, actions_.lossless());
  }
}

CapfcQueue& CapfcMechanism::make_queue(PortId out, Tc tc) {
  std::unique_ptr<CapfcQueue>& queue = queues_[index(out, tc)];
  queue = std::make_unique<CapfcQueue>(params_, thresholds(params_, actions_.config(), ports_, out.value, tc),
                                       actions_.ports(), out.value);
  return *queue;
}

void CapfcMechanism::trace(PortId out, std::uint16_t culprit, Tc tc, bool on, Bytes length, Time now) {
  actions_.trace({.time = now,
                  .kind = TraceKind::kCulprit,
                  .mark = tc.value,
                  .port = out.value,
                  .flow = on,
                  .bytes = static_cast<std::uint64_t>(length.count()),
                  .psn = queue(out, tc).count(culprit),
                  .peer = culprit});
}

// The frame is about to join the queue.
void CapfcMechanism::on_enqueue(PortId out, PortId in, const Packet& packet, Time now) {
  const Tc tc = packet.tc;
  const Bytes length = actions_.queued(out, tc) + packet.frame();
  queue(out, tc).on_joined(in.value, packet.frame(), length, [&](std::uint16_t port) {
    ++counters_[port].held_responsible;
    trace(out, port, tc, true, length, now);
    if (asking_[index(PortId{port}, tc)]++ > 0) return;
    ++counters_[port].pauses;
    actions_.pause(PortId{port}, tc, true, now);
  });
}

void CapfcMechanism::on_dequeue(PortId out, PortId in, const Packet& packet, Time now) {
  const Tc tc = packet.tc;
  const Bytes length = actions_.queued(out, tc);
  queue(out, tc).on_left(in.value, packet.frame(), length, [&](std::uint16_t port) {
    ++counters_[port].released;
    trace(out, port, tc, false, length, now);
    if (--asking_[index(PortId{port}, tc)] == 0) actions_.pause(PortId{port}, tc, false, now);
  });
}

}  // namespace rocelab
