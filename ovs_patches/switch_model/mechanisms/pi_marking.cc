#include "ovs_patches/switch_model/mechanisms/pi_marking.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace rocelab {
namespace {

constexpr std::string_view kForms[] = {"integral", "direct"};

constexpr auto kFields = fields(
    field<&PiMarkingParams::period>("period", "T: time between two changes of a queue's probability")
        .positive(),
    field<&PiMarkingParams::delta_q>("delta_q", "unit of lengths").positive(),
    field<&PiMarkingParams::q_ref>("q_ref", "length at which the probability rests").positive(),
    field<&PiMarkingParams::q_max>("q_max", "beyond it frames are marked with `p_max`").positive(),
    field<&PiMarkingParams::alpha>("alpha", "gain on the distance to `q_ref`, probability per `delta_q`")
        .within(0, 1),
    field<&PiMarkingParams::beta>("beta", "gain on the growth within T").within(0, 1),
    field<&PiMarkingParams::p_max>("p_max", "the most").within(0, 1),
    choice<&PiMarkingParams::form>(
        "form", kForms,
        "what the two gains make: `integral`: the change of the probability; `direct`: the probability"));

}  // namespace

Schema<PiMarkingParams> PiMarkingMechanism::schema() { return kFields; }

void PiMarkingMechanism::follow(Params& params, std::string_view congestion_control,
                                std::string_view /*preset*/) {
  params.enabled = congestion_control == "dcqcn-pi";
}

std::optional<SchemaProblem> PiMarkingMechanism::problem_of(const Params& params) {
  if (params.q_max <= params.q_ref) return SchemaProblem{"q_max", "must be more than q_ref"};
  return std::nullopt;
}

PiMarkingMechanism::PiMarkingMechanism(const Params& params, SwitchActions actions, Rng rng)
    : params_(params), actions_(actions), rng_(rng), ports_(actions.ports()) {
  for (std::uint16_t p = 0; p < actions_.ports(); ++p) actions_.watch(PortId{p}, static_cast<TcMask>(~0));
}

PiMarkingMechanism::Point& PiMarkingMechanism::point_of(PortId out, Tc tc) {
  std::unique_ptr<Point>& point = ports_[out.value].points[tc.value];
  if (point == nullptr)
    point = std::make_unique<Point>(
        Point{PiMarking(params_), rng_.fork(std::to_string(out.value)).fork(std::to_string(tc.value))});
  return *point;
}

// As for the thresholds of [switch.ecn], frames count that can be marked and are not (RFC 3168, section 5). A
// point at rest begins to work at the next multiple of T, as if it had never rested.
void PiMarkingMechanism::on_enqueue(PortId out, PortId in, Packet& packet, Time now) {
  if (packet.ecn != Ecn::kEct0 && packet.ecn != Ecn::kEct1) return;
  Point& point = point_of(out, packet.tc);
  if (point.next.is_never()) {
    point.next = Time::zero() + params_.period * ((now - Time::zero()) / params_.period + 1);
    Port& port = ports_[out.value];
    port.next = std::min(port.next, point.next);
    actions_.set_timer(out);
  }
  const double p = point.pi.probability();
  if (p > 0 && point.rng.bernoulli(p)) actions_.mark(out, in, packet, actions_.queued(out, packet.tc), now);
}

void PiMarkingMechanism::on_timeout(PortId port_id, Time now) {
  Port& port = ports_[port_id.value];
  port.next = Time::never();
  for (std::uint8_t n = 0; n < kTrafficClasses; ++n) {
    Point* point = port.points[n].get();
    if (point == nullptr) continue;
    if (point->next <= now) {
      point->pi.update(actions_.queued(port_id, Tc{n}));
      point->next = point->pi.rests() ? Time::never() : point->next + params_.period;
    }
    port.next = std::min(port.next, point->next);
  }
}

}  // namespace rocelab
