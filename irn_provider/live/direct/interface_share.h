// InterfaceShare: what the processes on one interface of a network namespace share, without a server: which
// virtual function (VF) each of them is, and a segment (lockstep/segment.h) of one host whose slots and
// service ports they use as in a run; its rings are not used.
//
// A VF is an abstract Unix socket: the kernel keeps such names per network namespace and frees one when its
// process ends, however it ends. The same sockets carry frames between the VFs of the interface, which an
// interface would not hand back. The segment is a file in /dev/shm, made by the first process and removed by
// the last; each holds a lock on it (flock), so that what killed ones left can be told, and the next one that
// begins anywhere on the machine takes it away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "lockstep/segment.h"

namespace rocelab::direct {

class InterfaceShare {
 public:
  // Takes a free VF. Throws std::runtime_error: all are in use, or the shared state is out of reach or
  // another build's. `index`: of the interface.
  static std::unique_ptr<InterfaceShare> join(const lockstep::HostEntry& host, unsigned index);
  ~InterfaceShare();
  InterfaceShare(const InterfaceShare&) = delete;
  InterfaceShare& operator=(const InterfaceShare&) = delete;
  void
  leave();  // gives the VF back; the last one takes the segment away. The rest must not be called any more

  const lockstep::Segment& segment() const { return segment_; }
  std::uint32_t vf() const { return vf_; }
  lockstep::VfSlot& slot() const { return segment_.vfs()[vf_]; }

  // --- frames between VFs of this interface
  int fd() const { return socket_; }  // readable: a frame waits
  enum class Sent : std::uint8_t { kYes, kLater, kNobody };
  Sent send(std::uint32_t vf, std::span<const std::byte> frame) const;
  std::size_t receive(std::span<std::byte> frame) const;  // 0: none waits
  std::uint32_t vfs_in_use() const;                       // bit per VF; without this one

  // VFs whose processes have died: what they held is free. Any time, not under a lock that others wait for.
  void sweep();

 private:
  InterfaceShare(lockstep::Segment&& segment, std::string path, unsigned index, std::uint32_t vf, int socket);
  lockstep::Segment segment_;
  const std::string path_;
  const unsigned index_;
  const std::uint32_t vf_;
  const int socket_;
  int file_ = -1;  // the segment's, locked as long as it is open
  bool left_ = false;
};

}  // namespace rocelab::direct
