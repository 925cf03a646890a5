#include "ovs_patches/switch_model/mechanisms/rocc.h"

#include <algorithm>
#include <string>

#include "base/wire/controls.h"
#include "ovs_patches/switch_model/counters.h"
#include "ovs_patches/switch_model/mechanisms/feedback.h"
#include "ovs_patches/switch_model/queue.h"
#include "ovs_patches/switch_model/switch_config.h"

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
    field<&RoccSettings::f_first>(
        "f_first",
        "fair rate before the first T, from which it climbs while nothing waits; `f_max`: the "
        "link's")
        .or_word("f_max"),
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

std::string problem_of_law(const RoccParams& p) {
  if (p.period <= 0_ps) return "RoCC period T " + to_string(p.period) + ", need more than 0";
  if (p.delta_q <= 0_B || p.delta_f <= 0_bps) return "RoCC Delta^Q and Delta^F must be more than 0";
  if (!(0_B < p.q_ref && p.q_ref < p.q_mid && p.q_mid < p.q_max)) {  // 3.3.2, I
    return "RoCC Q_ref " + to_string(p.q_ref) + ", Q_mid " + to_string(p.q_mid) + ", Q_max " +
           to_string(p.q_max) + ", need 0 < Q_ref < Q_mid < Q_max";
  }
  if (p.f_min < p.delta_f || p.f_max < p.f_min) {
    return "RoCC F_min " + to_string(p.f_min) + " and F_max " + to_string(p.f_max) +
           ", need Delta^F <= F_min <= F_max";
  }
  if (p.f_first && (*p.f_first < 0_bps || *p.f_first > p.f_max))
    return "RoCC F_first " + to_string(*p.f_first) + ", need 0 <= F_first <= F_max";
  constexpr double kMostGain = 1e6;
  constexpr std::int64_t kMostUnits = std::int64_t{1} << 30;  // of F, beside its fraction in 64 bits
  if (p.f_max.bps() / p.delta_f.bps() > kMostUnits) return "RoCC Delta^F is too small for its F_max";
  if (!(p.alpha >= 0 && p.alpha <= kMostGain && p.beta >= 0 && p.beta <= kMostGain))
    return "RoCC alpha and beta must be 0 to 1e6";
  return {};
}

// 3.3.6: what the CNPs of the hosts' forms can name.
std::string problem_of_report(const RoccParams& p) {
  if (rocc_values(p).fit_cnp()) return {};
  return "RoCC's rates are computed at the host, and a CNP cannot name these values: F_min " +
         to_string(p.f_min) + " and F_max " + to_string(p.f_max) + " must be multiples of Delta^F " +
         to_string(p.delta_f) + ", the gains below 65536";
}

// Checks the parameters that all congestion points of a switch have in common.
std::string problem_of_points(const RoccSwitchParams& rocc, const SwitchConfig& config) {
  const RoccFlowTableParams& table = rocc.table;
  if (rocc.form != RoccForm::kRate && rocc.points.f_first)
    return "RoCC's F_first is the switch's, and here hosts compute F: leave f_first out";
  if (rocc.classes == 0 || rocc.dscp > 63) return "RoCC needs a class, and a DSCP of 6 bits";
  const std::uint8_t cnp_tc = config.class_map.of(rocc.dscp).value;
  if (cnp_tc < kTrafficClasses && config.pfc.enabled && config.classes[cnp_tc].lossless)
    return "RoCC's CNPs would be of the lossless class " + std::to_string(cnp_tc) + ": give them a lossy one";
  if (!(table.sampling > 0 && table.sampling <= 1) || table.max_age <= 0_ps || table.entries > 1'000'000)
    return "RoCC's flow table: sampling must be above 0 up to 1, the age more than 0, at most 1e6 entries";
  return {};
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
  p.f_first = f_first;
  p.alpha = alpha.value_or(p.alpha);
  p.beta = beta.value_or(p.beta);
  return p;
}

Schema<RoccSettings> RoccMechanism::point_schema() { return kPoints; }
Schema<RoccFlowTableParams> RoccMechanism::table_schema() { return kTable; }

std::string RoccMechanism::problem_in(const Params& rocc, const SwitchConfig& config,
                                      std::span<const PortConfig> ports) {
  if (std::string problem = problem_of_points(rocc, config); !problem.empty()) return problem;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const RoccParams params = rocc.points.params(ports[i].rate);
    std::string problem = problem_of_law(params);
    if (problem.empty() && rocc.form != RoccForm::kRate) problem = problem_of_report(params);
    if (!problem.empty()) return "port " + std::to_string(i) + ": " + problem;
  }
  return {};
}

RoccMechanism::RoccMechanism(const Params& rocc, SwitchActions actions, Rng rng)
    : params_(rocc), actions_(actions), ports_(actions.ports()) {
  for (std::uint16_t p = 0; p < ports_.size(); ++p) {
    const RoccParams params = rocc.points.params(actions_.port(PortId{p}).rate);
    const auto most = static_cast<std::uint32_t>(params.f_max.bps() / params.f_min.bps());
    for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc) {
      if ((rocc.classes >> tc & 1) == 0) continue;
      const Rng own = rng.fork(std::to_string(p)).fork(std::to_string(tc));
      ports_[p].points.push_back({Tc{tc}, RoccCp(params), make_rocc_flow_table(rocc.table, most, own)});
      ports_[p].wants |= bit_of(Tc{tc});
    }
    actions_.watch(PortId{p}, ports_[p].wants);
  }
}

// A frame joins: a congestion point at rest begins to work at the next multiple of T, as if it had never
// rested. A flow table that counts frames sees all of them; the default one costs nothing from then on.
void RoccMechanism::on_enqueue(PortId out, PortId in, const Packet& packet, Time now) {
  Port& port = ports_[out.value];
  for (CongestionPoint& point : port.points) {
    if (point.tc != packet.tc) continue;
    if (point.flows->wants_frames()) {
      if (draws_feedback(packet)) point.flows->on_frame(flow_of(packet, in), now);
    } else {
      port.wants = static_cast<TcMask>(port.wants & ~bit_of(packet.tc));
      actions_.watch(out, port.wants);
    }
    if (!point.next.is_never()) return;
    const Duration period = point.cp.params().period;
    const std::int64_t over = (now - Time::zero()) / period;
    for (std::int64_t n = over; n > 0 && !point.cp.unlimited(); --n) point.cp.update(0_B);  // from F_first
    point.next = Time::zero() + period * (over + 1);
    port.next = std::min(port.next, point.next);
    actions_.set_timer(out);
    return;
  }
}

void RoccMechanism::on_timeout(PortId port_id, Time now) {
  Port& port = ports_[port_id.value];
  port.next = Time::never();
  for (CongestionPoint& point : port.points) {
    if (point.next <= now) run_period(port_id, point, now);
    port.next = std::min(port.next, point.next);
  }
}

void RoccMechanism::run_period(PortId port_id, CongestionPoint& point, Time now) {
  SwitchPortCounters& counters = actions_.counters(port_id);
  const Bytes length = actions_.queued(port_id, point.tc);
  const bool computes = params_.form == RoccForm::kRate;
  const bool tells = !computes || updates(point, length);
  const std::uint64_t before = counters.rocc_cnps;
  const std::size_t told = tells ? notify_flows(port_id, point, length, now) : 0;
  actions_.trace({.time = now,
                  .kind = TraceKind::kFairRate,
                  .mark = point.tc.value,
                  .port = port_id.value,
                  .flow = static_cast<std::uint32_t>(counters.rocc_cnps - before),
                  .bytes = computes ? static_cast<std::uint64_t>(point.cp.rate().bps()) : 0,
                  .psn = static_cast<std::uint32_t>(length.count())});
  // A point that does not know F works as long as there is somebody to tell; ElephantTrap never forgets.
  const bool nobody = told == 0 || params_.table.kind == RoccFlowTableKind::kElephantTrap;
  const bool rests = length == 0_B && (computes ? point.cp.unlimited() : nobody);
  point.next = rests ? Time::never() : point.next + point.cp.params().period;
  if (!rests) return;
  Port& port = ports_[port_id.value];
  port.wants |= bit_of(point.tc);
  actions_.watch(port_id, port.wants);
}

// While F was and is F_max this port holds nobody back, and there is nothing to tell.
bool RoccMechanism::updates(CongestionPoint& point, Bytes length) {
  const bool was_unlimited = point.cp.unlimited();
  point.cp.update(length);
  return !was_unlimited || !point.cp.unlimited();
}

// How many it told.
std::size_t RoccMechanism::notify_flows(PortId port, CongestionPoint& point, Bytes length, Time now) {
  if (point.flows->wants_queue()) {
    actions_.queues().for_each(port, point.tc, [&](const Packet& packet, PortId in) {
      if (draws_feedback(packet)) point.flows->on_queued(flow_of(packet, in));
    });
  }
  const RoccForm form = params_.form;
  RoccReport report{form, 0, 0, {}};
  if (form != RoccForm::kRate) {
    const std::int64_t units = std::min<std::int64_t>(point.cp.units_of(length), 0xffffffff);
    report.q_cur = static_cast<std::uint32_t>(units);
    report.period = static_cast<std::uint32_t>((now - Time::zero()) / point.cp.params().period);
    report.values = point.cp.values();
  }
  const RoccFeedback feedback(actions_.port(port).cp_address, point.cp.units(), Qpn{}, report);
  const std::vector<SwitchFlow>& flows = point.flows->take(now);
  for (const SwitchFlow& flow : flows) send_cnp(port, flow, feedback, now);
  return flows.size();
}

// The paper lets CNPs be lost (3.3.5).
void RoccMechanism::send_cnp(PortId port, const SwitchFlow& flow, RoccFeedback feedback, Time now) {
  feedback.dest = flow.dest;
  ++actions_.counters(port).rocc_cnps;
  send_feedback(actions_, port, flow, feedback, params_.dscp, now);
}

}  // namespace rocelab
