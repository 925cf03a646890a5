// The files by which programs look at an RDMA device without libibverbs (device_tree.h): the kernel has none
// of this device. They are real ones, in a folder of /dev/shm, and libc/files.cc and libc/directories.cc give
// the C library their paths instead of those that a program names: what it opens is a file or directory as
// any other. All programs of a host share the folder; it is the run's, or on an interface goes with the last
// program that looks at it.
//
// What changes is written anew when a program opens the file, or a directory above it, by a path; not when it
// opens it by a descriptor of its directory.
#pragma once

#include <fcntl.h>

#include <string>

#include "emu/world/world.h"
#include "irn_provider/verbs/libc/without_nonnull.h"

namespace rocelab::verbs {

// The interface with the NIC's address; empty: none (a test without namespaces).
std::string own_interface(const HostEntry& nic);

enum class Use : bool { kName, kOpen };  // kOpen: what is read must be up to date

// A path as the C library shall get it. Leaves errno alone.
class DevicePath {
 public:
  explicit DevicePath(const char* path, Use use = Use::kName) : DevicePath(AT_FDCWD, path, use) {}
  DevicePath(int folder, const char* path, Use use = Use::kName);  // of the calls with a folder's descriptor
  operator const char*() const { return text_.empty() ? path_ : text_.c_str(); }
  bool ours() const { return ours_; }
  bool is_node() const { return is_node_; }  // a character device in /dev

 private:
  const char* path_;
  std::string text_;  // empty: as it is
  bool ours_ = false, is_node_ = false;
};

// The C library has said where something is: if it is in the folder of our files, what programs call it, in
// place.
char* as_named(char* path);
// The working directory has changed.
void note_working_directory();

}  // namespace rocelab::verbs
