#include "irn_provider/realtime/vf_rings.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

namespace rocelab::direct {
namespace {

using lockstep::RingCounters;

constexpr std::size_t kVfs = kMaxVfsPerHost;
constexpr std::size_t kCountersAt = kVfs * sizeof(VfRings::Bell);
constexpr std::size_t kPage = 4096;
constexpr std::size_t kRingsAt =
    (kCountersAt + kVfs * kVfs * sizeof(RingCounters) + kPage - 1) / kPage * kPage;
constexpr std::size_t kFileBytes = kRingsAt + kVfs * kVfs * kRingBytes;

constexpr std::size_t pair_of(std::uint32_t from, std::uint32_t to) { return to * kVfs + from; }

// 0 or the errno. A signal would end it with what there was before: the calling thread's wait.
int take_part(int fd, std::size_t at, std::size_t bytes) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = EINTR;
  while (error == EINTR) error = posix_fallocate(fd, static_cast<off_t>(at), static_cast<off_t>(bytes));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  throw std::runtime_error(path.string() + ": " + std::strerror(error));
}

}  // namespace

// All zeros is what its objects begin with.
void VfRings::create(const std::filesystem::path& path) {
  unlink(path.c_str());
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) fail(path, errno);
  int error = ftruncate(fd, kFileBytes) == 0 ? 0 : errno;
  if (error == 0) error = take_part(fd, 0, kRingsAt);
  close(fd);
  if (error != 0) {
    unlink(path.c_str());
    fail(path, error);
  }
}

VfRings::VfRings(const std::filesystem::path& path) : fd_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {
  if (fd_ < 0) fail(path, errno);
  struct stat st {};
  if (fstat(fd_, &st) != 0 || static_cast<std::size_t>(st.st_size) != kFileBytes) {
    close(fd_);
    throw std::runtime_error(path.string() + " is another build's of rocelab: end the programs that use it");
  }
  void* base = mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  const int error = errno;
  if (base == MAP_FAILED) {
    close(fd_);
    throw std::runtime_error(path.string() + ": " + lockstep::cannot_map(kFileBytes, error));
  }
  base_ = static_cast<std::byte*>(base);
}

VfRings::~VfRings() {
  munmap(base_, kFileBytes);
  close(fd_);
}

VfRings::Bell& VfRings::bell(std::uint32_t vf) const {
  return std::launder(reinterpret_cast<Bell*>(base_))[vf];
}

RingCounters& VfRings::counters(std::uint32_t from, std::uint32_t to) const {
  return std::launder(reinterpret_cast<RingCounters*>(base_ + kCountersAt))[pair_of(from, to)];
}

std::span<std::byte> VfRings::bytes(std::uint32_t from, std::uint32_t to) const {
  return {base_ + kRingsAt + pair_of(from, to) * kRingBytes, kRingBytes};
}

bool VfRings::take_memory(std::uint32_t from, std::uint32_t to) const {
  return take_part(fd_, kRingsAt + pair_of(from, to) * kRingBytes, kRingBytes) == 0;
}

}  // namespace rocelab::direct
