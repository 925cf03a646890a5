// The files by which programs look at an RDMA device without libibverbs: those of sysfs and the character
// device that they test for. The device has none of them, so libc/files.cc and libc/directories.cc answer in
// their place; only what a program is known to need, below.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "irn_provider/verbs/libc/unpromised.h"

namespace rocelab::verbs {

// What a program calls a file by. Null, for which the C library has an answer, names none of ours.
inline std::string_view named(const char* path) {
  return libc::unpromised(path) != nullptr ? std::string_view(path) : std::string_view();
}

// The interface with the host's address; empty: none (a test without namespaces).
std::string own_interface();

// What stands in the file; nothing: it is not one of the device's. Offered, N being an index of the GID
// table:
//   /sys/class/infiniband/rocelab0/ports/1/gid_attrs/types/N   the GID's type (UCX chooses its GID by it)
//   /sys/class/infiniband/rocelab0/ports/1/gid_attrs/ndevs/N   the host's interface that has the address
std::optional<std::string> device_file(std::string_view path);

// The names in the directory; nothing: it is not one of the device's. Offered:
//   /sys/class/infiniband/rocelab0/device/net   the host's interface (rdma-core's own tests)
std::optional<std::vector<std::string>> device_directory(std::string_view path);

// /dev/infiniband/uverbs0, which UCX tests with stat and access and does not open.
bool is_device_node(std::string_view path);

}  // namespace rocelab::verbs
