// [irn] and [timers]: how losses are recovered.
#include "emu/runner/formula.h"
#include "emu/runner/readers.h"
#include "emu/runner/schema_reader.h"

namespace rocelab {
namespace {

constexpr std::string_view kTimerKinds[] = {"static", "dynamic"};
constexpr std::string_view kTimeouts[] = {"auto", "on", "off"};
constexpr std::string_view kRestarts[] = {"progress", "any-ack"};
constexpr std::string_view kRecoveries[] = {"irn", "tcp"};
constexpr std::string_view kFloors[] = {"rto_high", "rto_low"};
constexpr auto kIrn = fields(
    field<&IrnConfig::sack>(
        "sack", "selective retransmission by a bitmap of what has arrived; a switch of the factor analysis"),
    field<&IrnConfig::go_back_n>("go_back_n",
                                 "a loss is answered by all from it on; a switch of the factor analysis"),
    choice<&IrnConfig::dynamic_rto>(
        "rto", kTimerKinds,
        "`dynamic`: computed from RTTs (RFC 6298), at first rto_high and at least rto_low"),
    choice<&IrnConfig::tcp>("loss_recovery", kRecoveries,
                            "`tcp`: RFC 6675 with a dynamic timer of at least rto_high, iWARP's transport "
                            "together with `aimd` and its preset `tcp`, see the label `iwarp`"),
    choice<&IrnConfig::tcp_floor_low>("tcp_min_rto", kFloors,
                                      "the least that TCP's timer comes to; it begins with rto_high"),
    field<&IrnConfig::retransmit_fetch>(
        "retransmit_fetch",
        "worst-case overhead of 4.5.3: a resent packet leaves so long after it was found to be lost. The "
        "other one, 16 bytes more in every packet, is what IRN's WRITEs have: a RETH each; READ responses "
        "have none"),
    field<&IrnConfig::nack_threshold>(
        "nack_threshold", "NACKs that start recovery; more for networks that reorder. TCP: at least 3")
        .within(1, 1000),
    field<&IrnConfig::bitmap_packets>("bitmap_packets", "bitmaps where there is no cap").within(64, 1 << 20));

constexpr auto kTimers = fields(
    field<&TimerSettings::rto_high>("rto_high", "also the timeout of RoCE's go-back-N"),
    field<&TimerSettings::rto_low>("rto_low", "RTO_low of IRN").positive(),
    field<&TimerSettings::rto_low_packets>("rto_low_packets",
                                           "RTO_low holds while at most so many packets are in flight")
        .within(0, 1 << 20),
    choice<&TimerSettings::restart_on_any_ack>(
        "rto_restart", kRestarts,
        "what restarts the timers of IRN and go-back-N: cumulative progress, or any ACK or NACK, as in the "
        "IRN chapter's simulator (DEVIATIONS.md#irn)"),
    field<&TimerSettings::verbs_timeout>(
        "verbs_timeout",
        "attribute of the traffic program's queue pairs: 4.096 us x 2^14 = 67 ms. With recovery by the "
        "timers above it only ends a queue pair whose peer is gone")
        .within(1, 31),
    field<&TimerSettings::verbs_retry_cnt>("verbs_retry_cnt", "likewise: 7 are eight tries").within(0, 7),
    choice<&TimerSettings::timeouts>(
        "timeouts", kTimeouts,
        "`auto` is off where PFC keeps every frame. It is on without PFC, and with PFC where frames are lost "
        "all the same: a link drops or damages them (`[[fault]]`, `topology.drop_rate`, the error rate of a "
        "topology file) or fails (`[[link_event]]`), Loop Breaker, the watchdog's `drop` or an `egress_max` "
        "drops them, or DSCP 26, a workload, acknowledgements or READs are of a class that is not lossless. "
        "Without these timers only the verbs timeout finds that a message's last packets were lost, 67 ms "
        "later"));

std::optional<SchemaProblem> problem_of(const IrnConfig& irn) {
  if (irn.tcp && (irn.go_back_n || !irn.sack))
    return SchemaProblem{"loss_recovery", "= \"tcp\" goes with neither go_back_n nor sack = false"};
  if (irn.tcp && irn.retransmit_fetch != Duration{})
    return SchemaProblem{"retransmit_fetch",
                         "is a cost of IRN's recovery: it has no meaning with loss_recovery = \"tcp\""};
  return std::nullopt;
}

std::optional<SchemaProblem> problem_of(const TimerSettings& timers) {
  if (timers.rto_high < timers.rto_low) return SchemaProblem{"rto_high", "is less than rto_low"};
  return std::nullopt;
}

void read_bdp_cap(ConfigSection& section, NicSettings& nic) {
  IrnConfig& c = nic.config.irn;
  nic.compute_bdp_cap = section.is_word("bdp_cap", "computed", !section.has("bdp_cap"));
  if (nic.compute_bdp_cap) {
    c.bdp_cap = 0;
  } else if (!section.is_word("bdp_cap", "paper", false)) {  // 110, which c.bdp_cap holds already: 4.3.1
    if (section.node("bdp_cap")->kind == ConfigNode::Kind::kString)
      section.fail_at("bdp_cap", "is \"computed\", \"paper\" (110) or a number of packets, 0 for none");
    c.bdp_cap = static_cast<std::uint32_t>(section.integer("bdp_cap", 0, 0, kMostBdpCap));
  }
}

}  // namespace

Schema<IrnConfig> irn_schema() { return kIrn; }
Schema<TimerSettings> timer_schema() { return kTimers; }

void read_irn(ConfigSection& section, NicSettings& nic) {
  read_bdp_cap(section, nic);
  read_schema(section, irn_schema(), nic.config.irn);
  read_rc3(section.table("rc3"), nic.compute_bdp_cap, nic.config);
  section.finish();
  refuse_problem(section, problem_of(nic.config.irn));
}

TimerSettings read_timers(ConfigSection section, bool lossy) {
  TimerSettings timers;
  read_schema(section, timer_schema(), timers);
  timers.recovery = timers.timeouts == Timeouts::kOn ||
                    (timers.timeouts == Timeouts::kAuto && lossy);  // 4.3.1: off when PFC is on
  section.resolve("timeouts", timers.recovery ? "\"on\"" : "\"off\"");
  section.finish();
  refuse_problem(section, problem_of(timers));
  return timers;
}

}  // namespace rocelab
