// Interposed: what opens or searches a directory by its path, follows links, or changes the working
// directory, for the directories of the device (device_files.h); and the names under which programs built
// with _FORTIFY_SOURCE, or before glibc 2.33, call these and those of files.cc. Everything else goes to the C
// library.
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>

#include "irn_provider/verbs/device_files.h"
#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/real.h"

using namespace rocelab;
using namespace rocelab::verbs;

namespace {

template <class Glob>
int glob_any(const char* pattern, int flags, int (*failed)(const char*, int), Glob* found,
             int (*really)(const char*, int, int (*)(const char*, int), Glob*)) {
  const DevicePath at(pattern);
  const int result = really(at, flags, failed, found);
  if (result == 0 && at.ours())
    for (std::size_t i = 0; i < found->gl_pathc; ++i)
      as_named(found->gl_pathv[i + ((flags & GLOB_DOOFFS) != 0 ? found->gl_offs : 0)]);
  return result;
}

}  // namespace

RL_EXPORT DIR* opendir(const char* path) { return real::opendir(DevicePath(path, Use::kOpen)); }

RL_EXPORT int scandir(const char* path, dirent*** list, int (*filter)(const dirent*),
                      int (*compare)(const dirent**, const dirent**)) {
  return real::scandir(DevicePath(path, Use::kOpen), list, filter, compare);
}
RL_EXPORT int scandir64(const char* path, dirent64*** list, int (*filter)(const dirent64*),
                        int (*compare)(const dirent64**, const dirent64**)) {
  return real::scandir64(DevicePath(path, Use::kOpen), list, filter, compare);
}

RL_EXPORT int glob(const char* pattern, int flags, int (*failed)(const char*, int), glob_t* found) noexcept {
  return glob_any(pattern, flags, failed, found, real::glob);
}
RL_EXPORT int glob64(const char* pattern, int flags, int (*failed)(const char*, int),
                     glob64_t* found) noexcept {
  return glob_any(pattern, flags, failed, found, real::glob64);
}

RL_EXPORT ssize_t readlink(const char* path, char* text, size_t room) noexcept {
  return real::readlink(DevicePath(path), text, room);
}
RL_EXPORT ssize_t readlinkat(int folder, const char* path, char* text, size_t room) noexcept {
  return real::readlinkat(folder, DevicePath(folder, path), text, room);
}

RL_EXPORT ssize_t getxattr(const char* path, const char* name, void* value, size_t room) noexcept {
  return real::getxattr(DevicePath(path), name, value, room);
}
RL_EXPORT ssize_t lgetxattr(const char* path, const char* name, void* value, size_t room) noexcept {
  return real::lgetxattr(DevicePath(path), name, value, room);
}
RL_EXPORT ssize_t listxattr(const char* path, char* names, size_t room) noexcept {
  return real::listxattr(DevicePath(path), names, room);
}
RL_EXPORT ssize_t llistxattr(const char* path, char* names, size_t room) noexcept {
  return real::llistxattr(DevicePath(path), names, room);
}

RL_EXPORT char* realpath(const char* path, char* resolved) noexcept {
  return as_named(real::realpath(DevicePath(path), resolved));
}
RL_EXPORT char* canonicalize_file_name(const char* path) noexcept { return ::realpath(path, nullptr); }

RL_EXPORT int chdir(const char* path) noexcept {
  const int result = real::chdir(DevicePath(path));
  if (result == 0) note_working_directory();
  return result;
}
RL_EXPORT int fchdir(int fd) noexcept {
  const int result = real::fchdir(fd);
  if (result == 0) note_working_directory();
  return result;
}
RL_EXPORT char* getcwd(char* text, size_t room) noexcept { return as_named(real::getcwd(text, room)); }

// --- _FORTIFY_SOURCE: the check is the C library's; then the plain name does the work

extern "C" [[noreturn]] void __chk_fail() noexcept;

RL_EXPORT int __open_2(const char* path, int flags) { return ::open(path, flags); }
RL_EXPORT int __open64_2(const char* path, int flags) { return ::open64(path, flags); }
RL_EXPORT int __openat_2(int folder, const char* path, int flags) { return ::openat(folder, path, flags); }
RL_EXPORT int __openat64_2(int folder, const char* path, int flags) {
  return ::openat64(folder, path, flags);
}
RL_EXPORT char* __realpath_chk(const char* path, char* resolved, size_t room) {
  if (room < PATH_MAX) __chk_fail();
  return ::realpath(path, resolved);
}
RL_EXPORT ssize_t __readlink_chk(const char* path, char* text, size_t length, size_t room) {
  if (length > room) __chk_fail();
  return ::readlink(path, text, length);
}
RL_EXPORT ssize_t __readlinkat_chk(int folder, const char* path, char* text, size_t length, size_t room) {
  if (length > room) __chk_fail();
  return ::readlinkat(folder, path, text, length);
}
RL_EXPORT char* __getcwd_chk(char* text, size_t length, size_t room) {
  if (length > room) __chk_fail();
  return ::getcwd(text, length);
}

// --- before glibc 2.33 stat and its like were inline, and called these

RL_EXPORT int __xstat(int, const char* path, struct stat* st) { return ::stat(path, st); }
RL_EXPORT int __xstat64(int, const char* path, struct stat64* st) { return ::stat64(path, st); }
RL_EXPORT int __lxstat(int, const char* path, struct stat* st) { return ::lstat(path, st); }
RL_EXPORT int __lxstat64(int, const char* path, struct stat64* st) { return ::lstat64(path, st); }
RL_EXPORT int __fxstatat(int, int folder, const char* path, struct stat* st, int flags) {
  return ::fstatat(folder, path, st, flags);
}
RL_EXPORT int __fxstatat64(int, int folder, const char* path, struct stat64* st, int flags) {
  return ::fstatat64(folder, path, st, flags);
}
