// Interposed: what opens a file by its path or says what it is, for the files of the device (device_files.h)
// and the character device of rdma_cm; fstat and close for the latter's descriptor; fopen, fopen64 also for
// /proc/cpuinfo (cpu_info.h). Everything else goes to the C library.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>

#include "irn_provider/verbs/device_files.h"
#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/cpu_info.h"
#include "irn_provider/verbs/libc/own_pipes.h"
#include "irn_provider/verbs/libc/real.h"
#include "irn_provider/verbs/libc/timers.h"
#include "irn_provider/verbs/rdma_cm/cdev.h"
#include "irn_provider/verbs/real_verbs.h"

using namespace rocelab;
using namespace rocelab::verbs;

namespace {

constexpr unsigned kUverbsMajor = 231, kUverbsMinor = 192;  // Linux: include/uapi/rdma, IB_UVERBS_BASE_MINOR

int refuse(int error) {
  errno = error;
  return -1;
}

// A descriptor from which `text` can be read.
int open_text(const std::string& text) {
  const int fd = memfd_create("rocelab", MFD_CLOEXEC);
  if (fd < 0) return -1;
  if (real::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      lseek(fd, 0, SEEK_SET) == 0)
    return fd;
  ::close(fd);
  return refuse(ENFILE);
}

// `really` opens a path. The files of the device can be read only, and its node in /dev not be opened at all:
// what answers there is libibverbs.
template <class F>
int open_any(int folder, const char* path, int flags, const F& really) {
  if (libc::without_nonnull(path) != nullptr && in_experiment() && means_rdma_cm(path)) return open_rdma_cm();
  const DevicePath at(folder, path, Use::kOpen);
  if (!at.ours()) return really(at);
  if (at.is_node()) return refuse(ENXIO);
  return (flags & (O_ACCMODE | O_CREAT | O_TRUNC)) == O_RDONLY ? really(at) : refuse(EACCES);
}

using Fopen = std::FILE* (*)(const char*, const char*);

std::string contents(std::FILE* file) {
  std::string text;
  std::array<char, 4096> buffer;
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), file)) > 0;)
    text.append(buffer.data(), n);
  return text;
}

std::FILE* fopen_any(const char* path, const char* mode, Fopen really) {
  const DevicePath at(path, Use::kOpen);
  if (at.ours() && (mode[0] != 'r' || std::strchr(mode, '+') != nullptr)) {
    errno = EACCES;
    return nullptr;
  }
  std::FILE* file = really(at, mode);
  if (file == nullptr || !libc::counter_rate_is_shown() || path != libc::kCpuInfo || mode[0] != 'r')
    return file;
  const int fd = open_text(libc::with_counter_rate(contents(file)));
  std::fclose(file);
  return fd < 0 ? nullptr : fdopen(fd, mode);
}

template <class Stat>
void fill_character_device(Stat* st, dev_t number) {
  st->st_mode = S_IFCHR | 0666;
  st->st_rdev = number;
}

void fill_character_device(struct statx* st, dev_t number) {
  st->stx_mode = S_IFCHR | 0666;
  st->stx_rdev_major = major(number);
  st->stx_rdev_minor = minor(number);
}

dev_t number_of_node(const char* path) {
  return means_rdma_cm(path) ? rdma_cm_number() : makedev(kUverbsMajor, kUverbsMinor);
}

template <class Stat>
int fstat_any(int fd, Stat* st, int (*really)(int, Stat*)) {
  const int result = really(fd, st);
  if (result == 0 && is_rdma_cm(fd)) fill_character_device(st, rdma_cm_number());
  return result;
}

// `really` looks at a path. For programs a file in /dev is a character device.
template <class Stat, class F>
int stat_any(int folder, const char* path, Stat* st, const F& really) {
  const DevicePath at(folder, path);
  const int result = really(at);
  if (result == 0 && at.is_node()) fill_character_device(st, number_of_node(path));
  return result;
}

}  // namespace

#define MODE_OF(last)                            \
  va_list arguments;                             \
  va_start(arguments, last);                     \
  const mode_t mode = va_arg(arguments, mode_t); \
  va_end(arguments)

RL_EXPORT int open(const char* path, int flags, ...) {
  MODE_OF(flags);
  return open_any(AT_FDCWD, path, flags, [&](const char* at) { return real::open(at, flags, mode); });
}

RL_EXPORT int open64(const char* path, int flags, ...) {
  MODE_OF(flags);
  return open_any(AT_FDCWD, path, flags, [&](const char* at) { return real::open64(at, flags, mode); });
}

RL_EXPORT int openat(int folder, const char* path, int flags, ...) {
  MODE_OF(flags);
  return open_any(folder, path, flags, [&](const char* at) { return real::openat(folder, at, flags, mode); });
}

RL_EXPORT int openat64(int folder, const char* path, int flags, ...) {
  MODE_OF(flags);
  return open_any(folder, path, flags,
                  [&](const char* at) { return real::openat64(folder, at, flags, mode); });
}

RL_EXPORT std::FILE* fopen(const char* path, const char* mode) { return fopen_any(path, mode, real::fopen); }

RL_EXPORT std::FILE* fopen64(const char* path, const char* mode) {
  return fopen_any(path, mode, real::fopen64);
}

RL_EXPORT int fstat(int fd, struct stat* st) noexcept { return fstat_any(fd, st, real::fstat); }
RL_EXPORT int fstat64(int fd, struct stat64* st) noexcept { return fstat_any(fd, st, real::fstat64); }

RL_EXPORT int stat(const char* path, struct stat* st) noexcept {
  return stat_any(AT_FDCWD, path, st, [&](const char* at) { return real::stat(at, st); });
}
RL_EXPORT int stat64(const char* path, struct stat64* st) noexcept {
  return stat_any(AT_FDCWD, path, st, [&](const char* at) { return real::stat64(at, st); });
}
RL_EXPORT int lstat(const char* path, struct stat* st) noexcept {
  return stat_any(AT_FDCWD, path, st, [&](const char* at) { return real::lstat(at, st); });
}
RL_EXPORT int lstat64(const char* path, struct stat64* st) noexcept {
  return stat_any(AT_FDCWD, path, st, [&](const char* at) { return real::lstat64(at, st); });
}
RL_EXPORT int fstatat(int folder, const char* path, struct stat* st, int flags) noexcept {
  return stat_any(folder, path, st, [&](const char* at) { return real::fstatat(folder, at, st, flags); });
}
RL_EXPORT int fstatat64(int folder, const char* path, struct stat64* st, int flags) noexcept {
  return stat_any(folder, path, st, [&](const char* at) { return real::fstatat64(folder, at, st, flags); });
}

RL_EXPORT int statx(int folder, const char* path, int flags, unsigned mask, struct statx* st) noexcept {
  return stat_any(folder, path, st, [&](const char* at) { return real::statx(folder, at, flags, mask, st); });
}

RL_EXPORT int access(const char* path, int mode) noexcept { return real::access(DevicePath(path), mode); }
RL_EXPORT int eaccess(const char* path, int mode) noexcept { return real::eaccess(DevicePath(path), mode); }
RL_EXPORT int euidaccess(const char* path, int mode) noexcept {
  return real::eaccess(DevicePath(path), mode);
}
RL_EXPORT int faccessat(int folder, const char* path, int mode, int flags) noexcept {
  return real::faccessat(folder, DevicePath(folder, path), mode, flags);
}

RL_EXPORT int close(int fd) {
  if (close_rdma_cm(fd)) return 0;
  libc::forget_own_pipe(fd);
  libc::forget_timer_fd(fd);
  return real::close(fd);
}
