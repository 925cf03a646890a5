// Interposed: open, open64, fstat, fstat64, close, for the character device of rdma_cm; open, stat, stat64,
// statx and access, for the files and directories of the device (device_files.h); fopen, fopen64, for
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
#include <optional>
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

constexpr mode_t kDirectoryMode = S_IFDIR | 0755;

// A descriptor from which `text` can be read.
int open_text(const std::string& text) {
  const int fd = memfd_create("rocelab", MFD_CLOEXEC);
  if (fd < 0) return -1;
  if (real::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      lseek(fd, 0, SEEK_SET) == 0)
    return fd;
  ::close(fd);
  errno = ENFILE;
  return -1;
}

// A descriptor, or -1 with errno; nothing: the file is not one of ours.
std::optional<int> open_ours(const char* path, int flags) {
  if (!in_experiment()) return std::nullopt;
  if (means_rdma_cm(named(path))) return open_rdma_cm();
  if ((flags & O_ACCMODE) != O_RDONLY) return std::nullopt;
  const std::optional<std::string> text = device_file(named(path));
  if (!text) return std::nullopt;
  return open_text(*text);
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
  std::FILE* file = really(path, mode);
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

template <class Stat>
int fstat_any(int fd, Stat* st, int (*really)(int, Stat*)) {
  const int result = really(fd, st);
  if (result == 0 && is_rdma_cm(fd)) fill_character_device(st, rdma_cm_number());
  return result;
}

int fault() {
  errno = EFAULT;
  return -1;
}

template <class Stat>
int stat_any(const char* path, Stat* st, int (*really)(const char*, Stat*)) {
  const bool node = is_device_node(named(path));
  if (!node && !device_directory(named(path))) return really(path, st);
  if (libc::unpromised(st) == nullptr) return fault();
  *st = {};
  st->st_nlink = 1;
  st->st_mode = kDirectoryMode;
  if (node) fill_character_device(st, makedev(kUverbsMajor, kUverbsMinor));
  return 0;
}

}  // namespace

RL_EXPORT int open(const char* path, int flags, ...) {
  if (const std::optional<int> fd = open_ours(path, flags)) return *fd;
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = va_arg(arguments, mode_t);
  va_end(arguments);
  return real::open(path, flags, mode);
}

RL_EXPORT int open64(const char* path, int flags, ...) {
  if (const std::optional<int> fd = open_ours(path, flags)) return *fd;
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = va_arg(arguments, mode_t);
  va_end(arguments);
  return real::open64(path, flags, mode);
}

RL_EXPORT std::FILE* fopen(const char* path, const char* mode) { return fopen_any(path, mode, real::fopen); }

RL_EXPORT std::FILE* fopen64(const char* path, const char* mode) {
  return fopen_any(path, mode, real::fopen64);
}

RL_EXPORT int fstat(int fd, struct stat* st) noexcept { return fstat_any(fd, st, real::fstat); }
RL_EXPORT int fstat64(int fd, struct stat64* st) noexcept { return fstat_any(fd, st, real::fstat64); }

RL_EXPORT int stat(const char* path, struct stat* st) noexcept { return stat_any(path, st, real::stat); }
RL_EXPORT int stat64(const char* path, struct stat64* st) noexcept {
  return stat_any(path, st, real::stat64);
}

RL_EXPORT int statx(int folder, const char* path, int flags, unsigned mask, struct statx* st) noexcept {
  if (!device_directory(named(path))) {
    return real::statx(folder, path, flags, mask, st);
  }
  if (libc::unpromised(st) == nullptr) return fault();
  *st = {};
  st->stx_mask = STATX_TYPE | STATX_MODE | STATX_NLINK;
  st->stx_nlink = 1;
  st->stx_mode = kDirectoryMode;
  return 0;
}

RL_EXPORT int access(const char* path, int mode) noexcept {
  if (is_device_node(named(path))) {
    if ((mode & X_OK) == 0) return 0;
    errno = EACCES;
    return -1;
  }
  return real::access(path, mode);
}

RL_EXPORT int close(int fd) {
  if (close_rdma_cm(fd)) return 0;
  libc::forget_own_pipe(fd);
  libc::forget_timer_fd(fd);
  return real::close(fd);
}
