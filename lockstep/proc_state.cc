#include "lockstep/proc_state.h"

#include <dirent.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace rocelab::lockstep {

char proc_state(const char* path) {
  std::FILE* file = std::fopen(path, "r");
  if (file == nullptr) return 'X';
  char text[512];
  const std::size_t n = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  text[n] = 0;
  // The name before the letter may hold any character, so look behind the last ')'.
  const char* end = std::strrchr(text, ')');
  return end != nullptr && end[1] != 0 && end[2] != 0 ? end[2] : 'X';
}

char state_of_process(std::uint32_t pid) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%u/stat", pid);
  return proc_state(path);
}

bool has_running_thread(std::uint32_t pid) {
  char path[320];
  std::snprintf(path, sizeof path, "/proc/%u/task", pid);
  DIR* const tasks = opendir(path);
  if (tasks == nullptr) return false;
  bool runs = false;
  while (const dirent* task = runs ? nullptr : readdir(tasks)) {
    if (task->d_name[0] == '.') continue;
    std::snprintf(path, sizeof path, "/proc/%u/task/%s/stat", pid, task->d_name);
    runs = proc_state(path) == 'R';
  }
  closedir(tasks);
  return runs;
}

bool process_ended(std::uint32_t pid) {
  const auto fd = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0));
  if (fd < 0) return errno == ESRCH;
  pollfd ended{fd, POLLIN, 0};
  const timespec now{};
  const bool is = syscall(SYS_ppoll, &ended, 1, &now, nullptr, 0) == 1 && (ended.revents & POLLIN) != 0;
  syscall(SYS_close, fd);
  return is;
}

}  // namespace rocelab::lockstep
