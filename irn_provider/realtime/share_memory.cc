#include "irn_provider/realtime/share_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

namespace rocelab::direct {

struct ShareMemory::Layout {
  explicit Layout(const HostEntry& h) : host(h) {
    for (std::uint32_t vf = 0; vf < vfs.size(); ++vf) {
      vfs[vf].vf = vf;
      vfs[vf].first_qpn = first_qpn_of(vf);
    }
  }
  const std::uint64_t build = lockstep::layout_hash();
  const HostEntry host;
  std::array<lockstep::VfSlot, kMaxVfsPerHost> vfs;
  std::array<std::atomic<std::uint64_t>, lockstep::kServicePorts> service_ports{};
};

namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& why) {
  throw std::runtime_error(path.string() + ": " + why);
}

// Null: errno says why.
void* map(int fd, std::size_t bytes) {
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return base == MAP_FAILED ? nullptr : base;
}

// All of its pages, so that nobody dies of a bus error later. 0, or the errno.
int reserve(int fd, std::size_t bytes) {
  int error = EINTR;
  while (error == EINTR) error = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  return error;
}

}  // namespace

void ShareMemory::Unmap::operator()(Layout* layout) const { munmap(layout, sizeof(Layout)); }

ShareMemory ShareMemory::create(const std::filesystem::path& path, const HostEntry& host) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) fail(path, std::string("cannot create shared memory: ") + std::strerror(errno));
  const int error = reserve(fd, sizeof(Layout));
  void* base = error == 0 ? map(fd, sizeof(Layout)) : nullptr;
  const std::string why = error != 0        ? std::string("no room: ") + std::strerror(error)
                          : base == nullptr ? lockstep::cannot_map(sizeof(Layout), errno)
                                            : "";
  close(fd);
  if (base == nullptr) {
    unlink(path.c_str());
    fail(path, why);
  }
  return ShareMemory(new (base) Layout(host));
}

ShareMemory ShareMemory::open(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) fail(path, std::strerror(errno));
  struct stat st {};
  fstat(fd, &st);
  const bool fits = static_cast<std::uint64_t>(st.st_size) == sizeof(Layout);
  void* base = fits ? map(fd, sizeof(Layout)) : nullptr;
  const int error = errno;
  close(fd);
  if (fits && base == nullptr) fail(path, lockstep::cannot_map(sizeof(Layout), error));
  ShareMemory memory(static_cast<Layout*>(base));
  if (!fits || memory.layout_->build != lockstep::layout_hash())
    fail(path, "made by another build of rocelab: end the programs that use it");
  return memory;
}

const HostEntry& ShareMemory::host() const { return layout_->host; }

lockstep::HostShare ShareMemory::share() const { return {layout_->vfs, layout_->service_ports}; }

lockstep::VfSlot& ShareMemory::slot(std::uint32_t vf) const { return layout_->vfs[vf]; }

}  // namespace rocelab::direct
