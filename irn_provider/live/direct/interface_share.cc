#include "irn_provider/live/direct/interface_share.h"

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
#include <optional>
#include <stdexcept>
#include <utility>

namespace rocelab::direct {

using lockstep::Segment;
using lockstep::VfState;

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

// A socket of that name; null: somebody has it.
std::optional<int> bind_name(const std::string& key, const std::string& what) {
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const Name name = name_of(key, what);
  if (fd >= 0 && bind(fd, reinterpret_cast<const sockaddr*>(&name.address), name.length) == 0) return fd;
  const int error = errno;
  if (fd >= 0) close(fd);
  if (error != EADDRINUSE)
    throw std::runtime_error(std::string("cannot make a socket: ") + std::strerror(error));
  return std::nullopt;
}

bool is_bound(const std::string& key, std::uint32_t vf) {
  const auto fd = bind_name(key, std::to_string(vf));
  if (fd) close(*fd);
  return !fd;
}

// Whoever has it changes who is there. Freed when its process ends.
class Lock {
 public:
  explicit Lock(const std::string& key) {
    for (int tries = 0; tries < kLockTries; ++tries) {
      if (const auto fd = bind_name(key, "lock")) {
        fd_ = *fd;
        return;
      }
      const timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
      nanosleep(&pause, nullptr);
    }
    throw std::runtime_error("another program has been starting on this interface for 5 s");
  }
  ~Lock() { close(fd_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int fd_ = -1;
};

std::string segment_path(const std::string& key) {
  struct stat ns {};
  if (stat("/proc/self/ns/net", &ns) != 0) throw std::runtime_error("/proc is not mounted");
  return std::string("/dev/shm/") + kFilePrefix + std::to_string(ns.st_ino) + "-" + key;
}

bool others_in_use(const std::string& key, std::uint32_t self) {
  for (std::uint32_t vf = 0; vf < lockstep::kMaxVfsPerHost; ++vf)
    if (vf != self && is_bound(key, vf)) return true;
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

Segment make_segment(const std::string& path, const lockstep::HostEntry& host) {
  unlink(path.c_str());
  VfRings::create(rings_path(path));
  lockstep::SegmentPlan plan;
  plan.run_id = "interface";
  plan.hosts = {host};
  plan.vfs_per_host = lockstep::kMaxVfsPerHost;
  plan.frames_per_vf = 1;
  plan.max_frame_bytes = 64;
  Segment segment = Segment::create(path, plan);
  segment.header().state.store(lockstep::RunState::kRunning);
  return segment;
}

Segment open_segment(const std::string& path, const lockstep::HostEntry& host) {
  if (access(path.c_str(), F_OK) != 0)
    throw std::runtime_error("other programs of rocelab are on this interface, but their " + path +
                             " is not here: programs in one network namespace need the same /dev/shm");
  Segment segment = Segment::open(path);
  const lockstep::HostEntry& theirs = segment.hosts()[0];
  if (theirs.mac != host.mac || theirs.ipv4 != host.ipv4)
    throw std::runtime_error(
        "the interface's address has changed since other programs began to use it: end them");
  return segment;
}

}  // namespace

std::unique_ptr<InterfaceShare> InterfaceShare::join(const lockstep::HostEntry& host,
                                                     const std::string& key) {
  const Lock lock(key);
  for (std::uint32_t vf = 0; vf < lockstep::kMaxVfsPerHost; ++vf) {
    const auto fd = bind_name(key, std::to_string(vf));
    if (!fd) continue;
    try {
      const std::string path = segment_path(key);
      Segment segment = others_in_use(key, vf) ? open_segment(path, host) : make_segment(path, host);
      std::unique_ptr<InterfaceShare> share(new InterfaceShare(std::move(segment), path, key, vf, *fd));
      share->file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      flock(share->file_, LOCK_SH | LOCK_NB);
      flock(share->rings_.fd(), LOCK_SH | LOCK_NB);
      remove_stale();
      share->sweep();
      lockstep::VfSlot& slot = share->slot();
      slot.cm.store(0);
      slot.counters = {};
      slot.cm_counters = {};
      slot.pid.store(static_cast<std::uint32_t>(getpid()));
      slot.state.store(VfState::kClaimed);
      return share;
    } catch (...) {
      close(*fd);
      throw;
    }
  }
  throw std::runtime_error("all " + std::to_string(lockstep::kMaxVfsPerHost) +
                           " virtual functions of the interface are in use by other programs");
}

InterfaceShare::InterfaceShare(Segment&& segment, std::string path, std::string key, std::uint32_t vf,
                               int socket)
    : segment_(std::move(segment)),
      path_(std::move(path)),
      key_(std::move(key)),
      rings_(rings_path(path_)),
      vf_(vf),
      socket_(socket) {}

InterfaceShare::~InterfaceShare() { leave(); }

void InterfaceShare::leave() {
  if (std::exchange(left_, true)) return;
  slot().state.store(VfState::kLeft);
  bool is_open = true;
  try {
    const Lock lock(key_);
    close(socket_);  // before another one that leaves can look
    is_open = false;
    if (!others_in_use(key_, vf_)) {
      unlink(path_.c_str());
      unlink(rings_path(path_).c_str());
    }
  } catch (const std::exception&) {  // the next process takes the file away
  }
  if (is_open) close(socket_);
  if (file_ >= 0) close(file_);
}

void InterfaceShare::sweep() {
  for (std::uint32_t vf = 0; vf < lockstep::kMaxVfsPerHost; ++vf) {
    lockstep::VfSlot& slot = segment_.vfs()[vf];
    if (vf != vf_ && slot.state.load() == VfState::kClaimed && !is_bound(key_, vf))
      slot.state.store(VfState::kDead);
  }
}

std::uint32_t InterfaceShare::vfs_in_use() const {
  std::uint32_t bits = 0;
  for (std::uint32_t vf = 0; vf < lockstep::kMaxVfsPerHost; ++vf)
    if (vf != vf_ && segment_.vfs()[vf].state.load() == VfState::kClaimed) bits |= 1u << vf;
  return bits;
}

// A full socket holds what wakes its owner already.
void InterfaceShare::wake(std::uint32_t vf) const {
  const Name name = name_of(key_, std::to_string(vf));
  const char nothing = 0;
  sendto(socket_, &nothing, sizeof nothing, MSG_DONTWAIT | MSG_NOSIGNAL,
         reinterpret_cast<const sockaddr*>(&name.address), name.length);
}

void InterfaceShare::drain() const {
  char nothing = 0;
  while (recv(socket_, &nothing, sizeof nothing, MSG_DONTWAIT) >= 0) {
  }
}

}  // namespace rocelab::direct
