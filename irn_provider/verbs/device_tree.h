// The devices as the kernel would show them in sysfs and /dev: names and contents of files. No I/O.
// Source: Linux, Documentation/ABI/stable/sysfs-class-infiniband, and drivers/infiniband/core/sysfs.c for how
// values are written. Each device hangs on one of its own (/sys/devices/rocelab, rocelab1 ..), as an adapter
// does on its PCI function, since scripts go from `device` to the network interface and back.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "irn_provider/live/live_process.h"

namespace rocelab::verbs {

struct DeviceFile {
  std::string path;  // without the leading slash
  std::string text;
  bool changes = false;  // while programs run: state and counters
};
struct DeviceLink {
  std::string path, target;
};

// `interfaces`: by device, the one with its address; empty: none.
using Interfaces = std::span<const std::string>;
std::vector<DeviceFile> device_files(std::span<const DeviceView> views, Interfaces interfaces);
std::vector<DeviceLink> device_links(Interfaces interfaces);

// What `path`, absolute, is called in this tree, whether it is there or not; empty: it is none of the
// device's. Does not look at the file system.
std::string in_device_tree(std::string_view path, Interfaces interfaces);
// The same through the tree's links: as device_files() calls it.
std::string without_links(std::string_view path, Interfaces interfaces);

// The folder of /dev: programs test that a node is there, and what kind it is.
inline constexpr std::string_view kNodes = "dev/infiniband";

}  // namespace rocelab::verbs
