#include "ovs_patches/switch_model/switch_config.h"

#include <cmath>

#include "base/wire/pfc.h"
#include "ovs_patches/switch_model/headroom.h"
#include "ovs_patches/switch_model/level_order.h"

namespace rocelab {
namespace {

std::string problem_of_ecn(const EcnConfig& ecn) {
  if (!ecn.enabled) return {};
  if (ecn.k_min < 0_B || ecn.k_max < ecn.k_min) {
    return "ECN K_min " + to_string(ecn.k_min) + " and K_max " + to_string(ecn.k_max) +
           ", need 0 <= K_min <= K_max";
  }
  if (!(ecn.p_max >= 0 && ecn.p_max <= 1)) return "ECN P_max is not a probability";
  if (!(ecn.average > 0 && ecn.average <= 1)) return "ECN average is no weight above 0, up to 1";
  return {};
}

std::string problem_of_class(int tc, const ClassConfig& c, Bytes max_frame) {
  const std::string who = "class " + std::to_string(tc) + ": ";
  if (c.weight < 1) return who + "ETS weight 0, give at least 1";
  if (c.order == QueueOrder::kRoundRobin) return who + "round robin holds for all classes: set queue_order";
  if (c.egress_max < 0_B || (c.egress_max > 0_B && c.egress_max < max_frame))
    return who + "egress_max " + to_string(c.egress_max) + " holds no frame of " + to_string(max_frame);
  const std::string problem = problem_of_ecn(c.ecn);
  return problem.empty() ? "" : who + problem;
}

// A refresh must reach the peer before the pause that it prolongs has run out, though it may wait for one
// maximum frame.
std::string problem_of_refresh(const SwitchConfig& config, const PortConfig& link) {
  const Duration pause = pause_duration(config.pfc.quanta, link.rate);
  if (pause - pause * config.pfc.refresh_percent / 100 >= wire_time(config.max_frame, link.rate)) return {};
  return "PFC quanta " + std::to_string(config.pfc.quanta) +
         " run out before a refresh can arrive, raise pfc.quanta or lower pfc.refresh_percent";
}

std::string problem_of_thresholds(const SwitchConfig& config, const PortConfig& link) {
  const PfcThresholds t = thresholds_for(config, link);
  const std::string sum = "buffer " + to_string(config.ingress_buffer) + ", headroom " +
                          to_string(t.headroom) + ", XOFF " + to_string(t.xoff) + ", XON " + to_string(t.xon);
  if (const Bytes least = least_ingress_buffer(config, link); config.ingress_buffer < least) {
    return sum + ": the ingress buffer is too small for a " + to_string(link.rate) + ", " +
           to_string(link.delay) + " link, need at least " + to_string(least);
  }
  if (t.xon < 0_B || t.xon > t.xoff)
    return sum + ": need 0 <= XON <= XOFF, raise pfc.xoff or lower pfc.xon (pfc.xon_frames)";
  return problem_of_refresh(config, link);
}

std::string problem_of_port(const SwitchConfig& config, const PortConfig& link) {
  if (link.rate <= 0_bps) return "rate " + to_string(link.rate) + ", need more than 0";
  if (link.delay < 0_ps) return "delay " + to_string(link.delay) + ", need at least 0";
  if (const std::string problem = problem_of_ecn(link.ecn); !problem.empty()) return problem;
  if (!config.pfc.enabled) return {};
  for (const ClassConfig& c : config.classes) {
    if (c.lossless) return problem_of_thresholds(config, link);
  }
  return {};
}

std::string problem_of_orders(const SwitchConfig& config) {
  if (config.queue_order != QueueOrder::kFifo && config.queue_order != QueueOrder::kRoundRobin)
    return "queue_order is FIFO or round robin: other orders are of a class";
  for (int tc = 0; tc < kTrafficClasses; ++tc) {
    const ClassConfig& c = config.classes[tc];
    const std::string who = "class " + std::to_string(tc) + ": ";
    if (c.queues < 1 || c.queues > LevelOrder::kMostLevels)
      return who + "SP-PIFO has 1 to " + std::to_string(LevelOrder::kMostLevels) + " queues";
    if (c.preempt && c.order != QueueOrder::kRanked) return who + "preemption is by ranks: order ranked";
    if (c.preempt && config.pfc.enabled && c.lossless)
      return who + "preemption is of lossy classes: a pause lets the frame on the wire end";
    if (c.preempt && config.port_buffer > 0_B)
      return who + "with preemption frames on the wire are in their queues, which a port_buffer may clear";
    if (c.order == QueueOrder::kFifo && c.full == FullRule::kRefuse) continue;
    if (config.queue_order == QueueOrder::kRoundRobin)
      return who + "its order excludes the switch's round robin";
    if (c.full == FullRule::kRefuse) continue;
    if (config.pfc.enabled && c.lossless) return who + "a lossless frame is never pushed out";
    if (config.input_buffered || (config.shared_pool > 0_B && config.alpha_lossy > 0))
      return who + "frames are pushed out by the limit of a queue: no input_buffered, and alpha_lossy = 0";
  }
  return {};
}

std::string problem_of_port_buffer(const SwitchConfig& config) {
  if (config.port_buffer == 0_B)
    return config.port_rule == PortRule::kRefuse ? "" : "pushing out lower classes needs a port_buffer";
  if (config.port_buffer < config.longest_frame())
    return "port_buffer " + to_string(config.port_buffer) + " holds no frame of " +
           to_string(config.longest_frame());
  if (config.input_buffered || (config.shared_pool > 0_B && config.alpha_lossy > 0))
    return "port_buffer limits lossy frames at egress: no input_buffered, and alpha_lossy = 0";
  if (config.port_rule != PortRule::kRefuse && config.queue_order == QueueOrder::kRoundRobin)
    return "frames of a round-robin queue are not pushed out: use another queue_order or refuse them";
  return {};
}

std::string problem_of_switch(const SwitchConfig& config) {
  if (config.max_frame < 128_B || config.max_frame > 65535_B)
    return "max_frame " + to_string(config.max_frame) + ", need 128 B to 65535 B";
  if (config.shared_pool < 0_B || config.egress_limit < 0_B || config.input_buffer < 0_B)
    return "a buffer size is negative";
  if (config.shared_pool > 0_B &&
      !(config.alpha_lossless > 0 && config.alpha_lossy >= 0 && std::isfinite(config.alpha_lossless) &&
        std::isfinite(config.alpha_lossy))) {
    return "shared_pool needs alpha_lossless above 0 and alpha_lossy of at least 0";
  }
  if (config.input_buffered && config.shared_pool > 0_B)
    return "input_buffered has no shared pool, set shared_pool to 0";
  if (config.pfc.enabled &&
      (config.pfc.quanta == 0 || config.pfc.refresh_percent < 1 || config.pfc.refresh_percent > 99)) {
    return "PFC quanta must be at least 1 and refresh_percent 1 to 99";
  }
  if (config.pfc.response_time < 0_ps && config.pfc.response_time != kOneMaxFrame)
    return "PFC response time is negative";
  if (std::string problem = problem_of_orders(config); !problem.empty()) return problem;
  if (std::string problem = problem_of_port_buffer(config); !problem.empty()) return problem;
  for (const auto tc : config.class_map.classes) {
    if (tc >= kTrafficClasses && tc != ClassMap::kUnknown)
      return "the DSCP map names class " + std::to_string(tc) + ", there are 0 to 7";
  }
  for (int tc = 0; tc < kTrafficClasses; ++tc) {
    if (std::string problem = problem_of_class(tc, config.classes[tc], config.longest_frame());
        !problem.empty())
      return problem;
  }
  return {};
}

}  // namespace

std::string problem_of(const MechanismType& type, const SwitchConfig& config,
                       std::span<const PortConfig> ports) {
  const void* params = config.mechanisms.of(type);
  const auto text = [&](const SchemaProblem& problem) {
    return section_of(type) + (problem.key.empty() ? "" : ".") + std::string(problem.key) + " " + problem.why;
  };
  for (const Field& field : type.fields())
    if (!in_bounds(field, field.get(params)) && (field.word.empty() || field.get(params) != field.word_value))
      return text({field.key, "is out of bounds"});
  if (const auto problem = type.problem_of(params)) return text(*problem);
  if (const auto problem = type.problem_beside(params, config)) return text(*problem);
  return type.problem_in(params, config, ports);
}

std::string problem_of(const SwitchConfig& config, std::span<const PortConfig> ports) {
  if (ports.empty() || ports.size() > kMaxSwitchPorts) {
    return std::to_string(ports.size()) + " ports, a switch has 1 to " + std::to_string(kMaxSwitchPorts);
  }
  if (std::string problem = problem_of_switch(config); !problem.empty()) return problem;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (std::string problem = problem_of_port(config, ports[i]); !problem.empty())
      return "port " + std::to_string(i) + ": " + problem;
  }
  for (const MechanismType& type : mechanism_types())
    if (std::string problem = problem_of(type, config, ports); !problem.empty()) return problem;
  return {};
}

}  // namespace rocelab
