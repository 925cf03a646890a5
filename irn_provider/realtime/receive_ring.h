// ReceiveRing: a packet socket's frames in memory that the kernel shares with us (PACKET_RX_RING,
// TPACKET_V2), so that to look for one takes no call. A slot holds a frame of path MTU 1024 whole; of a
// longer one, or a train, it says that the socket's queue has it (PACKET_COPY_THRESH), in the same order:
// long ones are limited by SO_RCVBUF, and no slot is of their size. Source: Linux,
// Documentation/networking/packet_mmap.rst, tpacket_rcv() in net/packet/af_packet.c.
#pragma once

#include <linux/if_packet.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "irn_provider/realtime/frame_port.h"
#include "irn_provider/realtime/train.h"

namespace rocelab::direct {

class ReceiveRing {
 public:
  // Of a packet socket that is not bound yet; it stays the caller's. Throws std::runtime_error.
  explicit ReceiveRing(int fd);
  ~ReceiveRing();
  ReceiveRing(const ReceiveRing&) = delete;
  ReceiveRing& operator=(const ReceiveRing&) = delete;

  // As FramePort's.
  std::span<const FramePort::Arrival> receive();
  void release();
  bool waits() const { return is_ours(next_); }

  // Whether more than this part (0 to 1) of the slots, or of the queue's bytes, is taken.
  bool fuller_than(double part) const;
  std::uint64_t cut() const { return cut_; }  // frames that only a slot had room for, so far

  // Bytes of a slot, of which the kernel's own words take some 80.
  static constexpr std::uint32_t kSlotBytes = 2'048, kSlots = 4'096;

 private:
  std::byte* slot(std::uint64_t i) const { return slots_ + i % kSlots * kSlotBytes; }
  bool is_ours(std::uint64_t i) const;  // the kernel has filled it
  void take_queued(std::size_t count);

  const int fd_;
  std::byte* slots_ = nullptr;
  std::uint64_t next_ = 0;   // slot to look at, counted on
  std::uint32_t taken_ = 0;  // slots behind it that arrivals_ points into
  std::uint64_t cut_ = 0;

  std::array<FramePort::Arrival, FramePort::kReceiveBatch> arrivals_{};
  std::array<std::size_t, FramePort::kReceiveBatch> queued_{};  // of them, those that the queue has
  std::unique_ptr<std::byte[]> bytes_;
  std::array<KernelHeader, FramePort::kReceiveBatch> headers_{};
  std::array<iovec, 2 * FramePort::kReceiveBatch> parts_{};
  std::array<mmsghdr, FramePort::kReceiveBatch> messages_{};
};

}  // namespace rocelab::direct
