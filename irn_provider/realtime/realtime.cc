#include "irn_provider/realtime/realtime.h"

#include <unistd.h>

#include <string>

#include "irn_provider/realtime/direct_process.h"
#include "irn_provider/realtime/interface_host.h"
#include "irn_provider/realtime/interface_share.h"

namespace rocelab::direct {

std::unique_ptr<LiveProcess> join() { return DirectProcess::join(settings_from_environment()); }

HostEntry host() { return host_of(settings_from_environment()); }

DeviceView look() {
  const Settings settings = settings_from_environment();
  const HostEntry host = host_of(settings);
  const std::string key = key_of(settings);
  return {host, link_up(settings), InterfaceShare::counters(key),
          "/dev/shm/rocelab-sysfs-" + InterfaceShare::place(key) + "-" + std::to_string(getuid())};
}

}  // namespace rocelab::direct
