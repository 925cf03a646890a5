// ShareMemory: the memory of the processes on one interface: whose it is, a slot for each virtual function,
// ports of the RDMA IP CM service. A file in /dev/shm.
#pragma once

#include <filesystem>
#include <memory>

#include "lockstep/host_share.h"

namespace rocelab::direct {

class ShareMemory {
 public:
  // Makes the file (it must not exist). Both throw std::runtime_error with a line that says what is wrong.
  static ShareMemory create(const std::filesystem::path& path, const HostEntry& host);
  // Maps an existing one, of this build.
  static ShareMemory open(const std::filesystem::path& path);

  const HostEntry& host() const;
  lockstep::HostShare share() const;
  lockstep::VfSlot& slot(std::uint32_t vf) const;

 private:
  struct Layout;
  struct Unmap {
    void operator()(Layout* layout) const;
  };
  explicit ShareMemory(Layout* layout) : layout_(layout) {}
  std::unique_ptr<Layout, Unmap> layout_;
};

}  // namespace rocelab::direct
