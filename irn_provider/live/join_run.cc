#include "irn_provider/live/join_run.h"

#include <filesystem>
#include <stdexcept>
#include <string>

#include "irn_provider/live/lockstep_process.h"

namespace rocelab {

std::unique_ptr<LiveProcess> join_run(const char* segment, const char* name) {
  return LockstepProcess::join(segment, name);
}

HostEntry host_of_run(const char* segment, const char* name) {
  const lockstep::Segment run = lockstep::Segment::open(segment);
  const HostEntry* host = run.find_host(name);
  if (host == nullptr) throw std::runtime_error(std::string("the run has no host '") + name + "'");
  return *host;
}

DeviceView look_at_run(const char* segment, const char* name) {
  DeviceView view;
  view.host = host_of_run(segment, name);
  view.folder = std::filesystem::path(segment).parent_path().string() + "/sysfs-" + view.host.name;
  const lockstep::Segment run = lockstep::Segment::open(segment);
  const Time now = Time::from_ps(run.header().committed_ps.load());
  for (const LinkChange& change : link_changes_at(run.link_changes(), view.host.port))
    if (change.at <= now) view.link_up = change.up;
  for (const lockstep::VfSlot& slot : run.vfs())
    if (run.hosts()[slot.host].node == view.host.node) view.counters = view.counters + slot.result.counters;
  return view;
}

}  // namespace rocelab
