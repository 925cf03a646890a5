#include "irn_provider/verbs/pinned.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "irn_provider/live/live_process.h"

namespace rocelab::verbs {
namespace {

// A forked child has pinned nothing.
std::uint64_t& pinned() {
  static const LiveProcess* owner = nullptr;
  static std::uint64_t pages = 0;
  if (const LiveProcess* process = LiveProcess::attached(); owner != process) owner = process, pages = 0;
  return pages;
}

// Of the calling thread, as the kernel asks. Without libcap, which programs would have to have.
bool may_lock_all() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  return syscall(SYS_capget, &header, data) == 0 &&
         (data[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) != 0;
}

std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

std::uint64_t pages_of(std::uint64_t addr, std::uint64_t length) {
  const std::uint64_t page = page_bytes();
  return (addr + length + page - 1) / page - addr / page;
}

int pin(std::uint64_t pages) {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return ENOMEM;
  const bool within = limit.rlim_cur == RLIM_INFINITY || pinned() + pages <= limit.rlim_cur / page_bytes();
  if ((limit.rlim_cur == 0 || !within) && !may_lock_all()) return limit.rlim_cur == 0 ? EPERM : ENOMEM;
  pinned() += pages;
  return 0;
}

void unpin(std::uint64_t pages) { pinned() -= pages; }

}  // namespace rocelab::verbs
