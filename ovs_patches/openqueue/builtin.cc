#include "ovs_patches/openqueue/builtin.h"

#include <algorithm>

namespace rocelab {

std::string problem_of_builtin(const SwitchConfig& config) {
  if (config.shared_pool > 0_B && config.alpha_lossy > 0)
    return "the dynamic threshold of shared_pool counts lossless frames, which a program does not see: set "
           "alpha_lossy = 0";
  return {};
}

// ClassScheduler's law as a turn: who is alone pays nothing, a paused class keeps its deficit, an empty one
// loses it.
std::string builtin_policy(const SwitchConfig& config) {
  const auto lossless = [&](std::size_t tc) { return config.pfc.enabled && config.classes[tc].lossless; };
  const auto strict = [&](std::size_t tc) { return config.classes[tc].selection == Selection::kStrict; };
  int lightest = 0xffff;
  bool any_strict = false, any_ets = false;
  for (std::size_t tc = 0; tc < kTrafficClasses; ++tc) {
    (strict(tc) ? any_strict : any_ets) = true;
    if (!strict(tc)) lightest = std::min<int>(lightest, config.classes[tc].weight);
  }
  std::string text = "const limit = " + std::to_string(config.egress_limit.count()) + "B;\n";
  if (any_ets)
    text +=
        "turn dwrr(q) {\n"
        "  enter: modify(q.schedState := q.schedState + q.quantum);\n"
        "  serve when wire(q.hol.size) <= q.schedState;\n"
        "  after: modify(q.schedState := q.schedState - wire(packet.size));\n"
        "  empty: modify(q.schedState := 0B);\n"
        "}\n";
  if (any_strict) text += "higher(q1, q2) = q1.index > q2.index;\n";
  text += "on every port {\n  q[0..7] = Queue(limit);\n  out = Port(100%, q[*]);\n  q[*].procPrio = fifo;\n";
  for (std::size_t tc = 0; tc < kTrafficClasses; ++tc) {
    const std::string queue = "  q[" + std::to_string(tc) + "].";
    if (!lossless(tc))
      text.append(queue).append("congestion = tailDrop;").append(queue).append("dropFirst = newest;\n");
    if (strict(tc)) {
      text += queue + "strict = 1;\n";
    } else {
      const std::int64_t quantum =
          (wire_bytes(config.max_frame).count() * config.classes[tc].weight + lightest - 1) / lightest;
      text += queue + "quantum = " + std::to_string(quantum) + "B;\n";
    }
  }
  text += std::string("  out.schedPrio = ") +
          (any_strict && any_ets ? "strict higher then dwrr"
           : any_strict          ? "higher"
                                 : "dwrr") +
          ";\n  select { else -> q[packet.class]; }\n}\n";
  return text;
}

}  // namespace rocelab
