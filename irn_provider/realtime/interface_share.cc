#include "irn_provider/realtime/interface_share.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace rocelab::direct {

using lockstep::VfState;

BoundSocket::~BoundSocket() {
  if (fd_ >= 0) close(fd_);
}

namespace {

constexpr char kFilePrefix[] = "rocelab-interface-";
constexpr std::int64_t kStaleSeconds = 10;
constexpr int kLockTries = 5'000;  // of 1 ms

struct Name {
  sockaddr_un address{};
  socklen_t length = 0;
};

Name name_of(const std::string& key, const std::string& what) {
  Name n;
  const std::string text = "rocelab/" + key + "/" + what;
  n.address.sun_family = AF_UNIX;
  text.copy(n.address.sun_path + 1, sizeof n.address.sun_path - 1);  // a leading zero: abstract
  n.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return n;
}

// A socket of that name; none: somebody has it.
BoundSocket bind_name(const std::string& key, const std::string& what) {
  const Name name = name_of(key, what);
  BoundSocket made(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (made && bind(made.fd(), reinterpret_cast<const sockaddr*>(&name.address), name.length) == 0)
    return made;
  if (errno != EADDRINUSE)
    throw std::runtime_error(std::string("cannot make a socket: ") + std::strerror(errno));
  return {};
}

// Whoever has it changes who is there. Freed when its process ends.
class Lock {
 public:
  explicit Lock(const std::string& key) {
    for (int tries = 0; tries < kLockTries; ++tries) {
      if ((name_ = bind_name(key, "lock"))) return;
      const timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
      nanosleep(&pause, nullptr);
    }
    throw std::runtime_error("another program has been starting on this interface for 5 s");
  }

 private:
  BoundSocket name_;
};

std::string memory_path(const std::string& key) {
  return std::string("/dev/shm/") + kFilePrefix + InterfaceShare::place(key);
}

bool others_in_use(const std::string& key, std::uint32_t self) {
  for (std::uint32_t vf = 0; vf < kMaxVfsPerHost; ++vf)
    if (vf != self && !bind_name(key, std::to_string(vf))) return true;
  return false;
}

// Files that no process has locked, and that are not just being made.
void remove_stale() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", ignored)) {
    if (!entry.path().filename().string().starts_with(kFilePrefix)) continue;
    const int fd = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    struct stat st {};
    if (fd < 0 || fstat(fd, &st) != 0) continue;
    if (time(nullptr) - st.st_ctime > kStaleSeconds && flock(fd, LOCK_EX | LOCK_NB) == 0)
      unlink(entry.path().c_str());
    close(fd);
  }
}

std::string rings_path(const std::string& path) { return path + ".rings"; }

void remove_files(const std::string& path) {
  unlink(path.c_str());
  unlink(rings_path(path).c_str());
}

ShareMemory make_memory(const std::string& path, const HostEntry& host) {
  unlink(path.c_str());
  VfRings::create(rings_path(path));
  return ShareMemory::create(path, host);
}

ShareMemory open_memory(const std::string& path, const HostEntry& host) {
  if (access(path.c_str(), F_OK) != 0)
    throw std::runtime_error("other programs of rocelab are on this interface, but their " + path +
                             " is not here: programs in one network namespace need the same /dev/shm");
  ShareMemory memory = ShareMemory::open(path);
  const HostEntry& theirs = memory.host();
  if (theirs.mac != host.mac || theirs.ipv4 != host.ipv4)
    throw std::runtime_error(
        std::string(host.name) +
        ": its address is another one than that of the programs which use it already: end them, or give all "
        "the same");
  return memory;
}

}  // namespace

std::unique_ptr<InterfaceShare> InterfaceShare::join(const HostEntry& host, const std::string& key) {
  const Lock lock(key);
  for (std::uint32_t vf = 0; vf < kMaxVfsPerHost; ++vf) {
    BoundSocket socket = bind_name(key, std::to_string(vf));
    if (!socket) continue;
    const std::string path = memory_path(key);
    const bool first = !others_in_use(key, vf);
    try {
      ShareMemory memory = first ? make_memory(path, host) : open_memory(path, host);
      std::unique_ptr<InterfaceShare> share(
          new InterfaceShare(std::move(memory), path, key, vf, std::move(socket)));
      share->claim();
      return share;
    } catch (...) {
      if (first) remove_files(path);
      throw;
    }
  }
  throw std::runtime_error("all " + std::to_string(kMaxVfsPerHost) +
                           " virtual functions of the interface are in use by other programs");
}

InterfaceShare::InterfaceShare(ShareMemory&& memory, std::string path, std::string key, std::uint32_t vf,
                               BoundSocket socket)
    : memory_(std::move(memory)),
      path_(std::move(path)),
      key_(std::move(key)),
      rings_(rings_path(path_)),
      vf_(vf),
      socket_(std::move(socket)) {}

InterfaceShare::~InterfaceShare() {
  leave();
  if (file_ >= 0) close(file_);
}

// Under the lock.
void InterfaceShare::claim() {
  file_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) throw std::runtime_error(path_ + ": " + std::strerror(errno));
  flock(file_, LOCK_SH | LOCK_NB);
  flock(rings_.fd(), LOCK_SH | LOCK_NB);
  remove_stale();
  sweep();
  slot().cm.store(0);
  slot().result.cm_counters = {};
  slot().tenure.fetch_add(1);
  slot().pid.store(static_cast<std::uint32_t>(getpid()));
  slot().state.store(VfState::kClaimed);
  is_claimed_ = true;
}

void InterfaceShare::leave() {
  if (!std::exchange(is_claimed_, false)) return;
  slot().state.store(VfState::kLeft);
  try {
    const Lock lock(key_);
    socket_ = {};  // before another one that leaves can look
    if (!others_in_use(key_, vf_)) remove_files(path_);
  } catch (const std::exception&) {  // the next process takes the files away
  }
  socket_ = {};
}

// While the name of a dead one is held here, nobody else can become that VF. Where none can be had, because
// the process has no descriptor left, the next sweep looks again.
void InterfaceShare::sweep() {
  for (std::uint32_t vf = 0; vf < kMaxVfsPerHost; ++vf) {
    std::atomic<VfState>& state = memory_.slot(vf).state;
    if (vf == vf_ || state.load() != VfState::kClaimed) continue;
    try {
      const BoundSocket name = bind_name(key_, std::to_string(vf));
      VfState claimed = VfState::kClaimed;
      if (name) state.compare_exchange_strong(claimed, VfState::kDead);
    } catch (const std::exception&) {
    }
  }
}

std::string InterfaceShare::place(const std::string& key) {
  struct stat ns {};
  if (stat("/proc/self/ns/net", &ns) != 0) throw std::runtime_error("/proc is not mounted");
  return std::to_string(ns.st_ino) + "-" + key;
}

NicCounters InterfaceShare::counters(const std::string& key) {
  const std::string path = memory_path(key);
  NicCounters sum;
  if (access(path.c_str(), F_OK) != 0) return sum;
  const ShareMemory memory = ShareMemory::open(path);
  for (const lockstep::VfSlot& slot : memory.share().vfs) sum = sum + slot.result.counters;
  return sum;
}

std::uint32_t InterfaceShare::vfs_in_use() const {
  std::uint32_t bits = 0;
  for (std::uint32_t vf = 0; vf < kMaxVfsPerHost; ++vf)
    if (vf != vf_ && memory_.slot(vf).state.load() == VfState::kClaimed) bits |= 1u << vf;
  return bits;
}

// A full socket holds what wakes its owner already.
void InterfaceShare::wake(std::uint32_t vf) const {
  const Name name = name_of(key_, std::to_string(vf));
  const char nothing = 0;
  sendto(socket_.fd(), &nothing, sizeof nothing, MSG_DONTWAIT | MSG_NOSIGNAL,
         reinterpret_cast<const sockaddr*>(&name.address), name.length);
}

void InterfaceShare::drain() const {
  char nothing = 0;
  while (recv(socket_.fd(), &nothing, sizeof nothing, MSG_DONTWAIT) >= 0) {
  }
}

}  // namespace rocelab::direct
