// PacketSocket: frames from and to a network interface, in batches: a ring of received frames that the kernel
// fills in this process's memory (TPACKET_V2: a frame is there at once, and an empty ring costs no system
// call), and sendmmsg for what leaves. What its filter does not take is not seen, nor what the machine itself
// sends.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "irn_provider/live/direct/frame_filter.h"

namespace rocelab::direct {

class PacketSocket {
 public:
  // Throws std::runtime_error with a line that says what to do. `longest`: frame bytes that must fit.
  PacketSocket(const std::string& interface, const FilterPlan& filter, std::uint32_t longest);
  ~PacketSocket();
  PacketSocket(const PacketSocket&) = delete;
  PacketSocket& operator=(const PacketSocket&) = delete;

  int fd() const { return fd_; }  // readable: a frame waits; writable: the interface takes frames

  // --- receiving. Frames stay in place, and may be written to, until they are released.
  std::span<std::byte> next();  // the next frame, from the destination address on; empty: none waits
  void release();               // all that next() has given
  std::uint64_t dropped();      // frames that the ring had no room for, so far

  // --- sending: frames are built in place, then leave together
  static constexpr std::uint32_t kBatch = 64;
  std::uint32_t room() const { return kBatch - filled_; }  // frames that slot() can still be asked for
  std::span<std::byte> slot() { return slot_of(filled_); }
  void fill(std::size_t length);  // slot() holds a frame of that length
  // False: the interface takes no more for now, and the rest waits for another call.
  bool flush();
  bool waiting() const { return sent_ < filled_; }
  std::uint64_t refused() const {
    return refused_;
  }  // frames that the interface will never take (it is down ...)

 private:
  std::span<std::byte> slot_of(std::uint32_t i) { return {slots_.get() + i * slot_bytes_, slot_bytes_}; }
  void open(const std::string& interface, const FilterPlan& filter);
  void map_ring();

  int fd_ = -1;
  std::byte* ring_ = nullptr;
  std::size_t ring_bytes_ = 0;
  std::uint32_t frame_bytes_ = 0, frames_ = 0;
  std::uint32_t head_ = 0, released_ = 0;  // slots of the ring: next to look at, next to give back
  std::uint64_t dropped_ = 0, refused_ = 0;

  std::size_t slot_bytes_;
  std::unique_ptr<std::byte[]> slots_;
  std::vector<mmsghdr> messages_;
  std::vector<iovec> parts_;
  std::uint32_t filled_ = 0, sent_ = 0;
};

// Sockets on UDP port 4791 that read nothing: without one the kernel answers every RoCE frame with "port
// unreachable". -1: somebody else has the port, who answers or not as he likes.
int quiet_udp_socket();

}  // namespace rocelab::direct
