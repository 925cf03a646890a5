// VfRings: the shared memory by which the virtual functions (VFs) of one host hand frames to one another
// without the kernel: a ring from each VF to each (frame_ring.h), and a bell per VF. A file beside the
// segment of interface_share.h, made and removed with it. The memory of a ring is taken when its producer
// first needs it: kRingBytes for each pair that talks, each way.
//
//   Bell[VFs] | RingCounters[VFs * VFs], by consumer, then producer | rings, in the same order
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "irn_provider/realtime/frame_ring.h"
#include "lockstep/host_share.h"

namespace rocelab::direct {

inline constexpr std::size_t kRingBytes = 512 << 10;

class VfRings {
 public:
  // Of a consumer.
  struct alignas(128) Bell {
    std::atomic<std::uint32_t> pending{0};  // bit per producer: there is something in its ring
    std::atomic<std::uint32_t> sleeps{0};   // 1: who puts something there has to wake the consumer
  };

  // Makes the file anew. Throws std::runtime_error: /dev/shm is full ...
  static void create(const std::filesystem::path& path);
  // Maps it. Throws std::runtime_error: there is none, or another build's.
  explicit VfRings(const std::filesystem::path& path);
  ~VfRings();
  VfRings(const VfRings&) = delete;
  VfRings& operator=(const VfRings&) = delete;

  int fd() const { return fd_; }
  Bell& bell(std::uint32_t vf) const;
  lockstep::RingCounters& counters(std::uint32_t from, std::uint32_t to) const;
  std::span<std::byte> bytes(std::uint32_t from, std::uint32_t to) const;
  // Before a producer touches a ring: its memory. False: there is none left.
  bool take_memory(std::uint32_t from, std::uint32_t to) const;

 private:
  int fd_ = -1;
  std::byte* base_ = nullptr;
};

}  // namespace rocelab::direct
