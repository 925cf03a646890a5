#include "irn_provider/live/join_run.h"

#include <filesystem>
#include <stdexcept>
#include <string>

#include "irn_provider/live/lockstep_process.h"

namespace rocelab {

std::unique_ptr<LiveProcess> join_run(const char* segment, const char* name) {
  return LockstepProcess::join(segment, name);
}

std::vector<HostEntry> nics_of_run(const char* segment, const char* name) {
  const lockstep::Segment run = lockstep::Segment::open(segment);
  const HostEntry* first = find_machine(run.hosts(), name);
  if (first == nullptr) throw std::runtime_error(std::string("the run has no host '") + name + "'");
  return {first, first + first->nics};
}

std::vector<DeviceView> look_at_run(const char* segment, const char* name) {
  std::vector<DeviceView> views;
  const lockstep::Segment run = lockstep::Segment::open(segment);
  const Time now = Time::from_ps(run.header().committed_ps.load());
  for (const HostEntry& nic : nics_of_run(segment, name)) {
    DeviceView& view = views.emplace_back();
    view.host = nic;
    view.folder =
        std::filesystem::path(segment).parent_path().string() + "/sysfs-" + std::string(machine_name(nic));
    for (const LinkChange& change : link_changes_at(run.link_changes(), nic.port))
      if (change.at <= now) view.link_up = change.up;
    for (const lockstep::VfSlot& slot : run.vfs())
      if (run.hosts()[slot.host].node == nic.node) view.counters = view.counters + slot.result.counters;
  }
  return views;
}

}  // namespace rocelab
