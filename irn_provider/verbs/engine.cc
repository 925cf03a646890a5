#include "irn_provider/verbs/engine.h"

#include <unistd.h>

#include <stdexcept>
#include <string_view>

#include "irn_provider/live/join_run.h"
#include "irn_provider/realtime/realtime.h"

namespace rocelab::verbs {
namespace {

// Null: not set, or empty. Not by getenv: bash has one of its own, of its variables.
const char* setting(std::string_view name) {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    if (const std::string_view text = *entry; text.starts_with(name) && text.substr(name.size(), 1) == "=")
      return text.size() > name.size() + 1 ? *entry + name.size() + 1 : nullptr;
  return nullptr;
}

const char* run() { return setting("ROCELAB_SEGMENT"); }

const char* host_in_run() {
  if (const char* name = setting("ROCELAB_HOST")) return name;
  throw std::runtime_error(
      "ROCELAB_SEGMENT is set but ROCELAB_HOST is not; start the program with `rocelab exec`");
}

}  // namespace

bool engine_is_configured() { return run() != nullptr || setting("ROCELAB_INTERFACE") != nullptr; }

std::vector<HostEntry> configured_nics() {
  if (run() != nullptr) return nics_of_run(run(), host_in_run());
  return {direct::host()};
}

std::vector<DeviceView> look_at_devices() {
  if (run() != nullptr) return look_at_run(run(), host_in_run());
  return {direct::look()};
}

LiveProcess* attach_engine() {
  if (!engine_is_configured()) return LiveProcess::attached();
  return LiveProcess::attach(
      [] { return run() != nullptr ? join_run(run(), host_in_run()) : direct::join(); });
}

}  // namespace rocelab::verbs
