// [irn.rc3]: RC3's low-priority loop (Mittal, chapter 2), and what it does not go with.
#include <algorithm>

#include "emu/runner/readers.h"
#include "irn_provider/cc/aimd.h"

namespace rocelab {
namespace {

constexpr std::int64_t kMostPackets = 1 << 30;

// Levels by class: each is served behind, and dropped before, those above it.
void read_levels(ConfigSection& section, NicConfig& config) {
  Rc3Config& rc3 = config.rc3;
  const std::vector<std::int64_t> classes = section.integers("classes", {3, 2, 1, 0}, 0, kTrafficClasses - 1);
  if (classes.size() < 2 || classes.size() > Rc3Config::kMostLevels)
    section.fail_at("classes", "has TCP's class, and those of 1 to 4 lower levels behind it");
  if (std::ranges::adjacent_find(classes, std::less_equal{}) != classes.end())
    section.fail_at("classes", "must fall: each level's packets give way to those of the levels before it");
  rc3.levels = static_cast<std::uint8_t>(classes.size());
  for (std::size_t level = 0; level < classes.size(); ++level) {
    const Tc tc{static_cast<std::uint8_t>(classes[level])};
    const std::optional<std::uint8_t> dscp = config.class_map.dscp_of(tc);
    if (!dscp)
      section.fail_at("classes", "names class " + std::to_string(tc.value) +
                                     ", which no DSCP reaches: give it one in classes.dscp");
    if (tc.value == config.cnp_tc().value)
      section.fail_at("classes", "names class " + std::to_string(tc.value) +
                                     ", that of CNPs, which wait for no data: choose another one");
    if ((config.strict_classes >> tc.value & 1) == 0)
      section.fail_at("classes",
                      "names class " + std::to_string(tc.value) +
                          ", which is not in nic.strict_classes: levels are served by strict priority");
    rc3.dscp[level] = *dscp;
  }
  // DSCP 26, of programs that set no traffic class, is of class 3 already.
  if (config.roce_tc().value != classes[0]) config.roce_dscp = rc3.dscp[0];
  rc3.dscp[0] = config.roce_dscp;
}

// Answers and READs of a level below TCP's would be taken for those of the second loop.
void refuse_levels_elsewhere(ConfigSection& section, const NicConfig& config) {
  const Rc3Config& rc3 = config.rc3;
  for (const auto& [dscp, what] : {std::pair(config.ack_dscp, "ack"), std::pair(config.read_dscp, "read")})
    for (std::size_t level = 1; level < rc3.levels; ++level)
      if (dscp == rc3.dscp[level])
        section.fail_at("classes", "names the class of nic." + std::string(what) +
                                       "_class below TCP's: packets of "
                                       "these levels belong to the low-priority loop");
}

void read_lengths(ConfigSection& section, Rc3Config& rc3) {
  const std::size_t lower = rc3.levels - 1u;
  const std::vector<std::int64_t> packets =
      section.integers("packets", std::vector<std::int64_t>(rc3.packets.begin(), rc3.packets.begin() + lower),
                       1, kMostPackets);
  if (packets.size() != lower)
    section.fail_at("packets", "must have one number for each level below TCP's: " + std::to_string(lower));
  std::ranges::transform(packets, rc3.packets.begin(),
                         [](std::int64_t n) { return static_cast<std::uint32_t>(n); });
}

}  // namespace

void read_rc3(ConfigSection section, bool computed_cap, NicConfig& config) {
  const bool enabled = section.boolean("enabled", false);
  if (!enabled && !section.has("classes") && !section.has("packets")) return section.finish();
  NicConfig read = config;
  read_levels(section, read);
  refuse_levels_elsewhere(section, read);
  read_lengths(section, read.rc3);
  section.finish();
  if (!enabled) return;
  const auto refuse = [&](const std::string& why) { section.fail_at("enabled", "= true " + why); };
  if (config.mode != TransportMode::kIrn) refuse("is of mode \"irn\": go-back-N takes nothing out of order");
  if (!config.irn.tcp)
    refuse("needs irn.loss_recovery = \"tcp\", beside which the low-priority loop runs: see the label rc3");
  if (computed_cap || config.irn.bdp_cap > 0)
    refuse("needs irn.bdp_cap = 0: what is sent ahead lies beyond any window");
  if (config.pfc_enabled)
    refuse("does not go with PFC: what it sends at lower priorities is meant to be dropped");
  if (config.cc.chosen() && config.cc.get<Aimd>() == nullptr)
    refuse("goes with congestion_control.name = \"aimd\" only, by which TCP's window is ruled");
  config = read;
}

}  // namespace rocelab
