// InterfaceShare: what the processes on one interface of a network namespace share, without a server: which
// virtual function (VF) each of them is, and what those of a host share in a run, too
// (lockstep/host_share.h).
//
// A VF is an abstract Unix socket: the kernel keeps such names per network namespace and frees one when its
// process ends, however it ends. The same sockets wake a VF that waits for frames of another one of the
// interface; the frames themselves go through shared memory (vf_rings.h). Memory and rings are files in
// /dev/shm, made by the first process and removed by the last; each holds a lock on them (flock), so that
// what killed ones left can be told, and the next one that begins anywhere on the machine takes it away.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "irn_provider/realtime/share_memory.h"
#include "irn_provider/realtime/vf_rings.h"

namespace rocelab::direct {

// A socket, which has its name as long as it lives; or none.
class BoundSocket {
 public:
  BoundSocket() = default;
  explicit BoundSocket(int fd) : fd_(fd) {}
  ~BoundSocket();
  BoundSocket(BoundSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  BoundSocket& operator=(BoundSocket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  explicit operator bool() const { return fd_ >= 0; }
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

class InterfaceShare {
 public:
  // Takes a free VF. Throws std::runtime_error: all are in use, or the shared state is out of reach or
  // another build's. `key`: what the processes have in common: an interface's index, or a name; part of file
  // names.
  static std::unique_ptr<InterfaceShare> join(const HostEntry& host, const std::string& key);
  ~InterfaceShare();
  InterfaceShare(const InterfaceShare&) = delete;
  InterfaceShare& operator=(const InterfaceShare&) = delete;
  // Gives the VF back; the last one takes the files away. The rest must not be called any more.
  void leave();

  const HostEntry& host() const { return memory_.host(); }
  lockstep::HostShare share() const { return memory_.share(); }
  std::uint32_t vf() const { return vf_; }
  lockstep::VfSlot& slot() const { return memory_.slot(vf_); }

  const VfRings& rings() const { return rings_; }
  int fd() const { return socket_.fd(); }  // readable: somebody has called wake() for this VF
  void wake(std::uint32_t vf) const;
  void drain() const;  // fd() is not readable until the next one
  bool in_use(std::uint32_t vf) const {
    return memory_.slot(vf).state.load(std::memory_order_relaxed) == lockstep::VfState::kClaimed;
  }
  std::uint32_t vfs_in_use() const;  // bit per VF; without this one

  // The network namespace and the key: part of file names, the same for all programs that share.
  static std::string place(const std::string& key);
  // What all programs of that key have counted; zeros where there is none.
  static NicCounters counters(const std::string& key);

  // VFs whose processes have died: what they held is free. Any time, not under a lock that others wait for.
  void sweep();

 private:
  InterfaceShare(ShareMemory&& memory, std::string path, std::string key, std::uint32_t vf,
                 BoundSocket socket);
  void claim();
  ShareMemory memory_;
  const std::string path_, key_;
  const VfRings rings_;
  const std::uint32_t vf_;
  BoundSocket socket_;
  int file_ = -1;  // the memory's, locked as long as it is open
  bool is_claimed_ = false;
};

}  // namespace rocelab::direct
