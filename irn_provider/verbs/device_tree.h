// The device as the kernel would show it in sysfs and /dev: names and contents of files. No I/O.
// Source: Linux, Documentation/ABI/stable/sysfs-class-infiniband, and drivers/infiniband/core/sysfs.c for how
// values are written. The device hangs on one of its own (/sys/devices/rocelab), as an adapter does on its
// PCI function, since scripts go from `device` to the network interface and back.
#pragma once

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

// `interface`: the one with the host's address; empty: none.
std::vector<DeviceFile> device_files(const DeviceView& view, std::string_view interface);
std::vector<DeviceLink> device_links(std::string_view interface);

// What `path`, absolute, is called in this tree, whether it is there or not; empty: it is none of the
// device's. Does not look at the file system.
std::string in_device_tree(std::string_view path, std::string_view interface);
// The same through the tree's links: as device_files() calls it.
std::string without_links(std::string_view path, std::string_view interface);

// The folder of /dev: programs test that a node is there, and what kind it is.
inline constexpr std::string_view kNodes = "dev/infiniband";

}  // namespace rocelab::verbs
