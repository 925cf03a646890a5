// [classes]: which traffic class a DSCP is of, for NICs and switches alike; and what is worth a word about
// classes that other tables name.
#include <charconv>
#include <optional>

#include "emu/runner/identity.h"
#include "emu/runner/readers.h"

namespace rocelab {
namespace {

// As it is written: "7" is one, "07" and "AF31" are none.
std::optional<std::uint8_t> dscp_of(const std::string& key) {
  std::uint8_t dscp = 0;
  const char* const end = key.data() + key.size();
  const auto [behind, error] = std::from_chars(key.data(), end, dscp);
  if (error != std::errc() || behind != end || dscp >= kDscps || std::to_string(dscp) != key)
    return std::nullopt;
  return dscp;
}

}  // namespace

ClassMap read_class_map(ConfigSection section) {
  ClassMap map;
  const ConfigNode* node = section.node("dscp");
  ConfigSection dscps = section.table("dscp");
  if (node != nullptr)
    for (const auto& [key, value] : node->members) {
      const auto dscp = dscp_of(key);
      if (!dscp) dscps.fail_at(key, "is no DSCP: write for example classes.dscp = { 34 = 3 }, of 0 to 63");
      map.classes[*dscp] = static_cast<std::uint8_t>(dscps.integer(key, 0, 0, kTrafficClasses - 1));
    }
  dscps.finish();
  section.finish();
  return map;
}

std::vector<std::string> class_warnings(const Settings& s) {
  std::vector<std::string> warnings;
  const SwitchConfig& config = s.switches;
  const NicConfig& nic = s.nic.config;
  const std::string programs = "class " + std::to_string(nic.roce_tc().value) + " (DSCP " +
                               std::to_string(nic.roce_dscp) +
                               "), of programs that set no traffic class, is not in switch.";
  for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc)
    if (config.classes[tc].lossless && config.pfc.enabled && !config.class_map.reaches(Tc{tc}))
      warnings.push_back(place_of(s, "switch.lossless_classes") + ": no DSCP reaches the lossless class " +
                         std::to_string(tc) + ": give it one in classes.dscp");
  if (config.pfc.enabled && !config.classes[nic.roce_tc().value].lossless)
    warnings.push_back(place_of(s, "switch.lossless_classes") + ": " + programs +
                       "lossless_classes: its frames may be dropped although PFC is on");
  if (nic.cc.needs_ecn() && !config.classes[nic.roce_tc().value].ecn.enabled)
    warnings.push_back(place_of(s, "switch.ecn.classes") + ": " + programs +
                       "ecn.classes: its congestion control gets no marks");
  return warnings;
}

}  // namespace rocelab
